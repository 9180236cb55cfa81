package main

// Mutants of output, and of its limit.

import (
	"strings"
	"unicode/utf8"

	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/child"
)

func outputMutants() map[string]mutant {
	remove := func(old, instead string) func(*call, func() answer) answer {
		return prints(func(_ *call, text string) string { return strings.ReplaceAll(text, old, instead) })
	}
	return map[string]mutant{
		"leaves truncated out": {breaks: "output.shape", serve: says("output", func(_ *call, result object) {
			delete(result, "truncated")
		})},
		"shows output at the end": {breaks: "output.live", serve: prints(func(c *call, text string) string {
			if c.running() {
				return ""
			}
			return text
		})},
		"has an exit status early": {breaks: "output.running", serve: says("output", func(c *call, result object) {
			if c.running() {
				result["exitStatus"] = object{"exitCode": nil, "signal": nil}
			}
		})},
		"has no exit status": {breaks: "output.exit", serve: says("output", func(_ *call, result object) {
			delete(result, "exitStatus")
		})},
		"shows output once": {breaks: "output.again", serve: on("output", func(c *call, next func() answer) answer {
			a := next()
			text, _ := a.result["output"].(string)
			if f := c.fact(c.text("terminalId")); a.err == nil {
				c.mu.Lock()
				a.result["output"] = text[min(f.read, len(text)):]
				f.read = len(text)
				c.mu.Unlock()
			}
			return a
		})},
		"says that there is no output": {breaks: "output.none", serve: says("output", func(c *call, result object) {
			if result["output"] == "" && result["truncated"] == false && !c.running() {
				result["output"] = "(no output)"
			}
		})},
		"leaves standard error out": {breaks: "output.stderr", serve: rewrite(func(args []string) (kept []string) {
			for _, arg := range args {
				if !strings.HasPrefix(arg, "err=") {
					kept = append(kept, arg)
				}
			}
			return kept
		})},
		"shows standard error last": {breaks: "output.order", serve: rewrite(func(args []string) (kept []string) {
			var last []string
			for _, arg := range args {
				if strings.HasPrefix(arg, "err=") {
					last = append(last, arg)
				} else {
					kept = append(kept, arg)
				}
			}
			return append(kept, last...)
		})},
		"reads the last output late": {breaks: "output.complete", serve: prints(func(c *call, text string) string {
			if c.before.outputs == 0 {
				return text[:min(len(text), 20000)]
			}
			return text
		})},
		"decodes each write": {breaks: "text.split", serve: rewrite(func(args []string) []string {
			for i, arg := range args {
				if text, ok := child.Written(arg); ok {
					args[i] = child.Out(strings.ToValidUTF8(text, "\uFFFD"))
				}
			}
			return args
		})},
		"decodes what there is": {breaks: "text.unfinished", serve: prints(func(c *call, text string) string {
			for _, arg := range c.created().args() {
				whole, _ := child.Written(arg)
				if _, size := utf8.DecodeLastRuneInString(whole); c.running() && size == 1 && strings.HasPrefix(whole, text) {
					return strings.ToValidUTF8(whole, "\uFFFD")
				}
			}
			return text
		})},
		"shows no unfinished character": {breaks: "text.unfinished.end", serve: prints(func(c *call, text string) string {
			all := ""
			for _, arg := range c.created().args() {
				written, _ := child.Written(arg)
				all += written
			}
			if endsUnfinished(all) {
				whole := strings.ToValidUTF8(all, "")
				return text[:min(len(text), len(whole))] // on Windows, the rest may be characters of a code page
			}
			return text
		})},
		"ends at bytes that are no text": {breaks: "text.invalid", serve: prints(func(_ *call, text string) string {
			text, _, _ = strings.Cut(text, "\uFFFD")
			return text
		})},
		"ends at NUL": {breaks: "text.control", serve: prints(func(_ *call, text string) string {
			text, _, _ = strings.Cut(text, "\x00")
			return text
		})},
		"has one kind of line end":   {breaks: "text.control", serve: remove("\r\n", "\n")},
		"removes carriage returns":   {breaks: "text.control", serve: remove("\r", "")},
		"removes escape sequences":   {breaks: "text.control", serve: remove("\x1b[1m", "")},
		"shows a tab by four spaces": {breaks: "text.control", serve: remove("\t", "    ")},
	}
}

// endsUnfinished reports whether a text ends in a part of a character.
func endsUnfinished(text string) bool {
	for i := range min(len(text), utf8.UTFMax-1) {
		if last := text[len(text)-1-i:]; utf8.RuneStart(last[0]) {
			return !utf8.FullRuneInString(last)
		}
	}
	return false
}

func limitMutants() map[string]mutant {
	// limit changes the output limit of creates.
	limit := func(change func(limit float64) any) func(*call, func() answer) answer {
		return asks(func(_ *call, params object) {
			asked, ok := params["outputByteLimit"].(float64)
			if !ok {
				asked = -1
			}
			if changed := change(asked); changed != nil {
				params["outputByteLimit"] = changed
			}
		})
	}
	return map[string]mutant{
		"keeps the beginning": {breaks: "limit.end", serve: limits(func(_ *call, text string, limit int) string {
			return text[:min(len(text), limit)]
		})},
		"has no limit": {breaks: "limit.end", serve: limits(func(_ *call, text string, _ int) string {
			return text
		})},
		"never says truncated": {breaks: "limit.truncated", serve: says("output", func(_ *call, result object) {
			result["truncated"] = false
		})},
		"says truncated with each limit": {breaks: "limit.below", serve: says("output", func(c *call, result object) {
			if _, ok := c.created().object()["outputByteLimit"].(float64); ok {
				result["truncated"] = true
			}
		})},
		"keeps one byte less": {breaks: "limit.exact", serve: limit(func(asked float64) any {
			if asked < 1 {
				return nil
			}
			return asked - 1
		})},
		"cuts at the end alone": {breaks: "limit.running", serve: limits(func(c *call, text string, limit int) string {
			if c.running() {
				return text
			}
			return end(text, limit)
		})},
		"cuts characters": {breaks: "limit.character", serve: limits(func(_ *call, text string, limit int) string {
			return strings.ToValidUTF8(text[max(0, len(text)-limit):], "\uFFFD")
		})},
		"counts characters": {breaks: "limit.bytes", serve: limits(func(_ *call, text string, limit int) string {
			characters := []rune(text)
			return string(characters[max(0, len(characters)-limit):])
		})},
		"drops half": {breaks: "limit.filled", serve: limits(func(_ *call, text string, limit int) string {
			if len(text) > limit {
				limit /= 2
			}
			return end(text, limit)
		})},
		"counts the bytes that were written": {
			breaks: "limit.invalid", unix: true,
			serve: limits(func(_ *call, text string, limit int) string {
				size, from := 0, len(text)
				for from > 0 {
					r, n := utf8.DecodeLastRuneInString(text[:from])
					if size++; r != utf8.RuneError {
						size += n - 1
					}
					if size > limit {
						break
					}
					from -= n
				}
				return text[from:]
			}),
		},
		"takes 0 for no limit": {breaks: "limit.zero", serve: limit(func(asked float64) any {
			if asked != 0 {
				return nil
			}
			return 1000
		})},
		"has limits of 32 bits": {breaks: "limit.large", serve: refuses("create", func(c *call) bool {
			limit, _ := c.object()["outputByteLimit"].(float64)
			return limit > 1<<31
		})},
		"keeps a page": {breaks: "limit.absent", serve: limit(func(asked float64) any {
			if asked >= 0 {
				return nil
			}
			return 4096
		})},
		"ends a command that writes much": {breaks: "limit.flood", serve: rewrite(func(args []string) []string {
			for i, arg := range args {
				if text, many := strings.CutPrefix(arg, "many="); many && len(strings.SplitN(text, ":", 2)[0]) > 6 {
					return args[:i+1]
				}
			}
			return args
		})},
	}
}

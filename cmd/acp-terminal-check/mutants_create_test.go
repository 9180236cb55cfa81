package main

// Mutants of create.

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/child"
)

func createMutants() map[string]mutant {
	var mu sync.Mutex
	var first string
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	instead := func(params object, args ...any) { // another command, for a create without a good one
		params["command"], params["args"] = self, append([]any{child.Mark}, args...)
	}
	return map[string]mutant{
		"gives no id": {breaks: "create.id", serve: says("create", func(_ *call, result object) {
			delete(result, "terminalId")
		})},
		"gives two terminals one id": {
			breaks: "create.id.unique",
			serve: func(c *call, next func() answer) answer {
				a := next()
				mu.Lock()
				defer mu.Unlock()
				switch id, _ := a.result["terminalId"].(string); {
				case c.method == acpterm.MethodCreate && id != "" && first == "":
					first = id
				case c.method == acpterm.MethodCreate && id != "":
					a.result["terminalId"] = first
				case c.method == acpterm.MethodRelease && c.text("terminalId") == first:
					first = ""
				}
				return a
			},
		},
		"answers a create at the command's end": {
			breaks: "create.immediate",
			serve: says("create", func(c *call, result object) {
				id, _ := result["terminalId"].(string)
				<-c.terminal(id).Done()
			}),
		},
		"splits arguments at blanks": {breaks: "create.args", serve: rewrite(func(args []string) []string {
			return strings.Fields(strings.Join(args, " "))
		})},
		"has a shell read the arguments": {breaks: "create.args", serve: asks(func(c *call, params object) {
			if args := c.args(); args != nil && c.text("command") != "" {
				words := append([]string{c.text("command")}, args...)
				if child.Signals { // exec replaces the shell, so that the fault is in the arguments only
					words = append([]string{"exec"}, words...)
				}
				params["command"] = strings.Join(words, " ")
				delete(params, "args")
			}
		})},
		"requires args": {breaks: "create.args.absent", serve: refuses("create", func(c *call) bool {
			_, there := c.object()["args"]
			return !there && c.text("command") != ""
		})},
		"has no null": {breaks: "create.null", serve: refuses("create", func(c *call) bool {
			cwd, there := c.object()["cwd"]
			return there && cwd == nil
		})},
		"has no _meta": {breaks: "create.meta", serve: refuses("create", func(c *call) bool {
			_, there := c.object()["_meta"]
			return there
		})},
		"runs something without a command": {
			breaks: "create.command.required",
			serve: asks(func(_ *call, params object) {
				if _, there := params["command"]; !there {
					instead(params)
				}
			}),
		},
		"takes a number for a command": {breaks: "create.command.type", serve: asks(func(_ *call, params object) {
			if _, number := params["command"].(float64); number {
				instead(params)
			}
		})},
		"has a session for all": {breaks: "create.session.required", serve: asks(func(_ *call, params object) {
			if _, there := params["sessionId"]; !there {
				params["sessionId"] = "a session"
			}
		})},
		"succeeds without the program": {
			breaks: "create.command.unknown",
			serve: asks(func(c *call, params object) {
				if _, err := exec.LookPath(c.text("command")); err != nil && c.text("command") != "" {
					instead(params)
				}
			}),
		},
		"has ten terminals": {
			breaks:  "create.many",
			options: func(o *acpterm.Options) { o.MaxTerminals = 10 },
		},
		"gives a command input": {breaks: "create.stdin", serve: asks(func(c *call, params object) {
			if args := c.args(); step(args, "stdin") {
				instead(params, "out=1")
			}
		})},
	}
}

func placeMutants() map[string]mutant {
	variables := func(change func(list []any) []any) func(*call, func() answer) answer {
		return asks(func(_ *call, params object) {
			if list, _ := params["env"].([]any); list != nil {
				params["env"] = change(list)
			}
		})
	}
	directory := func(change func(cwd string) any) func(*call, func() answer) answer {
		return asks(func(c *call, params object) {
			if cwd := change(c.text("cwd")); cwd != nil {
				params["cwd"] = cwd
			}
		})
	}
	elsewhere := filepath.Dir(os.TempDir())
	missing := func(dir string) bool { _, err := os.Stat(dir); return err != nil }
	return map[string]mutant{
		"knows one directory": {breaks: "create.cwd", serve: directory(func(cwd string) any {
			if !filepath.IsAbs(cwd) || missing(cwd) {
				return nil
			}
			return elsewhere
		})},
		"takes a relative cwd": {breaks: "create.cwd.relative", serve: directory(func(cwd string) any {
			if cwd == "" || filepath.IsAbs(cwd) {
				return nil
			}
			return elsewhere
		})},
		"has a directory of its own": {breaks: "create.cwd.absent", serve: directory(func(cwd string) any {
			if cwd != "" {
				return nil
			}
			return elsewhere
		})},
		"runs elsewhere without the cwd": {breaks: "create.cwd.missing", serve: directory(func(cwd string) any {
			if !filepath.IsAbs(cwd) || !missing(cwd) {
				return nil
			}
			return elsewhere
		})},
		"leaves env out": {breaks: "create.env", serve: variables(func([]any) []any { return nil })},
		"expands variables": {breaks: "create.env.text", serve: variables(func(list []any) []any {
			for _, each := range list {
				variable := each.(object)
				variable["value"] = os.ExpandEnv(variable["value"].(string))
			}
			return list
		})},
		"has the first of two variables": {breaks: "create.env.last", serve: variables(func(list []any) []any {
			return list[:1]
		})},
		"has env alone": {breaks: "create.env.kept", serve: variables(func(list []any) []any {
			return append(list, object{"name": "PATH", "value": ""})
		})},
	}
}

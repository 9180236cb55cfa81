package main

// What a mutant is, and the table of all. Each breaks one promise, and is to fail the check of that promise and no other
// one; what follows from it is "not tried", since those checks need the first.

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
)

// mutant is what a client does otherwise than the good one. The zero value is the good client.
type mutant struct {
	breaks string // the ids of the checks that fail, separated by blanks; empty: it is for a test of its own
	unix   bool   // not on Windows: there are no signals, and text has a code page

	serve   func(c *call, next func() answer) answer // next has the library serve the request
	cancel  func(c *client, cancel context.CancelFunc, id string)
	id      func(json.RawMessage) json.RawMessage // of an answer
	options func(*acpterm.Options)
	trips   string // what ends the client: "line", "notification" or "cancel"
	inOrder bool   // serves one request after the other

	silent     bool // says nothing of terminals
	promptless bool // sends no prompt
}

// call is a request in a mutant.
type call struct {
	ctx context.Context
	*client
	*request
	t      *acpterm.Terminal // nil: there is none with the id
	before terminalFact      // what was known of the terminal before this request
}

// mutants are all mutants by their names.
func mutants() map[string]mutant {
	all := make(map[string]mutant)
	for _, some := range []map[string]mutant{
		createMutants(), placeMutants(), outputMutants(), limitMutants(), waitMutants(), killMutants(), releaseMutants(),
		wireMutants(), hangingMutants(),
	} {
		maps.Copy(all, some)
	}
	return all
}

// on mutates the requests with this method.
func on(method string, serve func(c *call, next func() answer) answer) func(*call, func() answer) answer {
	return func(c *call, next func() answer) answer {
		if c.method == "terminal/"+method {
			return serve(c, next)
		}
		return next()
	}
}

// asks changes the params of creates.
func asks(change func(c *call, params object)) func(*call, func() answer) answer {
	return on("create", func(c *call, next func() answer) answer {
		if params := c.object(); params != nil {
			change(c, params)
		}
		return next()
	})
}

// says changes results of a method.
func says(method string, change func(c *call, result object)) func(*call, func() answer) answer {
	return on(method, func(c *call, next func() answer) answer {
		a := next()
		if a.err == nil && !a.none {
			change(c, a.result)
		}
		return a
	})
}

// prints changes the text of outputs.
func prints(change func(c *call, text string) string) func(*call, func() answer) answer {
	return says("output", func(c *call, result object) {
		text, _ := result["output"].(string)
		result["output"] = change(c, text)
	})
}

// refuses answers requests with an error for which something holds.
func refuses(method string, holds func(c *call) bool) func(*call, func() answer) answer {
	return on(method, func(c *call, next func() answer) answer {
		if holds(c) {
			return failure(-32603)
		}
		return next()
	})
}

// unanswered leaves requests without an answer for which something holds.
func unanswered(method string, holds func(c *call) bool) func(*call, func() answer) answer {
	return on(method, func(c *call, next func() answer) answer {
		if holds(c) {
			next()
			return answer{none: true}
		}
		return next()
	})
}

func always(*call) bool { return true }

func failure(code int64) answer { return answer{err: rpcError(code)} }

// running reports whether the call's terminal has a command that runs.
func (c *call) running() bool {
	return c.t != nil && c.t.State() == acpterm.StateRunning
}

// created are the params of the create of the call's terminal.
func (c *call) created() *request {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.commands[c.text("terminalId")]
	return &r
}

// rewrite changes the arguments of a create.
func rewrite(change func(args []string) []string) func(*call, func() answer) answer {
	return asks(func(c *call, params object) {
		var list []any
		for _, arg := range change(c.args()) {
			list = append(list, arg)
		}
		if _, there := params["args"]; there {
			params["args"] = list
		}
	})
}

// limits keeps all of the output, and cuts it when it is asked for.
func limits(cut func(c *call, text string, limit int) string) func(*call, func() answer) answer {
	return func(c *call, next func() answer) answer {
		switch c.method {
		case acpterm.MethodCreate:
			params := c.object()
			if limit, ok := params["outputByteLimit"].(float64); ok && limit < 1<<20 {
				delete(params, "outputByteLimit")
				params["_meta"] = object{"limit": limit}
			}
		case acpterm.MethodOutput:
			a := next()
			meta, _ := c.created().object()["_meta"].(object)
			text, _ := a.result["output"].(string)
			if limit, ok := meta["limit"].(float64); ok && a.err == nil {
				short := cut(c, text, int(limit))
				a.result["output"], a.result["truncated"] = short, short != text
			}
			return a
		}
		return next()
	}
}

// end is the end of a text: whole characters, at most so many bytes.
func end(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	text = text[len(text)-limit:]
	for text != "" && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}

// step reports whether a command has a step that begins so.
func step(args []string, prefix string) bool {
	for _, arg := range args {
		if strings.HasPrefix(arg, prefix) {
			return true
		}
	}
	return false
}

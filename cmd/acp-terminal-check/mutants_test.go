package main

// The mutants: their type, and the table of all. Each breaks one promise, and must fail only the check of that promise.
// Consequences are "not tried", because the later checks need the failed one.

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
)

// mutant describes how a client differs from the good one. The zero value is the good client.
type mutant struct {
	breaks string // ids of the checks that fail, separated by blanks; empty for a mutant with its own test
	unix   bool   // not on Windows, which has no signals and a code page for text

	serve   func(c *call, next func() answer) answer // next lets the library serve the request
	cancel  func(c *client, cancel context.CancelFunc, id string)
	id      func(json.RawMessage) json.RawMessage // of an answer
	options func(*acpterm.Options)
	trips   string // the cause of the client's end: "line", "notification" or "cancel"
	inOrder bool   // serves requests one after another

	silent     bool // does not advertise terminals
	promptless bool // sends no prompt
}

// call is a request in a mutant.
type call struct {
	ctx context.Context
	*client
	*request
	t      *acpterm.Terminal // nil if no terminal has the id
	before terminalFact      // facts about the terminal before this request
}

// mutants returns all mutants by name.
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

// says changes the results of a method.
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

// refuses answers requests with an error if the condition holds.
func refuses(method string, holds func(c *call) bool) func(*call, func() answer) answer {
	return on(method, func(c *call, next func() answer) answer {
		if holds(c) {
			return failure(-32603)
		}
		return next()
	})
}

// unanswered leaves requests without an answer if the condition holds.
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

// running reports whether the command of the call's terminal is running.
func (c *call) running() bool {
	return c.t != nil && c.t.State() == acpterm.StateRunning
}

// created returns the create request of the call's terminal.
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

// limits keeps all of the output, and cuts it on request.
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

// end returns the end of a text: whole characters, at most limit bytes.
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

// step reports whether a command has a step with that prefix.
func step(args []string, prefix string) bool {
	for _, arg := range args {
		if strings.HasPrefix(arg, prefix) {
			return true
		}
	}
	return false
}

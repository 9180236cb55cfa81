package main

// Mutants of sessions, of JSON-RPC and of cancelled requests, and mutants that hang.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/sourcegraph/jsonrpc2"
)

func rpcError(code int64) *jsonrpc2.Error { return &jsonrpc2.Error{Code: code, Message: "of a mutant"} }

func wireMutants() map[string]mutant {
	// number changes numeric ids.
	number := func(change func(id int64) string) func(json.RawMessage) json.RawMessage {
		return func(id json.RawMessage) json.RawMessage {
			n, err := strconv.ParseInt(string(id), 10, 64)
			if err != nil {
				return id
			}
			return json.RawMessage(change(n))
		}
	}
	unknown := func(method string, result object) func(*call, func() answer) answer {
		return on(method, func(c *call, next func() answer) answer {
			if c.text("terminalId") == "no-such-terminal" {
				return answer{result: result}
			}
			return next()
		})
	}
	return map[string]mutant{
		"shows any id":     {breaks: "unknown.id", serve: unknown("output", object{"output": "", "truncated": false})},
		"waits for any id": {breaks: "unknown.id", serve: unknown("wait_for_exit", object{"exitCode": 0})},
		"kills any id":     {breaks: "unknown.id", serve: unknown("kill", object{})},
		"has one error code": {breaks: "unknown.code", serve: func(c *call, next func() answer) answer {
			a := next()
			if a.err != nil && c.text("terminalId") != "" && a.err.Code != jsonrpc2.CodeMethodNotFound && !cancelled(a) {
				return failure(-32603)
			}
			return a
		}},
		"asks for no session": {breaks: "session.other", serve: func(c *call, next func() answer) answer {
			if t := c.t; t != nil {
				c.object()["sessionId"] = string(t.SessionID())
			}
			return next()
		}},
		"numbers ids": {breaks: "rpc.id", id: func(id json.RawMessage) json.RawMessage {
			return json.RawMessage(strings.Trim(string(id), `"chek/é`))
		}},
		"has ids of 32 bits": {breaks: "rpc.id.large", id: number(func(id int64) string {
			return fmt.Sprint(int32(id))
		})},
		"rounds ids": {breaks: "rpc.id.int64", id: number(func(id int64) string {
			return strconv.FormatFloat(float64(id), 'f', -1, 64)
		})},
		"has ids without a sign": {breaks: "rpc.id.negative", id: number(func(id int64) string {
			return fmt.Sprint(uint64(id))
		})},
		"has another code for methods": {breaks: "rpc.method", serve: func(c *call, next func() answer) answer {
			a := next()
			if a.err != nil && a.err.Code == jsonrpc2.CodeMethodNotFound {
				return failure(-32603)
			}
			return a
		}},
		"dies of a notification": {breaks: "rpc.notification", trips: "notification"},
		"dies of a line":         {breaks: "rpc.line", trips: "line"},
		"dies of a cancel":       {breaks: "cancel.unknown", trips: "cancel"},
		"dies of a kill": {breaks: "kill.ends", serve: on("kill", func(c *call, next func() answer) answer {
			if c.running() {
				os.Exit(3)
			}
			return next()
		})},
		"dies of params": {breaks: "rpc.params", serve: on("create", func(c *call, next func() answer) answer {
			if c.object() == nil {
				os.Exit(3)
			}
			return next()
		})},
		"logs to the agent": {breaks: "rpc.messages", serve: on("create", func(c *call, next func() answer) answer {
			c.mu.Lock()
			defer c.mu.Unlock()
			fmt.Fprintln(c.agent, "client: a terminal is created")
			return next()
		})},
		"kills for a cancel": {breaks: "cancel.wait", cancel: func(c *client, cancel context.CancelFunc, _ string) {
			for _, t := range c.manager.Terminals() {
				t.Kill(context.Background())
			}
			cancel()
		}},
		"kills for a cancel, later": {
			breaks: "cancel.wait",
			cancel: func(c *client, cancel context.CancelFunc, _ string) {
				cancel()
				go func() {
					for _, t := range c.manager.Terminals() {
						t.Kill(context.Background())
					}
				}()
			},
		},
		"kills for the cancel of a wait that has begun": {
			breaks: "cancel.wait",
			cancel: func(c *client, cancel context.CancelFunc, _ string) {
				for _, t := range c.manager.Terminals() {
					if c.waitsSinceOutput(string(t.ID())) {
						t.Kill(context.Background())
					}
				}
				cancel()
			},
		},
		"has another code for a cancel": {breaks: "cancel.wait", serve: func(_ *call, next func() answer) answer {
			a := next()
			if cancelled(a) {
				return failure(-32603)
			}
			return a
		}},
		"has no cancel": {breaks: "cancel.answered", cancel: func(*client, context.CancelFunc, string) {}},
		"leaves a command": {breaks: "close.ends", serve: on("create", func(c *call, next func() answer) answer {
			if args := c.args(); strings.Contains(strings.Join(args, " "), "close-ends") {
				if err := exec.Command(c.text("command"), args...).Start(); err != nil {
					return failure(-32603)
				}
				c.object()["args"] = []any{args[0]}
			}
			return next()
		})},
	}
}

// waitsSinceOutput reports whether a wait is pending that was followed by a request for the output. A client that reads
// all lines that there are, and then begins to serve them, sees a cancel sent right after the wait before that begins.
func (c *client) waitsSinceOutput(id string) bool {
	f := c.fact(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	return f.waits > f.waited && f.outputs > 0
}

func cancelled(a answer) bool { return a.err != nil && a.err.Code == -32800 }

// hangingMutants returns mutants that answer nothing after a certain request. They break the promise of the first check
// that notices.
func hangingMutants() map[string]mutant {
	var releases atomic.Int32
	method := func(name string) func(*call, func() answer) answer { return unanswered(name, always) }
	return map[string]mutant{
		"answers no create":         {breaks: "create.id", serve: method("create")},
		"answers no wait":           {breaks: "wait.exit", serve: method("wait_for_exit")},
		"answers no output":         {breaks: "output.shape", serve: method("output")},
		"answers no kill":           {breaks: "kill.ends", serve: method("kill")},
		"answers no release":        {breaks: "release.ended", serve: method("release")},
		"says nothing of terminals": {silent: true},
		"sends no prompt":           {promptless: true},
		"answers nothing": {serve: func(*call, func() answer) answer {
			return answer{none: true}
		}},
		"answers no more": { // after twenty releases
			serve: func(c *call, next func() answer) answer {
				if c.method == "terminal/release" && releases.Add(1) > 20 || releases.Load() > 20 {
					return answer{none: true}
				}
				return next()
			},
		},
	}
}

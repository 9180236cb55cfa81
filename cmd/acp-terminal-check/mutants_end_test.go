package main

// Mutants of wait_for_exit, kill and release.

import (
	"context"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/acpterm/acpterm"
)

func waitMutants() map[string]mutant {
	status := func(change func(code any, signal any) (any, any)) func(*call, func() answer) answer {
		return says("wait_for_exit", func(_ *call, result object) {
			result["exitCode"], result["signal"] = change(result["exitCode"], result["signal"])
		})
	}
	return map[string]mutant{
		"has no code for success": {breaks: "wait.exit", serve: status(func(code, signal any) (any, any) {
			if code == 0.0 {
				return nil, signal
			}
			return code, signal
		})},
		"has one code for failures": {breaks: "wait.code", serve: status(func(code, signal any) (any, any) {
			if code != nil && code != 0.0 {
				return 1, signal
			}
			return code, signal
		})},
		"has a code for signals": {breaks: "wait.signal", unix: true, serve: status(func(code, signal any) (any, any) {
			if signal != nil {
				return 143, nil
			}
			return code, signal
		})},
		"numbers signals": {breaks: "wait.signal.name", unix: true, serve: status(func(code, signal any) (any, any) {
			if signal != nil {
				return code, "15"
			}
			return code, signal
		})},
		"waits a little": {breaks: "wait.pending", serve: on("wait_for_exit", func(c *call, next func() answer) answer {
			if t := c.t; t != nil {
				select {
				case <-t.Done():
				case <-time.After(50 * time.Millisecond):
					return answer{result: object{"exitCode": 0, "signal": nil}}
				}
			}
			return next()
		})},
		"serves in order": {breaks: "wait.concurrent", inOrder: true},
		"forgets the status": {breaks: "wait.again", serve: refuses("wait_for_exit", func(c *call) bool {
			return c.before.waited > 0
		})},
		"has one wait": {breaks: "wait.many", serve: refuses("wait_for_exit", func(c *call) bool {
			return c.before.waits > c.before.waited && c.running()
		})},
		"waits for the output's end": {
			breaks: "wait.background",
			serve: on("wait_for_exit", func(c *call, next func() answer) answer {
				if t := c.t; t != nil {
					for range t.Follow(c.ctx, 0) {
					}
				}
				return next()
			}),
		},
	}
}

// killOne ends only the command of the call's terminal.
func killOne(c *call, signal os.Signal) {
	if t := c.t; t != nil && t.State() == acpterm.StateRunning {
		if process, err := os.FindProcess(t.Info().PID); err == nil {
			process.Signal(signal)
		}
	}
}

func killMutants() map[string]mutant {
	// kills makes a kill do this, if the terminal exists.
	kills := func(do func(c *call)) func(*call, func() answer) answer {
		return on("kill", func(c *call, next func() answer) answer {
			if t := c.t; t == nil || string(t.SessionID()) != c.text("sessionId") {
				return next()
			}
			do(c)
			return answer{result: object{}}
		})
	}
	killed := func(c *call) bool { return c.before.kills > 0 }
	return map[string]mutant{
		"does not kill": {breaks: "kill.ends", serve: kills(func(*call) {})},
		"takes a kill for success": {breaks: "kill.wait", serve: says("wait_for_exit", func(c *call, result object) {
			if killed(c) && result["exitCode"] != 7.0 {
				result["exitCode"], result["signal"] = 0, nil
			}
		})},
		"forgets output with a kill": {breaks: "kill.output", serve: prints(func(c *call, text string) string {
			if killed(c) {
				return ""
			}
			return text
		})},
		"leaves waits after a kill": {breaks: "kill.pending", serve: unanswered("wait_for_exit", func(c *call) bool {
			return !killed(c) && c.endedBy(acpterm.EndedByKill)
		})},
		"asks alone": {breaks: "kill.deaf", unix: true, serve: kills(func(c *call) { killOne(c, syscall.SIGTERM) })},
		"kills no ended command": {breaks: "kill.ended", serve: refuses("kill", func(c *call) bool {
			return !c.running()
		})},
		"kills once": {breaks: "kill.twice", serve: refuses("kill", killed)},
		"kills at once": {breaks: "kill.gentle", unix: true, options: func(o *acpterm.Options) {
			o.Commands.Escalation = []acpterm.EscalationStep{}
		}},
		"kills one process": {breaks: "kill.tree", serve: func(c *call, next func() answer) answer {
			return kills(func(c *call) {
				if step(c.created().args(), "spawn") {
					killOne(c, os.Kill)
					return
				}
				next()
			})(c, next)
		}},
		"leaves what an ended command left": {breaks: "kill.background", serve: func(c *call, next func() answer) answer {
			return kills(func(c *call) {
				if c.running() {
					next()
				}
			})(c, next)
		}},
	}
}

// endedBy waits for the end of the call's command, or of the request, and reports whether what ended the command.
func (c *call) endedBy(what acpterm.EndedBy) bool {
	if c.t == nil {
		return false
	}
	select {
	case <-c.t.Done():
		return c.t.EndedBy() == what
	case <-c.ctx.Done():
		return false
	}
}

func releaseMutants() map[string]mutant {
	ended := func(c *call) bool { return !c.running() }
	// forgets makes a release do only this if the condition holds.
	forgets := func(holds func(c *call) bool, do func(c *call)) func(*call, func() answer) answer {
		return func(c *call, next func() answer) answer {
			switch {
			case c.method == acpterm.MethodRelease && c.before.releases == 0 && holds(c):
				do(c)
				return answer{result: object{}}
			case c.before.releases > 0:
				return failure(-32002)
			}
			return next()
		}
	}
	served := func(method string, result object) func(*call, func() answer) answer {
		return on(method, func(c *call, next func() answer) answer {
			if a := next(); a.err == nil || c.before.releases == 0 {
				return a
			}
			return answer{result: result}
		})
	}
	nothing := func(*call) {}
	return map[string]mutant{
		"only forgets":              {breaks: "release.kills", serve: forgets(always, nothing)},
		"releases no ended command": {breaks: "release.ended", serve: refuses("release", ended)},
		"shows output after a release": {breaks: "release.invalid.output", serve: served("output", object{
			"output": "", "truncated": false,
		})},
		"waits after a release": {breaks: "release.invalid.wait_for_exit", serve: served("wait_for_exit", object{
			"exitCode": 0, "signal": nil,
		})},
		"kills after a release": {breaks: "release.invalid.kill", serve: served("kill", object{})},
		"releases all": {breaks: "release.others", serve: says("release", func(c *call, _ object) {
			for _, t := range c.manager.Terminals() {
				c.manager.Release(context.Background(), t.SessionID(), t.ID())
			}
		})},
		"keeps what is shown": {breaks: "release.embedded", serve: refuses("release", func(c *call) bool {
			return c.before.shown
		})},
		"releases one process": {breaks: "release.tree", serve: forgets(func(c *call) bool {
			return step(c.created().args(), "spawn")
		}, func(c *call) { killOne(c, os.Kill) })},
		"releases no background": {breaks: "release.background", serve: forgets(ended, nothing)},
		"leaves waits after a release": {
			breaks: "release.pending",
			serve: unanswered("wait_for_exit", func(c *call) bool {
				return c.endedBy(acpterm.EndedByRelease)
			}),
		},
		"uses ids again": {breaks: "release.reuse", serve: reuse()},
		"releases another at the second time": {breaks: "release.twice", serve: says("release", func(c *call, _ object) {
			if c.before.releases == 0 {
				return
			}
			for _, t := range c.manager.Terminals() {
				c.manager.Release(context.Background(), t.SessionID(), t.ID())
			}
		})},
	}
}

// reuse gives each terminal the lowest free number.
func reuse() func(*call, func() answer) answer {
	var mu sync.Mutex
	ids := make(map[string]string) // the library's ids by the client's
	return func(c *call, next func() answer) answer {
		mu.Lock()
		if id, known := ids[c.text("terminalId")]; known {
			c.object()["terminalId"] = id
		}
		mu.Unlock()
		a := next()
		mu.Lock()
		defer mu.Unlock()
		switch id, _ := a.result["terminalId"].(string); {
		case c.method == acpterm.MethodRelease:
			for number, given := range ids {
				if given == c.text("terminalId") {
					delete(ids, number)
				}
			}
		case c.method == acpterm.MethodCreate && id != "":
			number := 1
			for ids[strconv.Itoa(number)] != "" {
				number++
			}
			ids[strconv.Itoa(number)] = id
			a.result["terminalId"] = strconv.Itoa(number)
		}
		return a
	}
}

package checks

// The requests for terminals, and the commands of the checks.

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/child"
	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/rpc"
)

// command are the params of a create for a child with these steps.
func (t *T) command(steps ...string) rpc.Object {
	return rpc.Object{"sessionId": t.Session, "command": t.Program, "args": append([]string{child.Mark}, steps...)}
}

// with are params with one more.
func with(params rpc.Object, name string, value any) rpc.Object {
	params[name] = value
	return params
}

// without are params with one less.
func without(params rpc.Object, name string) rpc.Object {
	delete(params, name)
	return params
}

// create creates a terminal, which is released after the check.
func (t *T) create(params rpc.Object) (id string) {
	var created struct{ TerminalID *string }
	t.notes(params)
	t.result(t.send("terminal/create", params), &created)
	t.want(created.TerminalID != nil && *created.TerminalID != "", "a terminalId that is a string and not empty",
		"there is no terminalId")
	t.terminals = append(t.terminals, *created.TerminalID)
	return *created.TerminalID
}

// notes keeps a command for the report. Of many, the first ones say enough.
func (t *T) notes(params rpc.Object) {
	const most = 3
	program, ok := params["command"].(string)
	args, _ := params["args"].([]string)
	if ok && len(t.commands) < most {
		t.commands = append(t.commands, shortenedTo(2000, child.Line(program, args)))
	}
}

// noTerminal is for a create that has to be refused; a terminal that comes nevertheless is released.
func (t *T) noTerminal(params rpc.Object, expected string) *rpc.Error {
	t.notes(params)
	p := t.send("terminal/create", params)
	var created struct{ TerminalID string }
	if a := t.answer(p); json.Unmarshal(a.Result, &created) == nil && created.TerminalID != "" {
		t.terminals = append(t.terminals, created.TerminalID)
	}
	return t.refused(p, expected)
}

// start creates a terminal whose command, after the steps, runs until its file "stop" is there or it is ended.
func (t *T) start(steps ...string) (id string) {
	id = t.create(t.command(append(steps, t.lock("command"), t.stay())...))
	t.runs("command")
	return id
}

// lock is a step that locks a file of the check; stay one that stays until the end of the check.
func (t *T) lock(name string) string  { return child.Step("lock", t.path(name)) }
func (t *T) stay() string             { return child.Step("await", t.path("stop")) }
func (t *T) await(name string) string { return child.Step("await", t.path(name)) }

// of are the params of all methods but create.
func (t *T) of(id string) rpc.Object { return rpc.Object{"sessionId": t.Session, "terminalId": id} }

// status is how a command ended.
type status struct {
	ExitCode *uint32
	Signal   *string
}

// is reports whether the status is an exit with a code.
func (s status) is(code uint32) bool {
	return s.ExitCode != nil && *s.ExitCode == code && s.Signal == nil
}

// shown is what output returns.
type shown struct {
	Output     *string
	Truncated  *bool
	ExitStatus *status
}

// output returns the output, with "\n" for the "\r\n" of a client that runs commands on a PTY.
func (t *T) output(id string) (text string, truncated bool, exit *status) {
	text, truncated, exit = t.rawOutput(id)
	return strings.ReplaceAll(text, "\r\n", "\n"), truncated, exit
}

func (t *T) rawOutput(id string) (text string, truncated bool, exit *status) {
	var o shown
	t.result(t.send("terminal/output", t.of(id)), &o)
	t.want(o.Output != nil, "a string output", "the result has no output")
	t.want(o.Truncated != nil, "a boolean truncated", "the result has no truncated")
	return *o.Output, *o.Truncated, o.ExitStatus
}

func (t *T) wait(id string) (s status) {
	t.result(t.send("terminal/wait_for_exit", t.of(id)), &s)
	return s
}

func (t *T) kill(id string)    { t.result(t.send("terminal/kill", t.of(id)), nil) }
func (t *T) release(id string) { t.result(t.send("terminal/release", t.of(id)), nil) }

// settle is how long output may come after the wait's answer in checks that are not about that.
const settle = time.Second

// print runs a command to its end, and returns its output when it is as wanted, or what it is a second after the end.
func (t *T) print(params rpc.Object, wanted func(text string, truncated bool) bool) (text string, truncated bool) {
	id := t.create(params)
	t.wait(id)
	for ended := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		text, truncated, _ = t.output(id)
		if wanted(text, truncated) || time.Since(ended) > settle {
			return text, truncated
		}
	}
}

// prints fails unless that output is this.
func (t *T) prints(params rpc.Object, want string) {
	got, _ := t.print(params, func(text string, _ bool) bool { return text == want })
	t.equal(got, want)
}

func (t *T) equal(got, want string) {
	t.want(got == want, "the output "+quoted(want), "the output is %s", quoted(got))
}

// printsJSON decodes what the command prints.
func (t *T) printsJSON(params rpc.Object, into any) {
	text, _ := t.print(params, func(text string, _ bool) bool { return json.Valid([]byte(text)) })
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.fail("what the command printed, a line of JSON", "the output is %s", quoted(text))
	}
}

// shows waits until a running command's output is this.
func (t *T) shows(id, want string) {
	t.until(func() bool { text, _, _ := t.output(id); return text == want },
		"the output "+quoted(want)+" while the command runs", "it did not come")
}

func quoted(text string) string {
	line, err := json.Marshal(text)
	if err != nil {
		return err.Error()
	}
	return shortened(string(line))
}

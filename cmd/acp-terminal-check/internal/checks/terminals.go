package checks

// The requests for terminals, and the commands of the checks.

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/child"
	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/rpc"
)

// command returns the params of a create for a child with these steps.
func (t *T) command(steps ...string) rpc.Object {
	return rpc.Object{"sessionId": t.Session, "command": t.Program, "args": append([]string{child.Mark}, steps...)}
}

// with sets one of the params.
func with(params rpc.Object, name string, value any) rpc.Object {
	params[name] = value
	return params
}

// without removes one of the params.
func without(params rpc.Object, name string) rpc.Object {
	delete(params, name)
	return params
}

// create creates a terminal, which is released after the check.
func (t *T) create(params rpc.Object) (id string) {
	var created struct{ TerminalID *string }
	t.result(t.send("terminal/create", params), &created)
	t.want(created.TerminalID != nil && *created.TerminalID != "", "a terminalId that is a string and not empty",
		"there is no terminalId")
	t.terminals = append(t.terminals, *created.TerminalID)
	return *created.TerminalID
}

// try sends a create that may be refused. Otherwise, the terminal is released after the check.
func (t *T) try(params rpc.Object) (p *pending, id string) {
	p = t.send("terminal/create", params)
	var created struct{ TerminalID string }
	if a := t.answer(p); json.Unmarshal(a.Result, &created) == nil && created.TerminalID != "" {
		t.terminals = append(t.terminals, created.TerminalID)
	}
	return p, created.TerminalID
}

// noTerminal sends a create that must be refused.
func (t *T) noTerminal(params rpc.Object, expected string) *rpc.Error {
	p, _ := t.try(params)
	return t.refused(p, expected)
}

// start creates a terminal whose command, after the steps, runs until its file "stop" exists or it is ended.
func (t *T) start(steps ...string) (id string) {
	id = t.create(t.command(append(steps, t.lock("command"), t.stay())...))
	t.runs("command")
	return id
}

// lock is a step that locks a file of the check, and stay one that stays until the end of the check.
func (t *T) lock(name string) string  { return child.Step("lock", t.path(name)) }
func (t *T) stay() string             { return child.Step("await", t.path("stop")) }
func (t *T) await(name string) string { return child.Step("await", t.path(name)) }

// of returns the params of all methods except create.
func (t *T) of(id string) rpc.Object { return rpc.Object{"sessionId": t.Session, "terminalId": id} }

// status is the exit status of a command.
type status struct {
	ExitCode *uint32
	Signal   *string
}

// is reports whether the status is an exit with that code.
func (s status) is(code uint32) bool {
	return s.ExitCode != nil && *s.ExitCode == code && s.Signal == nil
}

// shown is the result of terminal/output.
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

// settle is how late output may come after the wait's answer, in checks about something else.
const settle = time.Second

// print runs a command to its end, and returns its output once it is as wanted, or the output a second after the end.
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

// prints fails unless the output of print is want.
func (t *T) prints(params rpc.Object, want string) {
	got, _ := t.print(params, func(text string, _ bool) bool { return text == want })
	t.equal(got, want)
}

func (t *T) equal(got, want string) {
	t.want(got == want, "the output "+quoted(want), "the output is %s", quoted(got))
}

// printsJSON decodes the command's output.
func (t *T) printsJSON(params rpc.Object, into any) {
	text, _ := t.print(params, func(text string, _ bool) bool { return json.Valid([]byte(text)) })
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.fail("what the command printed, a line of JSON", "the output is %s", quoted(text))
	}
}

// shows waits until the output of a running command is want.
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

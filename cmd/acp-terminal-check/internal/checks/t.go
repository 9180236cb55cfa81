package checks

// T: what a check has to work with. Each method of T that fails ends the check.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/child"
	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/rpc"
)

// Place is where checks run.
type Place struct {
	Conn    *rpc.Conn
	Session string
	Cwd     string        // the session's directory, as session/new had it
	Program string        // that is a child with child.Mark
	Dir     string        // a directory for files of the commands
	Timeout time.Duration // for each check
}

// T is a run of a check.
type T struct {
	Place
	name      string
	deadline  <-chan time.Time
	terminals []string
	sent      []*pending
}

// pending is a request that has been sent.
type pending struct {
	id     any
	text   string
	answer <-chan rpc.Answer
	came   *rpc.Answer
}

// stopped is the panic that ends a check.
type stopped struct{ Result }

// Run runs a check, and then releases its terminals and has its commands end.
func (p Place) Run(c Check) (result Result) {
	t := &T{Place: p, name: c.ID, deadline: time.After(p.Timeout)}
	result = Result{ID: c.ID, Outcome: Pass}
	if c.signals && !child.Signals {
		return Result{ID: c.ID, Outcome: NotApplicable, Reason: "commands do not end by signals on this system"}
	}
	defer func() {
		switch end := recover().(type) {
		case nil:
		case stopped:
			result = end.Result
			result.ID = c.ID
		default:
			panic(end)
		}
		if result.Outcome != Later {
			t.clean()
		}
	}()
	c.run(t)
	if c.stays {
		result.Outcome = Later
	}
	return result
}

// clean waits for the answers to the releases, so that the end of a command does not disturb the next check.
func (t *T) clean() {
	Stop(t.Dir, t.name)
	deadline := time.After(t.Timeout)
	for _, id := range t.terminals {
		select {
		case <-t.Conn.Send(t.Conn.ID(), "terminal/release", t.of(id)):
		case <-t.Conn.Closed():
		case <-deadline:
		}
	}
}

// end ends the check.
func (t *T) end(outcome Outcome, reason, expected string) {
	r := Result{Outcome: outcome, Reason: reason, Expected: expected}
	for _, p := range t.sent[max(0, len(t.sent)-3):] {
		e := Exchange{Sent: shortened(p.text), Came: "no answer"}
		if p.came != nil {
			e.Came = shortened(strings.TrimSpace(string(p.came.Line)))
		}
		r.Exchanges = append(r.Exchanges, e)
	}
	panic(stopped{r})
}

// fail ends the check: the client did not do what is expected.
func (t *T) fail(expected, reason string, args ...any) {
	t.end(Fail, fmt.Sprintf(reason, args...), expected)
}

// want fails unless something holds.
func (t *T) want(holds bool, expected, reason string, args ...any) {
	if !holds {
		t.fail(expected, reason, args...)
	}
}

// trouble ends the check if there is an error of the kit's own.
func (t *T) trouble(err error) {
	if err != nil {
		t.end(Trouble, err.Error(), "")
	}
}

// send sends a request to the client.
func (t *T) send(method string, params any) *pending { return t.sendAs(t.Conn.ID(), method, params) }

func (t *T) sendAs(id any, method string, params any) *pending {
	text, err := json.Marshal(params)
	t.trouble(err)
	p := &pending{id: id, text: method + " " + string(text)}
	t.sent = append(t.sent, p)
	p.answer = t.Conn.Send(id, method, params)
	return p
}

// answered reports whether the answer is there, without waiting for it.
func (p *pending) answered() bool {
	if p.came == nil {
		select {
		case a := <-p.answer:
			p.came = &a
		default:
		}
	}
	return p.came != nil
}

// answer waits for the answer to a request.
func (t *T) answer(p *pending) rpc.Answer {
	if p.came == nil {
		select {
		case a := <-p.answer:
			p.came = &a
		case <-t.Conn.Closed():
			t.fail("an answer", "the connection ended before the answer")
		case <-t.deadline:
			t.fail("an answer", "there was no answer within %v", t.Timeout)
		}
	}
	return *p.came
}

// result waits for an answer that is no error, and decodes it.
func (t *T) result(p *pending, into any) {
	a := t.answer(p)
	t.want(a.Error == nil, "a result", "the client answered with an error")
	if into != nil {
		if err := json.Unmarshal(a.Result, into); err != nil {
			t.fail("a result as in the schema", "the result is not as in the schema: %v", err)
		}
	}
}

// refused waits for an answer that is an error, and returns it.
func (t *T) refused(p *pending, expected string) *rpc.Error {
	a := t.answer(p)
	t.want(a.Error != nil, "an error: "+expected, "the client answered with a result")
	return a.Error
}

// path is a file of this check's commands.
func (t *T) path(name string) string { return fileOf(t.Dir, t.name, name) }

func fileOf(dir, id, name string) string {
	return filepath.Join(dir, strings.ReplaceAll(id, ".", "-")+"."+name)
}

// Stop has the commands end that the check with this id has left.
func Stop(dir, id string) error { return os.WriteFile(fileOf(dir, id, "stop"), nil, 0o600) }

// CommandFile is the file in a Place's Dir that the command of the check with this id has locked while it runs.
func CommandFile(dir, id string) string { return fileOf(dir, id, "command") }

// until waits for something that commands do.
func (t *T) until(holds func() bool, expected, reason string) {
	for !holds() {
		select {
		case <-t.deadline:
			t.fail(expected, "%s within %v", reason, t.Timeout)
		case <-t.Conn.Closed():
			t.fail(expected, "the connection ended")
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// runs waits until the command that locks a file runs.
func (t *T) runs(name string) {
	t.until(func() bool { return child.Held(t.path(name)) }, "the command to run", "the command did not begin to run")
}

// ends waits until that command has ended.
func (t *T) ends(name, what string) {
	t.until(func() bool { return !child.Held(t.path(name)) }, what+" to end", what+" did not end")
}

// still fails if that command has ended.
func (t *T) still(name, what string) {
	t.want(child.Held(t.path(name)), what+" to run on", "%s has ended", what)
}

// let makes a file that a command awaits.
func (t *T) let(name string) { t.trouble(os.WriteFile(t.path(name), nil, 0o600)) }

// made reports whether a command has made a file.
func (t *T) made(name string) bool {
	_, err := os.Stat(t.path(name))
	return err == nil
}

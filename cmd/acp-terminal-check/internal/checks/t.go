package checks

// T: the tools of a check. A failing method of T ends the check.

import (
	"bytes"
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
	Cwd     string        // the session's directory, from session/new
	Program string        // a child if called with child.Mark
	Dir     string        // a directory for the commands' files
	Timeout time.Duration // for each check
	Until   time.Time     // for all of them; unlimited if zero
}

// after is like time.After with the timeout of a check, or with the time left for all checks, whichever is shorter.
func (p Place) after() <-chan time.Time {
	if p.Until.IsZero() {
		return time.After(p.Timeout)
	}
	return time.After(min(p.Timeout, time.Until(p.Until)))
}

func (p Place) over() bool { return !p.Until.IsZero() && !time.Now().Before(p.Until) }

// T is a run of a check.
type T struct {
	Place
	name      string
	deadline  <-chan time.Time
	terminals []string
	sent      []*pending
}

// pending is a sent request.
type pending struct {
	id     any
	text   string
	answer <-chan rpc.Answer
	came   *rpc.Answer
	wrong  <-chan rpc.Answer // with another id; nil if ignored
}

// stopped is the value of the panic that ends a check.
type stopped struct{ Result }

// end ends the check.
func (t *T) end(outcome Outcome, reason, expected string) {
	panic(stopped{t.found(outcome, reason, expected)})
}

func (t *T) found(outcome Outcome, reason, expected string) Result {
	r := Result{ID: t.name, Outcome: outcome, Reason: reason, Expected: expected}
	for i, p := range t.sent {
		if i > 0 && i < len(t.sent)-3 {
			continue
		}
		e := Exchange{Sent: shortened(p.text), Came: "no answer"}
		if p.came != nil {
			e.Came = shortened(strings.TrimSpace(string(p.came.Line)))
		}
		r.Exchanges = append(r.Exchanges, e)
	}
	return r
}

// fail ends the check because of an unexpected answer or behaviour of the client.
func (t *T) fail(expected, reason string, args ...any) {
	t.end(Fail, fmt.Sprintf(reason, args...), expected)
}

// late ends the check because the deadline has passed.
func (t *T) late(expected, reason string) {
	if t.over() {
		t.end(NotTried, timeOver, "")
	}
	r := t.found(Fail, fmt.Sprintf("%s within %v", reason, t.Timeout), expected)
	r.timedOut = true
	panic(stopped{r})
}

// want fails unless the condition holds.
func (t *T) want(holds bool, expected, reason string, args ...any) {
	if !holds {
		t.fail(expected, reason, args...)
	}
}

// trouble ends the check if the kit itself has an error.
func (t *T) trouble(err error) {
	if err != nil {
		t.end(Trouble, err.Error(), "")
	}
}

// send sends a request to the client.
func (t *T) send(method string, params any) *pending { return t.sendWith(t.Conn.ID(), method, params) }

func (t *T) sendWith(id any, method string, params any) *pending {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	t.trouble(e.Encode(params))
	p := &pending{id: id, text: method + " " + strings.TrimSpace(text.String())}
	t.sent = append(t.sent, p)
	p.answer = t.Conn.Send(id, method, params)
	return p
}

// answered reports whether the answer has arrived, without waiting for it.
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
		case a := <-p.wrong:
			t.fail("an answer with the id "+fmt.Sprint(p.id), "there is one with another id: %s",
				shortened(strings.TrimSpace(string(a.Line))))
		case <-t.deadline:
			t.late("an answer", "there was no answer")
		}
	}
	return *p.came
}

// result waits for a result, not an error, and decodes it.
func (t *T) result(p *pending, into any) {
	a := t.answer(p)
	t.want(a.Error == nil, "a result", "the client answered with an error")
	if into != nil {
		if err := json.Unmarshal(a.Result, into); err != nil {
			t.fail("a result as in the schema", "the result is not as in the schema: %v", err)
		}
	}
}

// refused waits for an error, and returns it.
func (t *T) refused(p *pending, expected string) *rpc.Error {
	a := t.answer(p)
	t.want(a.Error != nil, "an error: "+expected, "the client answered with a result")
	return a.Error
}

// path returns the path of a file of this check's commands.
func (t *T) path(name string) string { return fileOf(t.Dir, t.name, name) }

func fileOf(dir, id, name string) string {
	return filepath.Join(dir, strings.ReplaceAll(id, ".", "-")+"."+name)
}

// Stop ends the commands left by the check with this id.
func Stop(dir, id string) error { return os.WriteFile(fileOf(dir, id, "stop"), nil, 0o600) }

// CommandFile returns the path of the file in a Place's Dir that the command of the check with this id locks while it
// runs.
func CommandFile(dir, id string) string { return fileOf(dir, id, "command") }

// until waits for an effect of commands.
func (t *T) until(holds func() bool, expected, reason string) {
	for !holds() {
		select {
		case <-t.deadline:
			t.late(expected, reason)
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

// quiet is how long a check watches for something that must not happen.
const quiet = 300 * time.Millisecond

// throughout fails unless a condition holds for a while.
func (t *T) throughout(holds func() bool, expected, reason string) {
	for start := time.Now(); time.Since(start) < quiet; time.Sleep(5 * time.Millisecond) {
		t.want(holds(), expected, "%s", reason)
	}
}

// stays fails if that command ends soon.
func (t *T) stays(name, what string) {
	t.throughout(func() bool { return child.Held(t.path(name)) }, what+" to run on", what+" has ended")
}

// still fails if that command has ended.
func (t *T) still(name, what string) {
	t.want(child.Held(t.path(name)), what+" to run on", "%s has ended", what)
}

// let creates a file that a command waits for.
func (t *T) let(name string) { t.trouble(os.WriteFile(t.path(name), nil, 0o600)) }

// made reports whether a command has created a file.
func (t *T) made(name string) bool {
	_, err := os.Stat(t.path(name))
	return err == nil
}

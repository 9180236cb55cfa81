package browsertest

// Notifications of a command's end for a user who is looking elsewhere.

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/internal/viewtest"
)

// setHidden hides the page behind another one, or brings it to the front.
func setHidden(p tab, hidden bool) {
	state := map[bool]string{true: "true", false: "false"}[hidden]
	eval[bool](p, `(Object.defineProperty(document, 'hidden', { configurable: true, value: `+state+` }),
		document.hasFocus = () => !document.hidden, document.dispatchEvent(new Event('visibilitychange')))`)
}

// catchNotices redirects notifications to window.told. The user's answer to the question for them is window.answer.
const catchNotices = `window.told = [], window.answer = 'granted', window.Notification = class {
	constructor(title, { body }) { told.push(title + ': ' + body.replace(/\d+(\.\d)? m?s/, 'x s')) }
	static async requestPermission() { return window.answer }
}`

func testNotify(t *testing.T, b visitor) {
	texts := make(chan string)
	v := serve(t, made(t, acptermtest.Commands{"make": steps(texts), "test": acptermtest.Block}), nil)
	v.create(t, "make")
	p := b.visit(t, v.url)
	p.until(`document.title === '(1) Terminals'`)
	eval[bool](p, `(`+catchNotices+`, window.answer = 'denied', document.getElementById('notify').click(), true)`)
	p.until(`!document.getElementById('notify').checked`)
	eval[bool](p, `(window.answer = 'granted', document.getElementById('notify').click(), true)`)
	p.until(`document.getElementById('notify').checked`)
	setHidden(p, true)
	other := v.create(t, "test")
	p.until(`document.title === '(2) Terminals'`)
	close(texts)
	p.until(`document.title === '(1) Terminals' && told.join() === 'make: done · x s · session-1'`)
	setHidden(p, false)
	require.NoError(t, other.Kill(t.Context()))
	p.until(`document.title === 'killed: test'`)
	require.Equal(t, []string{"make: done · x s · session-1"}, eval[[]string](p, `told`), "the person sees the page")
	p.end()
}

// Titles and notifications say whose command it is: the names of its manager and its session, or the agent itself.
func testWhose(t *testing.T, b visitor) {
	texts := make(chan string)
	v := serve(t, made(t, acptermtest.Commands{"make": steps(texts)}), nil)
	v.view.NameSession("session-1", "Checkout")
	terminal := v.create(t, "make")
	other := made(t, acptermtest.Commands{})
	v.view.Add(other, "helper")
	p := b.visit(t, v.url)
	single := b.visit(t, v.only(terminal))
	single.until(`document.title === 'make – Checkout'`)
	p.until(`document.title === '(1) Terminals'`)
	eval[bool](p, `(`+catchNotices+`, document.getElementById('notify').click(), true)`)
	p.until(`document.getElementById('notify').checked`)
	setHidden(p, true)
	close(texts)
	single.until(`document.title === 'done: make – Checkout'`)
	p.until(`told.join() === 'make: done · x s · Checkout' && document.title === 'done: make – Checkout'`)
	a := viewtest.NewAgent(t, other, agentterm.Options{})
	a.Update("s", "t1", members{"command": "make all"})
	p.until(`document.title === '(1) Terminals'`)
	a.Update("s", "t1", members{"exitStatus": members{"exitCode": 0}})
	p.until(`told.length === 2 && document.title === 'done: run by helper itself: make all'`)
	require.Equal(t, "run by helper itself: make all: done · x s · helper", eval[string](p, `told[1]`))
	require.Contains(t, eval[string](p, `document.querySelector('nav a:has(.badge)').innerText`), "run by helper itself")
	single.end()
	p.end()
}

// A long command is shortened, one click shows all of it, and it can be copied separately.
func testLongCommand(t *testing.T, b visitor) {
	long := ""
	for range 40 {
		long += "one and another argument "
	}
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Print("", 0)}), nil)
	short, cut := v.create(t, "make", "all"), v.create(t, "make", long)
	p := b.visit(t, v.only(short))
	p.until(`part('.command').textContent === 'make all' && !visible(part('.more'))`)
	eval[bool](p, catchCopies)
	eval[bool](p, `(part('.copy-command').click(), true)`)
	p.until(`copied === 'make all'`)
	eval[bool](p, `(el.setAttribute('src', '`+v.view.TerminalPath(cut.SessionID(), cut.ID())+`'), true)`)
	p.until(`visible(part('.more')) && part('.command').clientHeight < part('.command').scrollHeight`)
	require.Less(t, eval[int](p, `part('.command').clientHeight`), 70)
	eval[bool](p, `(part('.more').click(), true)`)
	p.until(`part('.more').getAttribute('aria-label') === 'Show less of the command' && part('.command').clientHeight > 100`)
	eval[bool](p, `(part('.copy-command').click(), true)`)
	p.until(`copied === part('.command').textContent && copied.length > 900`)
	eval[bool](p, `(part('.more').click(), true)`)
	p.until(`part('.command').clientHeight < 70`)
	p.end()
}

// Several managers, and names of sessions, as headings of the list.
func testSources(t *testing.T, b visitor) {
	commands := acptermtest.Commands{"make": acptermtest.Print("made\n", 0)}
	v := serve(t, made(t, commands), nil)
	other := made(t, commands)
	source := v.view.Add(other, "helper")
	v.create(t, "make")
	terminal, err := other.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "session-1", Command: "make"}, nil)
	require.NoError(t, err)
	<-terminal.Done()
	p := b.visit(t, v.url)
	const headings = `[...document.querySelectorAll('nav h2')].map(h => h.textContent).sort().join()`
	p.until(headings + ` === 'helper · session-1,session-1'`)
	source.NameSession("session-1", "Tests")
	v.view.NameSession("session-1", "Checkout")
	p.until(headings + ` === 'Checkout,helper · Tests'`)
	eval[bool](p, `([...document.querySelectorAll('nav details')].find(d => d.textContent.includes('helper')).querySelector('a').click(), true)`)
	p.until(`el.text === 'made\n' && part('.numbers').innerText.includes('helper') && part('.numbers').innerText.includes('Tests')`)
	source.Remove()
	p.until(headings + ` === 'Checkout'`)
	p.end()
}

package browsertest

// Terminals owned by the agent, on the page.

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/internal/viewtest"
	"github.com/acpterm/acpterm/view"
)

// members are the members of an update.
type members = map[string]any

var cancellable = members{"capabilities": members{"cancel": members{}}}

func testBothKinds(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"serve": acptermtest.Block}), nil)
	a := viewtest.NewAgent(t, v.Manager, agentterm.Options{})
	p := b.visit(t, v.url)
	p.resize(1000, 700)
	mine := v.create(t, "serve")
	p.until(`part('.state').textContent === 'running'`)
	require.False(t, eval[bool](p, `!!part('.badge') || !!document.querySelector('nav .badge')`))
	owned := a.Update("session-1", "call_1", members{"command": "npm test", "cwd": "/w"})
	p.until(`document.querySelectorAll('nav li').length === 2`)
	require.Equal(t, []string{"npm test agent", "serve "}, eval[[]string](p, `[
		...document.querySelectorAll('nav li')].map(
		li => li.querySelector('.command').textContent + ' ' + (li.querySelector('.badge')?.textContent ?? ''))`))
	eval[string](p, "location.hash = "+strconv.Quote(v.key(owned)))
	p.until(`part('.badge')?.textContent === 'agent' && part('.command').textContent === 'npm test'`)
	for _, badge := range []string{`part('.badge')`, `document.querySelector('nav .badge')`} {
		require.True(t, eval[bool](p, "visible("+badge+")"))
	}

	a.Update("session-1", "call_1", members{"command": "npm test -- cart", "cwd": "/w/cart",
		"size": members{"cols": 120, "rows": 40}})
	p.until(`part('.command').textContent === 'npm test -- cart' && part('.numbers').textContent.includes('/w/cart')
		&& part('.numbers').textContent.includes('120 × 40')
		&& document.querySelector('nav .command').textContent === 'npm test -- cart'`)
	a.Update("session-1", "call_1", members{"exitStatus": members{}})
	p.until(`part('.state').textContent === 'ended' && document.querySelector('nav b').textContent === 'ended'
		&& part('.message').textContent === 'No output.' && !visible(part('[aria-controls=find]'))`)
	a.Update("session-1", "call_1", members{"exitStatus": members{"exitCode": 2}})
	p.until(`part('.state').textContent === 'exit code 2'
		&& document.querySelector('nav b').textContent === 'exit code 2'`)
	eval[string](p, "location.hash = "+strconv.Quote(v.key(mine)))
	p.until(`part('.command').textContent === 'serve' && !part('.badge')`)
	p.requireQuiet()
}

func testReplaced(t *testing.T, b visitor) {
	v := serve(t, made(t, nil), nil)
	a := viewtest.NewAgent(t, v.Manager, agentterm.Options{})
	terminal := a.Print("s", "t1", "\x1b[31mone\ntwo\x1b[5")
	p := b.visit(t, v.url)
	p.until(`el.text === 'one\ntwo'`)
	a.Update("s", "t1", viewtest.Snapshot("plain\n"))
	p.until(`el.text === 'plain\n'`)
	require.NotEqual(t, "rgb(193, 33, 43)", style(p, "plain", "color"), "nor its colour")
	a.Update("s", "t1", viewtest.Snapshot("plain\nmore\n"))
	p.until(`el.text === 'plain\nmore\n'`)
	a.Update("s", "t1", members{"output": nil})
	p.until(`el.text.trim() === ''`)
	a.Print("s", "t1", "after\n")
	p.until(`el.text === 'after\n'`)
	for i := range 3 { // a lost connection
		v.open.drop()
		a.Update("s", "t1", viewtest.Snapshot(fmt.Sprintf("again %d\n", i)))
		p.until(fmt.Sprintf(`el.text === 'again %d\n'`, i))
	}
	v.open.drop()
	a.Update("s", "t1", viewtest.Snapshot(""))
	p.until(`el.text.trim() === ''`)
	a.Update("s", "t1", viewtest.Snapshot("the end\n"))
	a.Update("s", "t1", members{"exitStatus": members{"exitCode": 0}})
	<-terminal.Done()
	p.until(`el.text === 'the end\n' && part('.state').textContent === 'done'`)
	a.Update("s", "t1", viewtest.Snapshot("a better end\n"))
	p.until(`el.text === 'a better end\n'`)
	p.reload()
	p.until(`el.text === 'a better end\n'`)
	require.Zero(t, eval[int](p, "el.missed"))
}

func testAgentStop(t *testing.T, b visitor) {
	v := serve(t, made(t, nil), &view.Options{AllowStop: true})
	answers := make(chan error)
	a := viewtest.NewAgent(t, v.Manager, agentterm.Options{Cancel: viewtest.Answer(answers)})
	terminal := a.Update("s", "t1", members{"command": "npm test"})
	p := b.visit(t, v.url)
	p.until(`part('.state').textContent === 'running'`)
	require.False(t, eval[bool](p, `visible(part('.stop'))`))
	eval[bool](p, `el.stop().then(() => true)`)
	p.until(`part('.problem').textContent.includes('not cancellable')`)
	a.Update("s", "t1", cancellable)
	p.until(`visible(part('.stop'))`)
	a.Update("s", "t1", members{"capabilities": nil})
	p.until(`!visible(part('.stop'))`)
	a.Update("s", "t1", cancellable)
	p.until(`visible(part('.stop'))`)

	p.click(".stop")
	p.until(`part('.state').textContent === 'stopping' && part('.stop').textContent === 'Ask again'`)
	answers <- errors.New("the agent is busy")
	p.until(`part('.problem').textContent.includes('the agent is busy') && part('.stop').textContent === 'Stop'`)
	require.True(t, eval[bool](p, `visible(part('.problem'))`))
	p.click(".stop")
	p.until(`part('.state').textContent === 'stopping' && part('.problem').textContent === ''`)
	answers <- nil
	a.Update("s", "t1", members{"exitStatus": members{"signal": "SIGTERM"}})
	<-terminal.Done()
	p.until(`part('.state').textContent === 'stopped, signal SIGTERM' && !visible(part('.stop'))`)
}

func testSameIDs(t *testing.T, b visitor) {
	v := serve(t, made(t, nil), &view.Options{AllowStop: true})
	cancelled := make(chan acpterm.TerminalRequest, 1)
	a := viewtest.NewAgent(t, v.Manager, agentterm.Options{Cancel: func(
		_ context.Context, r acpterm.TerminalRequest,
	) error {
		cancelled <- r
		return nil
	}})
	p := b.visit(t, v.url)
	type terminal struct {
		session acpterm.SessionID
		id      acpterm.TerminalID
	}
	all := []terminal{{"s1", "call_1"}, {"s2", "call_1"}, {"s1", "a/b?c#d%2F é"}, {"s/2", ".."}, {"s2", "terminal"}}
	name := func(i int) string { return fmt.Sprintf("number %d", i) }
	for i, x := range all {
		a.Print(x.session, x.id, name(i)+"\n")
		a.Update(x.session, x.id, members{"command": name(i), "capabilities": members{"cancel": members{}}})
	}
	p.until(fmt.Sprintf(`[...document.querySelectorAll('nav .command')].filter(
		x => x.textContent.startsWith('number')).length === %d`,
		len(all)))
	require.Equal(t, 3, eval[int](p, `document.querySelectorAll('nav h2').length`))
	for range 2 {
		for i, x := range all {
			eval[bool](p, fmt.Sprintf(`([...document.querySelectorAll('nav a')].find(
				link => link.querySelector('.command').textContent === %q).click(), true)`, name(i)))
			p.until(fmt.Sprintf(`el.text === %q && part('.command').textContent === %q
				&& document.querySelector('nav a[aria-current] .command').textContent === %q`,
				name(i)+"\n", name(i), name(i)))
			chosen := eval[string](p, `document.querySelector('nav details:has(a[aria-current]) h2').textContent`)
			require.Contains(t, chosen, string(x.session))
		}
	}
	last := len(all) - 1
	p.until(`visible(part('.stop'))`)
	p.click(".stop")
	require.Equal(t, acpterm.TerminalRequest{SessionID: all[last].session, TerminalID: all[last].id}, <-cancelled)
	for i, x := range all {
		alone := b.visit(t, v.only(must(v.Terminal(x.session, x.id))))
		alone.until(fmt.Sprintf(`el.text === %q && document.title === %q`, name(i)+"\n", "run by the agent itself: "+name(i)))
		alone.requireQuiet()
		alone.end() // a browser opens six connections to a server
	}
	require.True(t, eval[bool](p, `(ids => ids.length === new Set(ids).size)(
		[...document.querySelectorAll('[id]')].map(x => x.id))`))

	// An id used again.
	eval[string](p, "location.hash = "+strconv.Quote(v.key(must(v.Terminal("s1", "call_1")))))
	p.until(`el.text === 'number 0\n'`)
	require.NoError(t, v.Release(t.Context(), "s1", "call_1"))
	p.until(`part('.state').textContent === 'released'`)
	a.Update("s1", "call_1", members{"command": "again"}) // otherwise it stays released
	a.Print("s1", "call_1", "anew\n")
	p.until(`el.text === 'anew\n' && part('.command').textContent === 'again'
		&& part('.state').textContent === 'running'`)
	require.Equal(t, len(all), eval[int](p, `document.querySelectorAll('nav li').length`))
	p.requireQuiet()
}

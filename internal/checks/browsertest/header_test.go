package browsertest

// The header of a terminal: its command, its menu, and what is copied.

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
)

// pressOn dispatches a key to the element that has the focus, in any browser.
func pressOn(p tab, key string) {
	p.test().Helper()
	eval[bool](p, fmt.Sprintf(`(() => {
		const focused = el.shadowRoot.activeElement ?? document.activeElement
		return focused.dispatchEvent(new KeyboardEvent('keydown', { key: %q, bubbles: true, composed: true, cancelable: true })) || true
	})()`, key))
}

// One menu copies the command, the output and a link, and opens the output as text.
func testMenu(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"bash": acptermtest.Print("one\ntwo\n", 0)}), &view.Options{AllowStop: true})
	const script = "cd shop && npm test -- --reporter='dot'"
	terminal := v.create(t, "bash", "-lc", script)
	p := b.visit(t, v.url)
	p.until(`el.text === 'one\ntwo\n' && part('.state').textContent === 'done'`)
	require.Equal(t, script, eval[string](p, `part('.command').textContent`))
	require.Equal(t, script, eval[string](p, `document.querySelector('nav .command').textContent`))
	require.Contains(t, eval[string](p, `part('.numbers').innerText`), "by bash -lc")
	require.Equal(t, []int{28}, eval[[]int](p, `[...new Set([...el.shadowRoot.querySelectorAll('.tools button')].filter(
		button => visible(button) && !button.matches('.reader')).map(button => button.offsetHeight))]`), "one height")

	const focused = `el.shadowRoot.activeElement.textContent`
	const items = `[...el.shadowRoot.querySelectorAll('[role^=menuitem]')].filter(visible).map(item => item.textContent).join(', ')`
	eval[bool](p, `(part('.copy').focus(), true)`)
	pressOn(p, "ArrowDown")
	p.until(`part('.copy').getAttribute('aria-expanded') === 'true'`)
	require.Equal(t, "Copy output, Copy command, Copy link to this terminal, Open as text, Download, Show timestamps, Show time since the start", eval[string](p, items))
	require.Equal(t, "Copy output", eval[string](p, focused))
	for _, step := range []struct{ key, want string }{
		{"ArrowDown", "Copy command"}, {"End", "Show time since the start"}, {"ArrowDown", "Copy output"}, {"ArrowUp", "Show time since the start"},
		{"Home", "Copy output"}, {"Escape", "More"},
	} {
		pressOn(p, step.key)
		require.Equal(t, step.want, eval[string](p, focused), step.key)
	}
	require.Equal(t, "", eval[string](p, items))

	eval[bool](p, catchCopies)
	const top = `part('.screen').getBoundingClientRect().top`
	before := eval[float64](p, top)
	for _, step := range []struct{ item, want, says string }{
		{".copy-output", "one\ntwo\n", "Copied the output"}, {".copy-command", script, "Copied the command"},
		{".copy-link", v.only(terminal), "Copied the link"},
	} {
		eval[bool](p, fmt.Sprintf(`(part('.copy').click(), part(%q).click(), true)`, step.item))
		p.until(fmt.Sprintf(`copied === %q && part('.note').textContent === %q`, step.want, step.says))
		require.Equal(t, "", eval[string](p, items), "the menu closes")
		require.InDelta(t, before, eval[float64](p, top), 0.1, "the note moves nothing")
	}
	p.until(`part('.note').textContent === ''`)
	p.requireQuiet()
}

// Copy leaves the clipboard alone if there is no output, and says so.
func testCopyNothing(t *testing.T, b visitor) {
	m := acptermtest.NewManager(t, &acpterm.Options{
		Runner: acptermtest.Commands{"rm": acptermtest.Block, "true": acptermtest.Print("", 0)}, Policy: denyRemovals,
	})
	v := serve(t, m, nil)
	quiet := v.create(t, "true")
	_, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "session-1", Command: "rm"}, nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
	p := b.visit(t, v.url)
	eval[bool](p, catchCopies)
	for _, command := range []string{"rm", "true"} {
		if command == "true" {
			eval[string](p, fmt.Sprintf(`location.hash = %q`, v.key(quiet)))
		}
		p.until(fmt.Sprintf(`part('.command').textContent === %q && part('.message').textContent !== ''`, command))
		eval[bool](p, `el.copy().then(() => true)`)
		p.until(`part('.note').textContent === 'There is no output to copy.'`)
		eval[bool](p, `(part('.note').textContent = '', part('.copy').click(), true)`)
		require.Equal(t, "true", eval[string](p, `part('.copy-output').getAttribute('aria-disabled')`))
		eval[bool](p, `(part('.copy-output').click(), true)`)
		require.True(t, eval[bool](p, `copied === null && part('.note').textContent === ''`))
	}
	p.requireQuiet()
}

// A time of another day has the day.
func testDays(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Print("made\n", 0)}), nil)
	v.create(t, "make")
	p := b.visit(t, v.url)
	p.until(`el.text === 'made\n'`)
	clock := func(ago time.Duration) string {
		return eval[string](p, fmt.Sprintf(`import(new URL('assets/text.js', location)).then(m => m.clock(new Date().setHours(12, 34) - %d))`,
			ago.Milliseconds()))
	}
	today := clock(0)
	require.Contains(t, eval[string](p, `part('.numbers').innerText`), eval[string](p,
		`new Date(el.row.started).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })`))
	require.Contains(t, today, "34")
	yesterday, before := clock(24*time.Hour), clock(30*24*time.Hour)
	require.Contains(t, yesterday, strings.Fields(today)[0])
	for _, other := range []string{yesterday, before} {
		require.Greater(t, len(other), len(today)+2)
	}
	require.NotEqual(t, strings.Fields(yesterday)[0], strings.Fields(before)[0])
}

// The header has the sign of the list.
func testSigns(t *testing.T, b visitor) {
	m := acptermtest.NewManager(t, &acpterm.Options{Policy: denyRemovals, Runner: acptermtest.Commands{
		"good": acptermtest.Print("", 0), "bad": acptermtest.Print("", 1), "rm": acptermtest.Block, "long": acptermtest.Block}})
	v := serve(t, m, nil)
	for _, command := range []string{"good", "bad", "long"} {
		v.create(t, command)
	}
	_, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "session-1", Command: "rm"}, nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
	p := b.visit(t, v.url)
	for _, test := range [][2]string{{"good", "✓"}, {"bad", "✗"}, {"rm", "⊘"}, {"long", ""}} {
		command, sign := test[0], test[1]
		link := fmt.Sprintf(`[...document.querySelectorAll('nav a')].find(a => a.querySelector('.command').textContent === %q)`, command)
		p.until(link)
		eval[bool](p, `(location.hash = `+link+`.hash, true)`)
		p.until(fmt.Sprintf(`part('.command').textContent === %q && !['', 'starting'].includes(part('.state').textContent)`, command))
		p.until(fmt.Sprintf(`%s.querySelector('.dot').textContent === %q`, link, sign))
		p.until(fmt.Sprintf(`getComputedStyle(part('.state'), '::before').content.startsWith('"%s"')`, sign))
	}
	p.requireQuiet()
}

// A running command can be moved to the background if the page may stop it.
func testBackground(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"serve": acptermtest.Block}), &view.Options{AllowStop: true})
	terminal := v.create(t, "serve")
	moved := terminal.Backgrounded()
	p := b.visit(t, v.url)
	p.until(`part('.state').textContent === 'running' && visible(part('.stop'))`)
	require.False(t, eval[bool](p, `part('.numbers').textContent.includes('in the background')`))
	require.True(t, eval[bool](p, `(part('.copy').click(), visible(part('.to-background')))`))
	eval[bool](p, `(part('.to-background').click(), true)`)
	<-moved
	p.until(`part('.numbers').textContent.includes('in the background')`)
	require.NoError(t, terminal.Kill(t.Context()))
	p.until(`part('.state').textContent.startsWith('killed')`)
	require.False(t, eval[bool](p, `(part('.copy').click(), visible(part('.to-background')))`))
	readOnly := b.visit(t, serve(t, v.Manager, nil).only(v.create(t, "serve")))
	readOnly.until(`part('.state').textContent === 'running'`)
	require.False(t, eval[bool](readOnly, `(part('.copy').click(), visible(part('.to-background')))`))
}

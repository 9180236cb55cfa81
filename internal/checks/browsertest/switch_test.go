package browsertest

// A page that switches between two commands shows only the output of the chosen one, and closes no socket early.

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/view"
	"github.com/stretchr/testify/require"
)

// repeat writes lines of one letter until a signal, faster than a page can show them but with pauses.
func repeat(letter string) acptermtest.Script {
	block := []byte(strings.Repeat(strings.Repeat(letter, 60)+"\n", 500))
	return func(p *acptermtest.Process) int {
		for p.Context().Err() == nil {
			if _, err := p.Write(block); err != nil {
				return 1
			}
			time.Sleep(time.Millisecond)
		}
		return 1
	}
}

// watchShown is a function in the page. Its promise resolves once output of the command own was shown several times,
// and yields the output of the command other shown until then. Both are single letters that do not occur in the view's
// own texts.
const watchShown = `async function watchShown(own, other) {
	for (let seen = 0; seen < 3;) {
		for (const text of [el.text, part('.command').textContent, el.row?.command ?? ''])
			if (text.includes(other)) return own + ' is chosen and the page has ' + JSON.stringify(text.slice(0, 40))
		if (el.text.includes(own)) seen++
		await new Promise(resolve => setTimeout(resolve, 5))
	}
	return ''
}`

func testSwitching(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"Q": repeat("Q"), "Z": repeat("Z")}), &view.Options{AllowStop: true})
	terminals := map[string]*acpterm.Terminal{"Q": v.create(t, "Q"), "Z": v.create(t, "Z")}
	p := b.visit(t, v.url)
	p.until(`document.querySelectorAll('nav a').length === 2 && /[QZ]/.test(el.text)`)

	mixed, times := []string{}, longtest.Times(8, 24)
	for _, how := range []struct {
		name  string
		times int
		to    func(i int, own, other *acpterm.Terminal)
	}{
		{"attribute", times, func(i int, own, other *acpterm.Terminal) {
			set := func(to *acpterm.Terminal) string {
				return fmt.Sprintf("el.setAttribute('src', %q)", v.view.TerminalPath(to.SessionID(), to.ID()))
			}
			steps := set(own)
			if i%5 == 0 { // and back immediately
				steps = set(own) + "," + set(other) + "," + steps
			}
			if left := eval[string](p, "("+steps+", el.text + part('header > .title').textContent)"); left != "" {
				mixed = append(mixed, fmt.Sprintf("right after the switch the page has %.40q", left))
			}
		}},
		{"click", times, func(_ int, own, _ *acpterm.Terminal) {
			eval[bool](p, fmt.Sprintf(`(document.querySelector('nav a[href="#%s"]').click(), true)`, v.key(own)))
			p.until(fmt.Sprintf("el.getAttribute('src').endsWith(%q)", v.key(own)))
		}},
	} {
		for i := range how.times {
			own, other := "Q", "Z"
			if i%2 == 1 {
				own, other = other, own
			}
			how.to(i, terminals[own], terminals[other])
			found := eval[string](p, fmt.Sprintf("(async () => {%s\nreturn watchShown(%q, %q)})()", watchShown, own, other))
			if found != "" {
				mixed = append(mixed, how.name+": "+found)
			}
		}
	}
	require.Empty(t, mixed)
	require.Equal(t, 1, eval[int](p, `el.shadowRoot.querySelectorAll('.xterm').length`))
	p.requireQuiet()
}

// No socket is closed while it connects, because browsers warn about that.
func testNoSocketClosedEarly(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"a": acptermtest.Block, "b": acptermtest.Block}), nil)
	first, second := v.create(t, "a"), v.create(t, "b")
	p := b.visit(t, v.url)
	p.until(`el.row?.state === 'running'`)
	eval[bool](p, `(() => {
		window.early = window.open = 0
		const { close } = WebSocket.prototype
		WebSocket.prototype.close = function () {
			early += this.readyState === WebSocket.CONNECTING
			close.call(this)
		}
		return true
	})()`)
	for i := range 40 {
		terminal := first
		if i%2 == 0 {
			terminal = second
		}
		eval[string](p, fmt.Sprintf(`location.hash = %q`, v.key(terminal)))
	}
	p.until(fmt.Sprintf(`part('.command').textContent === 'a' && el.row?.state === 'running' && el.getAttribute('src').endsWith(%q)`, v.key(first)))
	require.Zero(t, eval[int](p, `early`))
	p.requireQuiet()
}

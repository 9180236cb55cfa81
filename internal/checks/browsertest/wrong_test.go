package browsertest

// Small things that were wrong once.

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/acptermtest"
)

// An element that is hidden while its output arrives is at the end when it is shown.
func testShownLater(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Print(strings.Repeat("line\n", 500)+"end\n", 0)}), nil)
	terminal := v.create(t, "make")
	<-terminal.Done()
	p := b.visit(t, host(t, "", v))
	p.until(`el.text.endsWith('end\n')`)
	for i := range 6 {
		eval[bool](p, `(() => {
			document.getElementById('box')?.remove()
			const box = document.createElement('div')
			box.id = 'box'
			box.style.display = 'none'
			const other = document.createElement('acp-terminal')
			other.setAttribute('src', el.getAttribute('src'))
			box.append(other)
			document.body.prepend(box)
			return true
		})()`)
		if i%2 == 0 {
			p.until(`el.text.endsWith('end\n') && el.row?.ended > 0`)
		}
		eval[bool](p, `(document.getElementById('box').style.display = '', true)`)
		p.until(`el.text.endsWith('end\n') && [...part('.xterm-rows').children].some(row => row.textContent.startsWith('end'))`)
		p.until(`el.following && !visible(part('.to-end'))`)
		require.True(t, eval[bool](p, `new Promise(done => setTimeout(done, 200)).then(() => el.following && !visible(part('.to-end')))`), "it stays there")
	}
}

// A page's CSS reset does not give a dark screen a light frame.
func testReset(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Print("hello\n", 0)}), nil)
	v.create(t, "make")
	for _, reset := range []string{
		"*, *::before, *::after { margin: 0; padding: 0; border: 0; box-sizing: border-box; color-scheme: light }",
		"*:where(:not(html, iframe, canvas, img, svg, video, audio):not(svg *, symbol *)) { all: unset; display: revert }",
		"html { color-scheme: light } acp-terminal { all: initial }",
	} {
		p := b.visit(t, host(t, "<style>"+reset+"</style>", v))
		p.until(`el.text === 'hello\n'`)
		eval[bool](p, `(el.setAttribute('theme', 'dark'), true)`)
		p.until(`getComputedStyle(part('.box')).backgroundColor === 'rgb(15, 20, 27)' &&
			getComputedStyle(part('.xterm-rows')).color === 'rgb(214, 221, 230)'`)
		p.end()
	}
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

package browsertest

// More small things that were wrong once: in hidden panels, in pages from right to left, and while output is read again.

import (
	"fmt"
	"strings"
	"testing"

	"github.com/acpterm/acpterm/acptermtest"
	"github.com/stretchr/testify/require"
)

// An element that is first in a hidden panel fills its pane once that is shown, with numbers beside the rows.
func testHiddenPanel(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Print(strings.Repeat("line\n", 500)+"end\n", 0)}), nil)
	terminal := v.create(t, "make")
	<-terminal.Done()
	p := b.visit(t, host(t, "", v))
	const fitted = `el.text.endsWith('end\n') && (() => {
		const { clientHeight, clientWidth } = part('.screen'), rows = part('.xterm-rows')
		const screen = part('.xterm-screen'), height = rows.firstChild.getBoundingClientRect().height
		return Math.abs(parseFloat(part('.gutter').style.lineHeight) - height) < 0.1 &&
			rows.childElementCount === Math.floor(clientHeight / height) && parseFloat(rows.style.letterSpacing) < 0.1 &&
			screen.offsetWidth <= clientWidth - 14 && screen.offsetWidth > clientWidth - 14 - 10
	})()`
	p.until(fitted)
	for _, hidden := range []string{"display: none", "width: 0; overflow: hidden", "position: absolute; left: -9999px", "transform: scale(0)"} {
		for _, loaded := range []bool{true, false} {
			eval[bool](p, fmt.Sprintf(`(() => {
				document.getElementById('box')?.remove()
				const box = Object.assign(document.createElement('div'), { id: 'box', style: %q })
				const other = document.createElement('acp-terminal')
				other.setAttribute('src', el.getAttribute('src'))
				box.append(other)
				document.body.prepend(box)
				return true
			})()`, hidden))
			if loaded {
				p.until(`el.text.endsWith('end\n') && el.row?.ended > 0`)
				require.True(t, eval[bool](p, frames))
			}
			eval[bool](p, `(document.getElementById('box').style.cssText = '', true)`)
			p.until(fitted)
		}
	}
	p.requireQuiet()
}

// A page from right to left leaves commands and output from left to right.
func testRightToLeft(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"go": acptermtest.Print("ok ./...\n", 0)}), nil)
	v.create(t, "go", "test", "-v", "./...")
	p := b.visit(t, host(t, "<style>html, acp-terminal { direction: rtl }</style>", v))
	p.until(`part('.command').textContent === 'go test -v ./...' && el.text === 'ok ./...\n' && part('.xterm-rows').innerText.includes('ok')`)
	places := eval[[]float64](p, `(() => {
		const text = part('.command').firstChild, range = document.createRange()
		return [...text.data].map((_, i) => (range.setStart(text, i), range.setEnd(text, i + 1), range.getBoundingClientRect().left))
	})()`)
	require.IsIncreasing(t, places, "the command's characters")
	require.Equal(t, []string{"ltr"}, eval[[]string](p,
		`[...new Set([...el.shadowRoot.querySelectorAll('.box, .box *')].map(node => getComputedStyle(node).direction))]`))
	p.requireQuiet()
}

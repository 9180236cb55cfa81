package browsertest

// Small things that were wrong once.

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/acptermtest"
)

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

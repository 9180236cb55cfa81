package browsertest

// What makes the page fast, as far as it can be counted: how often it draws, and how many elements it has.

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/acptermtest"
)

// A frame draws the scrollbar once, the rows once, and measures all characters with one layout. A scroll is of the rows
// that are there.
func testDrawOnce(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Print("made\n", 0)}), nil)
	p := b.visit(t, v.only(v.create(t, "make")))
	p.until(`el.text === 'made\n'`)
	require.Equal(t, "sync scrolled sync rows measured", eval[string](p, `import(new URL('../assets/drawing.js', location)).then(({ drawOnce }) => {
		const did = [], frame = [], pane = document.body.appendChild(document.createElement('pre'))
		const probe = pane.appendChild(document.createElement('span'))
		const cache = { _measure() { did.push('measured') }, _measureElements: [probe], _flat: new Float32Array(256), _holey: new Map() }
		const renderer = { handleSelectionChanged() { did.push('rows') }, _widthCache: cache }
		const viewport = { _sync() { did.push('sync') }, scrollLines() { did.push('scrolled') }, scrollToLine() {} }
		drawOnce({ _core: { _renderService: { _renderer: { value: renderer }, addRefreshCallback: draw => frame.push(draw) }, _viewport: viewport } })
		for (let line = 0; line < 1000; line++) {
			viewport._sync()
			renderer.handleSelectionChanged()
		}
		viewport.scrollLines(1)
		for (let line = 0; line < 1000; line++) viewport._sync()
		for (const draw of frame.splice(0)) draw()
		renderer.handleSelectionChanged([0, 0], [1, 0])
		const width = cache._measure('a', 0)
		if (!(width > 0 && cache._flat[97] === Math.fround(width) && cache._flat[126] > 0)) did.push('not all widths')
		cache._measure('é', 0)
		pane.remove()
		return did.join(' ')
	})`))
	p.requireQuiet()
}

// The elements of a page do not grow with its output.
func testFewElements(t *testing.T, b visitor) {
	output := strings.Repeat("::group::Step\na line\n::endgroup::\n", 20_000)
	v := serve(t, made(t, acptermtest.Commands{"ci": acptermtest.Print(output+"the end\n", 0)}), nil)
	p := b.visit(t, v.only(v.createLong(t, "ci")))
	p.until(`el.row?.ended && el.text.endsWith('the end\n') && part('.loading').textContent === '' && part('.heading')`)
	require.Less(t, eval[int](p, `el.shadowRoot.querySelectorAll('*').length`), 1000)
	p.requireQuiet()
}

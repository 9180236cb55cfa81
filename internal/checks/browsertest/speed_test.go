package browsertest

// What makes the page fast, as far as it can be counted: how often it draws, how many elements it has, and what a day of
// work leaves. BenchmarkPage measures the times.

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
)

// A frame draws the scrollbar once, the rows once, and measures all characters with one layout, once for all terminals. A
// scroll is of the rows that are there. Only decorations with colours divide the cells of a row.
func testDrawOnce(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Print("made\n", 0)}), nil)
	p := b.visit(t, v.only(v.create(t, "make")))
	p.until(`el.text === 'made\n'`)
	require.Equal(t, "sync scrolled sync rows measured #ffb224", eval[string](p, `import(new URL('../assets/drawing.js', location)).then(({ drawOnce }) => {
		const did = [], frame = [], pane = document.body.appendChild(document.createElement('pre'))
		const probe = pane.appendChild(document.createElement('span'))
		class Cache {
			_measureElements = [probe]
			_flat = new Float32Array(256)
			_holey = new Map()
			_measure() { did.push('measured') }
		}
		const cache = new Cache()
		const plain = { options: {} }, found = { options: { backgroundColor: '#ffb224' } }
		const factory = { _decorationService: { forEachDecorationAtCell: (x, line, layer, callback) => [plain, found].forEach(callback) } }
		const renderer = { handleSelectionChanged() { did.push('rows') }, _widthCache: cache, _rowFactory: factory }
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
		const other = new Cache()
		if (other._measure('a', 0) !== width || other._flat[126] !== cache._flat[126]) did.push('measures again')
		factory._decorationService.forEachDecorationAtCell(0, 0, undefined, ({ options }) => did.push(options.backgroundColor ?? 'no colour'))
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

// rest returns what remains in a page after a collection of garbage.
func rest(p *page) map[string]float64 {
	for range 3 { // finalizers may free more
		_, err := chromedp.Call(p.ctx, heapprofiler.CollectGarbage, cdp.Empty{})
		require.NoError(p.t, err)
	}
	result, err := chromedp.Call(p.ctx, performance.GetMetrics, cdp.Empty{})
	require.NoError(p.t, err)
	metrics := make(map[string]float64)
	for _, metric := range result.Metrics {
		metrics[metric.Name] = metric.Value
	}
	return metrics
}

// After a day of commands, which the user has looked at, the page needs no more memory than after an hour.
func testDay(t *testing.T, _ *browser) {
	b := startBrowser(t, chromedp.Flag("js-flags", "--jitless")) // the code that V8 compiles grows for hundreds of commands
	commands := acptermtest.Commands{
		"small": acptermtest.Print("one\ntwo\n", 0), "fails": acptermtest.Print("ok\na.go:1:2: error: no such name\n", 1),
		"groups": acptermtest.Print(strings.Repeat("::group::Install\nnpm ci\n::endgroup::\n", 50), 0),
		"large":  acptermtest.Print(strings.Repeat("a line of a build that says what it does\n", 12_000), 0),
		"wide":   acptermtest.Print(strings.Repeat("\r\x1b[2K\x1b[32mneedle\x1b[0m 50 % 🙂 日本", 300)+"\n", 0),
	}
	names := []string{"small", "fails", "groups", "large", "wide"}
	texts := make(chan string, 1)
	texts <- "begin\n"
	commands["waits"] = steps(texts)
	v := serve(t, made(t, commands), &view.Options{MaxPast: 10})
	waits := v.create(t, "waits")
	p := b.open(t, v.url, look("light", 1000, 700, 1))
	_, err := chromedp.Call(p.ctx, performance.Enable, performance.EnableParams{})
	require.NoError(t, err)
	show := func(key string) {
		eval[string](p, "location.hash = "+strconv.Quote(key))
		p.until(fmt.Sprintf(`el.row?.key === %q && el.text.includes('\n') && part('.loading').textContent === ''`, key))
	}
	hour := func() map[string]float64 {
		for _, name := range names {
			terminal := v.create(t, name)
			<-terminal.Done()
			show(v.key(terminal))
			eval[bool](p, `(el.openFind(), el.find('needle').then(() => (part('.copy').click(), part('.copy').click(), true)))`)
		}
		show(v.key(waits))
		return rest(p)
	}
	hour() // loads the rest of the page
	before := hour()
	hour()
	hour()
	after := hour()
	for name, value := range hour() { // the least, because a screen may not be collected yet
		after[name] = min(after[name], value)
	}
	require.LessOrEqual(t, after["Nodes"], before["Nodes"]+100)
	require.LessOrEqual(t, after["JSEventListeners"], before["JSEventListeners"]+5)
	require.LessOrEqual(t, after["JSHeapUsedSize"], before["JSHeapUsedSize"]+1e5, "an output needs more")
	close(texts)
	p.requireQuiet()
}

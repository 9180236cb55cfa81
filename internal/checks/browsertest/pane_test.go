package browsertest

// Panes and phones: what fits, the size of a PTY, the full screen, and keys to touch.

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
)

// fills says that the screen of a PTY leaves less than a character and the scrollbar of its pane free.
const fills = `part('.screen').clientWidth - part('.xterm-screen').offsetWidth < 14 + 12 &&
	part('.screen').clientHeight - part('.xterm-screen').offsetHeight < 22`

// fits says that the pane does not scroll.
const fits = `part('.screen').scrollWidth <= part('.screen').clientWidth && part('.screen').scrollHeight <= part('.screen').clientHeight`

func testPaneSize(t *testing.T, b visitor) {
	y := serveTyping(t, &view.Options{Input: true})
	terminal := y.sh(t, `stty -echo; trap 'stty size' WINCH; stty size; while :; do sleep 0.01; done`)
	one := b.visit(t, y.only(terminal))
	one.until(`el.text === '24 80\n' && el.row.input && !part('.keys').hidden && ` + fits)
	require.Greater(t, eval[float64](one, `part('.xterm-screen').offsetHeight`), 24*16.0, "it is scaled up")
	escape := func(p tab) { clickByScript(p, `.keys [aria-label^=Esc]`) }
	const font = `getComputedStyle(part('.xterm-rows')).fontSize`
	before := eval[string](one, font)
	escape(one)
	one.until(`el.row.columns > 80 && el.text.trimEnd().endsWith(el.row.rows + ' ' + el.row.columns) && ` + fills + ` && ` + fits)
	wide := eval[int](one, "el.row.columns")
	require.Equal(t, before, eval[string](one, font), "the text keeps its size")
	one.resize(800, 500)
	one.until(fmt.Sprintf(`el.row.columns < %d && el.text.trimEnd().endsWith(el.row.rows + ' ' + el.row.columns) && `, wide) + fills)
	first := terminal.Info().Size.Columns

	other := b.visit(t, y.only(terminal))
	other.until(fmt.Sprintf(`el.row?.columns === %d && !part('.keys').hidden && `, first) + fits)
	other.resize(900, 600)
	other.until(fits)
	require.Equal(t, first, terminal.Info().Size.Columns, "who only looks does not decide")
	escape(other)
	other.until(fmt.Sprintf(`el.row.columns !== %d && part('.screen.fills') && `, first) + fills)
	second := terminal.Info().Size.Columns
	one.until(fmt.Sprintf(`el.row.columns === %d && !part('.screen.fills') && `, second) + fits)
	one.resize(1000, 700)
	one.until(fits)
	require.Equal(t, second, terminal.Info().Size.Columns)
	escape(one)
	one.until(fmt.Sprintf(`el.row.columns !== %d && `, second) + fills)
	one.requireQuiet()
}

// testSizesAtOnce lets two users decide the size at the same time. The last one decides, whatever arrives first.
func testSizesAtOnce(t *testing.T, b visitor) {
	y := serveTyping(t, &view.Options{Input: true})
	terminal := y.sh(t, `stty -echo; while :; do sleep 0.01; done`)
	one, other := b.visit(t, y.only(terminal)), b.visit(t, y.only(terminal))
	other.resize(900, 600)
	for _, p := range []tab{one, other} {
		p.until(`el.row?.input && !part('.keys').hidden && ` + fits)
	}
	escape := func(p tab) { clickByScript(p, `.keys [aria-label^=Esc]`) }
	hold := func(when string) { // the requests for a size of the first page, or the answers
		eval[bool](one, fmt.Sprintf(`(() => {
			const real = window.realFetch ??= fetch
			window.asked = false
			const held = new Promise(release => { window.release = release })
			window.fetch = async (url, options) => {
				const size = String(url).includes('/size?')
				window.asked ||= size
				if (size && %q === 'request') await held
				const response = await real(url, options)
				if (size) await held
				return response
			}
			return true
		})()`, when))
	}
	hold("answer")
	escape(one)
	one.until(`el.row.columns > 80 && ` + fills)
	first := terminal.Info().Size.Columns
	escape(other)
	other.until(fmt.Sprintf(`el.row.columns !== %d && `, first) + fills)
	second := terminal.Info().Size.Columns
	one.until(fmt.Sprintf(`el.row.columns === %d && !part('.screen.fills') && `, second) + fits)
	eval[bool](one, `(release(), true)`)
	one.resize(950, 690) // which asks for nothing
	one.until(fits)
	require.Equal(t, second, terminal.Info().Size.Columns)

	eval[bool](one, `(fetch = realFetch, true)`)
	escape(one)
	one.until(fmt.Sprintf(`el.row.columns !== %d && `, second) + fills)
	third := terminal.Info().Size.Columns
	hold("request")
	one.resize(800, 500)
	one.until(`window.asked`)
	other.until(fmt.Sprintf(`el.row.columns === %d && !part('.screen.fills')`, third))
	escape(other)
	other.until(fmt.Sprintf(`el.row.columns === %d && `, second) + fills)
	one.until(fmt.Sprintf(`el.row.columns === %d && !part('.screen.fills')`, second))
	eval[bool](one, `(release(), true)`)
	one.until(fmt.Sprintf(`el.row.columns < %d && part('.screen.fills') && `, second) + fills)
	other.until(fmt.Sprintf(`el.row.columns < %d && !part('.screen.fills') && `, second) + fits)
	one.requireQuiet()
}

// testSizeAfterAnswer delays what a page is told of the size until its own request has been answered.
func testSizeAfterAnswer(t *testing.T, b visitor) {
	y := serveTyping(t, &view.Options{Input: true}, withoutSockets)
	terminal := y.sh(t, `stty -echo; while :; do sleep 0.01; done`)
	one, other := b.visit(t, y.only(terminal)), b.visit(t, y.only(terminal))
	other.resize(900, 600)
	for _, p := range []tab{one, other} {
		p.until(`el.row?.input && !part('.keys').hidden && ` + fits)
	}
	eval[bool](one, `(() => {
		const { prototype } = ReadableStreamDefaultReader, { read } = prototype, real = fetch
		const held = new Promise(release => { window.release = release })
		window.arrived = ''
		prototype.read = async function() {
			const result = await read.call(this)
			window.arrived += result.value
			if (window.holds) await held
			return result
		}
		window.fetch = async (url, options) => {
			const response = await real(url, options)
			window.answered ||= String(url).includes('/size?')
			return response
		}
		return true
	})()`)
	escape := func(p tab) { clickByScript(p, `.keys [aria-label^=Esc]`) }
	escape(other)
	other.until(`el.row.columns > 80 && ` + fills)
	first := terminal.Info().Size.Columns
	one.until(fmt.Sprintf(`el.row.columns === %d`, first)) // the reader has been replaced
	eval[bool](one, `window.holds = true`)
	other.resize(800, 500)
	other.until(fmt.Sprintf(`el.row.columns < %d && `, first) + fills)
	second := terminal.Info().Size.Columns
	one.until(fmt.Sprintf(`arrived.includes('"columns":%d')`, second))
	require.Equal(t, first, eval[int](one, `el.row.columns`))
	escape(one)
	one.until(`window.answered`)
	eval[bool](one, `(release(), true)`)
	one.until(fmt.Sprintf(`el.row.columns > %d && part('.screen.fills') && `, first) + fills)
	other.until(fmt.Sprintf(`el.row.columns > %d && !part('.screen.fills') && `, first) + fits)
}

func testTouchKeys(t *testing.T, b visitor) {
	y := serveTyping(t, &view.Options{Input: true})
	terminal := y.sh(t, `stty raw -echo; echo ready; head -c 19 | od -c; printf '\033[?1hset'; exec sleep 600`)
	p := b.visit(t, y.only(terminal))
	p.resize(390, 844)
	p.until(`el.text.startsWith('ready') && visible(part('.keys'))`)
	press := func(names ...string) {
		for _, name := range names {
			clickByScript(p, fmt.Sprintf(`.keys [aria-label^=%q]`, name))
		}
	}
	typed := func(text string) {
		eval[bool](p, fmt.Sprintf(`part('textarea').dispatchEvent(new InputEvent('input', { inputType: 'insertText', data: %q, bubbles: true, composed: true }))`, text))
	}
	press("Esc", "Tab", "Up", "Left")
	press("Ctrl")
	p.until(`part('.keys [aria-pressed=true]')`)
	typed("c")
	p.until(`!part('.keys [aria-pressed=true]')`)
	typed("c")
	press("Ctrl", "Right")
	typed("123")
	p.until(`el.text.endsWith('set')`)
	require.Equal(t, "\x1b\t\x1b[A\x1b[D\x03c\x1b[1;5C123", strings.Join(y.requests(), ""))
	press("Down") // of application cursor keys
	require.Eventually(t, func() bool { return strings.HasSuffix(strings.Join(y.requests(), ""), "\x1bOB") }, timeout, 10*time.Millisecond)
	p.requireQuiet()
}

func testFullScreen(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Print("made\n", 0)}), nil)
	v.create(t, "make")
	p := b.visit(t, v.url)
	p.until(`el.text === 'made\n'`)
	if !eval[bool](p, `document.fullscreenEnabled`) {
		require.False(t, eval[bool](p, `visible(part('.full'))`))
		return
	}
	p.click(".full")
	p.until(`document.fullscreenElement === el || part('.note').textContent.includes('does not allow')`)
	if _, real := b.(*browser); !real && !eval[bool](p, `!!document.fullscreenElement`) {
		return // a click by script is not enough
	}
	p.until(`document.fullscreenElement === el && part('.full').getAttribute('aria-pressed') === 'true' && el.offsetHeight === innerHeight`)
	p.click(".full")
	p.until(`!document.fullscreenElement && part('.full').getAttribute('aria-pressed') === 'false' && el.offsetHeight < innerHeight`)
	p.requireQuiet()
}

// small lists the controls that are too small to touch, with their sizes. A label is a part of its control.
const small = `[...document.querySelectorAll('button, select, input, summary, nav a, #back'),
	...el?.shadowRoot?.querySelectorAll('button, input, a.whole, .typing') ?? []].filter(visible).map(node => {
		const { width, height } = (node.closest('label') ?? node).getBoundingClientRect()
		return width >= 24 && height >= 24 || node.closest('.reader') ? '' : node.outerHTML.slice(0, 80) + width + '×' + height
	}).filter(Boolean)`

func testPhones(t *testing.T, b visitor) {
	m := made(t, acptermtest.Commands{"make": acptermtest.Print(strings.Repeat("a long line ", 20)+"\nend\n", 1)})
	v := serve(t, m, &view.Options{AllowStop: true})
	terminal := v.create(t, "make", strings.Repeat("argument ", 40))
	<-terminal.Done()
	for _, width := range []int64{320, 390} {
		p := b.visit(t, v.url)
		p.resize(width, 700)
		p.until(`visible(document.querySelector('nav a')) && !visible(el)`)
		require.Empty(t, eval[[]string](p, small), width)
		require.Empty(t, eval[[]string](p, `[...document.querySelectorAll('#choices label')].filter(visible).filter(label => {
			const range = document.createRange()
			range.selectNodeContents(label.lastChild)
			return range.getClientRects().length > 1
		}).map(label => label.textContent)`), "%d: no choice is torn", width)
		require.LessOrEqual(t, eval[int](p, `document.documentElement.scrollWidth - innerWidth`), 0, width)
		eval[bool](p, "(document.querySelector('nav a').click(), true)")
		p.until(`visible(el) && el.text.endsWith('end\n') && part('.xterm-rows').innerText.includes('end') &&
			part('.screen').scrollWidth <= part('.screen').clientWidth`)
		require.Empty(t, eval[[]string](p, small), width)
		clickByScript(p, "button[aria-controls=find]")
		p.until(`visible(part('.find'))`)
		require.Empty(t, eval[[]string](p, small), width)
		require.LessOrEqual(t, eval[int](p, `document.documentElement.scrollWidth - innerWidth`), 0, width)
		require.Empty(t, eval[[]string](p, `[...el.shadowRoot.querySelectorAll('button, input, a.whole, .xterm-rows span')].filter(visible).filter(
			node => !node.closest('.reader') && node.getBoundingClientRect().right > innerWidth).map(node => node.outerHTML.slice(0, 80))`), width)
		eval[bool](p, "(document.querySelector('#back').click(), true)")
		p.until(`visible(document.querySelector('nav a')) && !visible(document.querySelector('main'))`)
		p.requireQuiet()
		p.end()
	}
}

package browsertest

// The whole kept output of a long command. The screen holds only a part of it.

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/longtest"
)

// catchCopies redirects the clipboard's texts to window.copied.
const catchCopies = `(window.copied = null,
	navigator.clipboard.writeText = async text => { copied = text },
	navigator.clipboard.write = async ([item]) => { copied = await (await item.getType('text/plain')).text() }, true)`

// top is the text of the first line on the screen.
const top = `part('.xterm-rows').firstChild.textContent.trimEnd()`

// selectedLine returns the text of the line with the active match of "1999" once another one than before is drawn, or ""
// if none is drawn.
const selectedLine = `(async () => {
	for (let frame = 0; frame < 3000; frame++) {
		await new Promise(requestAnimationFrame)
		const top = part('.match.active')?.getBoundingClientRect().top
		const rows = [...part('.xterm-rows').children]
		const text = rows.find(row => Math.abs(row.getBoundingClientRect().top - top) < 3)?.textContent ?? ''
		if (frame >= 3 && text.includes('1999') && text !== window.selected) return window.selected = text
	}
	return ''
})()`

// A window that becomes larger has more rows than when its screen was full, and still lets the user read and copy all.
func testGrowing(t *testing.T, b visitor) {
	output := strings.Repeat("line\n", 12_000)
	v := serve(t, made(t, acptermtest.Commands{"count": acptermtest.Print("first\n"+output, 0)}), nil)
	p := b.visit(t, v.only(v.create(t, "count")))
	p.resize(1000, 500)
	p.until(`part('.state').textContent === 'done' && el.text.endsWith('line\n') && visible(part('.earlier'))`)
	p.resize(1000, 900)
	p.until(`part('.xterm-rows').childElementCount > 35`)
	p.until(`visible(part('.earlier'))`)
	eval[bool](p, catchCopies)
	eval[bool](p, `el.copy().then(() => true)`)
	require.True(t, eval[string](p, `copied`) == "first\n"+output, "the copy differs")

	// A pane that gets lower while another part is written draws fewer rows, also if the browser is never idle.
	rows := eval[int](p, `part('.xterm-rows').childElementCount`)
	eval[bool](p, `(async () => {
		window.requestIdleCallback = () => 0
		const { length } = el.text, shown = el.earlier()
		while (el.text.length >= length) await new Promise(resolve => setTimeout(resolve))
		el.openFind()
		await shown
		return true
	})()`)
	p.until(fmt.Sprintf(`part('.xterm-rows').childElementCount < %d`, rows))
	p.requireQuiet()
	p.end()
}

func testWhole(t *testing.T, b visitor) {
	lines := longtest.Times(12_000, 30_000) // the screen has room for 10,000
	if _, is := b.(*browser); is {
		lines = longtest.Times(lines, 100_000) // the drivers of the other browsers are slow
	}
	var written, uncoloured strings.Builder
	for i := range lines {
		rest := fmt.Sprintf(" %d%s\n", i, strings.Repeat(" 日本\tx", i%4))
		fmt.Fprintf(&written, "\x1b[3%dmline\x1b[0m%s", i%8, rest)
		uncoloured.WriteString("line" + rest)
	}
	plain := uncoloured.String()
	v := serve(t, made(t, acptermtest.Commands{"count": acptermtest.Print(written.String(), 0)}), nil)
	limit := uint64(8 << 20)
	terminal, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "count",
		OutputByteLimit: &limit}, nil)
	require.NoError(t, err)
	<-terminal.Done()
	p := b.visit(t, v.only(terminal))
	p.until(`el.text.endsWith('999 日本\tx 日本\tx 日本\tx\n') && visible(part('.cut')) && visible(part('.earlier')) && !visible(part('.later'))`)
	require.True(t, eval[string](p, `fetch(part('.whole').href).then(r => r.text())`) == plain, "the text differs")

	// Copying everything.
	eval[bool](p, catchCopies)
	eval[bool](p, `el.copy().then(() => true)`)
	require.True(t, eval[string](p, `copied`) == plain, "the copy differs")

	// If it is requested several times at once, as by the mouse wheel, a part is shown once.
	eval[bool](p, `Promise.all([1, 2, 3].map(() => el.earlier())).then(() => true)`)
	require.Contains(t, plain, strings.TrimSuffix(eval[string](p, `el.text`), "\n"))
	eval[bool](p, `(part('.to-end').click(), true)`)
	p.until(`el.following && visible(part('.earlier')) && el.text.endsWith('999 日本\tx 日本\tx 日本\tx\n')`)

	// Reading from the end to the beginning and back with the keyboard, without missing a line.
	press := func(key string) {
		eval[bool](p, fmt.Sprintf(`(part('textarea').focus(), part('textarea').dispatchEvent(
			new KeyboardEvent('keydown', { key: %q, code: %[1]q, keyCode: %d, bubbles: true, composed: true })) || true)`, key,
			map[string]int{"Home": 36, "ArrowUp": 38, "PageDown": 34, "End": 35}[key]))
	}
	lineOf := func(text string) (n int) {
		fmt.Sscanf(text, "line %d", &n)
		return n
	}
	first := lines - 1
	for steps := 0; first > 0; steps++ {
		require.Less(t, steps, 100)
		press("Home") // to the top of the screen's lines
		p.until(`part('.xterm-rows').firstChild.textContent.startsWith('line') && ` +
			`el.text.startsWith(` + top + `.split(' ').slice(0, 2).join(' '))`)
		at := lineOf(eval[string](p, top))
		require.Less(t, at, first)
		first = at
		text := eval[string](p, `el.text`)
		require.Contains(t, plain, strings.TrimSuffix(text, "\n"), "what the screen has is a part of the output")
		if first == 0 {
			break
		}
		press("ArrowUp") // beyond it
		p.until(fmt.Sprintf(`Number(el.text.match(/^line (\d+)/)?.[1]) < %d && Math.abs(%s.match(/\d+/)[0] - %[1]d) <= 2`, first, top) + ` &&
			part('.cut').textContent.startsWith('Lines ' + (Number(el.text.match(/^line (\d+)/)[1]) + 1).toLocaleString('en') + '–')`)
	}
	require.False(t, eval[bool](p, `visible(part('.earlier'))`))
	for steps := 0; !eval[bool](p, `!visible(part('.later'))`); steps++ {
		require.Less(t, steps, 100)
		last := eval[int](p, `Number(el.text.match(/(\d+)[^\d]*$/)[1])`)
		eval[bool](p, `(part('.later').click(), true)`)
		p.until(fmt.Sprintf(`!visible(part('.later')) || Number(el.text.match(/(\d+)[^\d]*$/)[1]) > %d &&
			Math.abs(%[2]s.match(/\d+/)[0] - (%[1]d - part('.xterm-rows').children.length)) <= 3`, last, top))
	}
	p.until(`el.following && el.text.endsWith('999 日本\tx 日本\tx 日本\tx\n')`)

	// Finding each of a few distant matches, in both directions, and around the end.
	eval[bool](p, `(el.openFind(), part('.find input').value = '1999', true)`)
	var all []int
	for i := range lines {
		if strings.Contains(fmt.Sprint(i), "1999") {
			all = append(all, i)
		}
	}
	for _, backwards := range []bool{true, false} {
		seen := make(map[string]int)
		for range 2 * len(all) {
			require.True(t, eval[bool](p, fmt.Sprintf(`el.find('1999', %t)`, backwards)))
			row := eval[string](p, selectedLine)
			seen[row]++
		}
		require.Len(t, seen, len(all), "%v", seen)
		for row, times := range seen {
			require.Equal(t, 2, times, row)
		}
	}
	p.until(fmt.Sprintf(`part('.count').textContent.endsWith(' of %d')`, len(all)))
	require.False(t, eval[bool](p, `el.find('no such text')`))
	eval[bool](p, `(part('.to-end').click(), true)`)
	p.until(`el.following && el.text.endsWith('999 日本\tx 日本\tx 日本\tx\n')`)
	p.end()
}

// selectAndCopy selects from the second line to the first character of the line "end", and copies that.
const selectAndCopy = `(async () => {
	const { left, top } = part('.xterm-screen').getBoundingClientRect()
	const rows = [...part('.xterm-rows').children]
	const end = rows.findLast(row => row.textContent.startsWith('end')).getBoundingClientRect()
	const mouse = (target, type, clientX, clientY) => target.dispatchEvent(new MouseEvent(type, {
		clientX, clientY, button: 0, buttons: 1, detail: 1, bubbles: true, composed: true, cancelable: true }))
	mouse(part('.xterm-screen'), 'mousedown', left + 1, rows[1].getBoundingClientRect().top + 3)
	mouse(document, 'mousemove', left + 9, end.top + 3)
	mouse(document, 'mouseup', left + 9, end.top + 3)
	let copied = ''
	const event = new Event('copy', { bubbles: true, composed: true, cancelable: true })
	event.clipboardData = { setData(_, text) { copied = text } }
	part('textarea').dispatchEvent(event)
	return copied
})()`

func testCopies(t *testing.T, b visitor) {
	written := "a\tb\n\tif x {\n\t\treturn\t// y\n\t}\nwide 日本\t|\n      spaces  stay  \n" + strings.Repeat("long 日本 ", 60) +
		"\n" + strings.Repeat("本", 150) + "\nend\n"
	v := serve(t, made(t, acptermtest.Commands{"cat": acptermtest.Print(written, 0)}), nil)
	p := b.visit(t, v.only(v.create(t, "cat")))
	p.until(`el.text.endsWith('end\n')`)
	require.Equal(t, written, eval[string](p, `el.text`))
	eval[bool](p, catchCopies)
	eval[bool](p, `el.copy().then(() => true)`)
	require.Equal(t, written, eval[string](p, `copied`))

	// The same for a selection by mouse, once the page is drawn at its size.
	p.until(`[...part('.xterm-rows').children].some(row => row.textContent.startsWith('end'))`)
	want := strings.TrimPrefix(strings.TrimSuffix(written, "nd\n"), "a\tb\n")
	require.Eventually(t, func() bool { return eval[string](p, selectAndCopy) != "" }, timeout, 20*time.Millisecond)
	require.Equal(t, want, eval[string](p, selectAndCopy))

	// At other widths, at some of which a wide character does not fit into the end of a row.
	for width := int64(1370); width >= 1070; width -= 30 {
		before := eval[int](p, `part('.xterm-screen').offsetWidth`)
		p.resize(width, 700)
		p.until(fmt.Sprintf(`part('.xterm-screen').offsetWidth !== %d`, before))
		require.Equal(t, written, eval[string](p, `el.text`), width)
	}
	p.end()
}

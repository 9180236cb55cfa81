package browsertest

// How output is laid out: at words, in groups, in a pane that ends with it, and with addresses that look like links.

import (
	"fmt"
	"strings"
	"testing"

	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
	"github.com/stretchr/testify/require"
)

// drawn is the text of the rows on the screen, with the spaces before it.
const drawn = `[...part('.xterm-rows').children].map(row => row.textContent.replaceAll('\u00a0', ' ').trimEnd()).filter(Boolean)`

// Lines wrap at words and go on with an indent, in a window of any width. All that reads them sees the line as written.
func testWords(t *testing.T, b visitor) {
	line := strings.TrimSpace(strings.Repeat("the minification of an internationalization  of words ", 8))
	address := "https://example.com/" + strings.Repeat("a/long/path/", 12) + "end"
	want := line + "\n" + address + " \n" + strings.Repeat("x", 200) + "\nlast"
	texts := make(chan string, 9)
	v := serve(t, made(t, acptermtest.Commands{"make": steps(texts), "again": acptermtest.Print(want, 0)}), nil)
	p := b.visit(t, v.only(v.create(t, "make")))
	p.resize(390, 844)
	for i := 0; i < len(line); i += 100 { // words are split between messages
		texts <- line[i:min(i+100, len(line))]
	}
	texts <- "\n\x1b[31m" + address + "\x1b[0m \n" + strings.Repeat("x", 200) + "\nlast"
	wraps := func() {
		t.Helper()
		for _, width := range []int64{390, 320, 1000, 500} {
			p.resize(width, 844)
			p.until(fmt.Sprintf(`Math.abs(innerWidth - %d) < 200 && el.text === %q`, width, want))
			p.until(fmt.Sprintf(`(rows => {
				const end = rows.findIndex(row => row.trim().startsWith('https:'))
				return end > 1 && rows.slice(0, end).map(row => row.trim()).join(' ').replaceAll('  ', ' ') === %q
					&& rows.slice(1, end).every(row => /^  \S/.test(row)) && rows.at(-1) === 'last'
			})(%s)`, strings.ReplaceAll(line, "  ", " "), drawn))
			p.until(`part('.address') && el.shadowRoot.querySelectorAll('.address').length === ` + fmt.Sprintf(`%s.filter(row => /^(https:|  \S*\/)/.test(row)).length`, drawn))
		}
	}
	wraps()
	eval[bool](p, `(el.openFind(), part('.find input').value = 'path/end', el.find('path/end'))`)
	p.until(`part('.count').textContent === '1 of 1' && part('.match.active')`)
	close(texts)
	p.until(`el.row?.ended`)
	another := v.create(t, "again")
	eval[bool](p, fmt.Sprintf(`(el.setAttribute('src', %q), true)`, v.view.TerminalPath(another.SessionID(), another.ID())))
	p.until(`part('.command').textContent === 'again' && el.row.ended`)
	wraps() // also on the page's next screen
	p.requireQuiet()
}

// underlined lists the texts that have a line below them.
const underlined = `[...el.shadowRoot.querySelectorAll('.address')].filter(line => visible(line) && getComputedStyle(line).borderBottomStyle === 'solid').map(line => {
	const { left, right, bottom } = line.getBoundingClientRect()
	const row = [...part('.xterm-rows').children].find(row => Math.abs(row.getBoundingClientRect().bottom - bottom) < 3)
	const { x, width } = row?.firstChild.getBoundingClientRect() ?? {}, cell = width / row?.firstChild.textContent.length
	return row?.textContent.slice(Math.round((left - x) / cell), Math.round((right - x) / cell))
}).join(' ')`

// Addresses are underlined without a pointer over them, also on a phone, and if they arrive in pieces.
func testUnderlined(t *testing.T, b visitor) {
	texts := make(chan string)
	v := serve(t, made(t, acptermtest.Commands{"make": steps(texts)}), nil)
	p := b.visit(t, v.only(v.create(t, "make")))
	p.resize(390, 844)
	texts <- "see http://a.example/b?c=1, or example.com\nand https"
	p.until(underlined + ` === 'http://a.example/b?c=1'`)
	texts <- "://d.example/e\n"
	p.until(underlined + ` === 'http://a.example/b?c=1 https://d.example/e'`)
	close(texts)
	p.until(`el.row?.ended`)
	p.requireQuiet()
	p.end()

	// Places, whose parts may have colours, and no calls in code.
	v = serve(t, made(t, acptermtest.Commands{"tsc": acptermtest.Print("\x1b[96ma.ts\x1b[0m:\x1b[93m3\x1b[0m:\x1b[93m7\x1b[0m - no\nf(1).toBe(4)\n", 0)}),
		&view.Options{Editor: "vscode://file{file}:{line}:{column}"})
	p = b.visit(t, v.only(v.create(t, "tsc")))
	p.until(underlined + ` === 'a.ts:3:7'`)
	p.requireQuiet()
}

// The pane ends with its output, and has room for the menu.
func testPaneEnd(t *testing.T, b visitor) {
	texts := make(chan string)
	v := serve(t, made(t, acptermtest.Commands{"make": steps(texts)}), nil)
	p := b.visit(t, v.url)
	v.create(t, "make")
	const used = `part('.box').offsetHeight / el.offsetHeight`
	texts <- "one\ntwo\n"
	p.until(`el.text === 'one\ntwo\n' && ` + used + ` < 0.5`)
	eval[bool](p, `(part('.copy').click(), true)`)
	p.until(`(() => {
		const last = [...part('.menu').children].filter(visible).at(-1), { left, bottom } = last.getBoundingClientRect()
		return el.shadowRoot.elementFromPoint(left + 9, bottom - 9) === last
	})()`)
	eval[bool](p, `(part('.copy').click(), true)`)
	texts <- strings.Repeat("more\n", 100) + "end\n"
	p.until(`el.text.endsWith('end\n') && ` + used + ` === 1 && ` + drawn + `.at(-1) === 'end'`)
	close(texts)
	p.until(`el.row?.ended`)
	p.requireQuiet()
}

// The lines of a group are indented on the screen, and its heading stays in view.
func testGroupLook(t *testing.T, b visitor) {
	texts := make(chan string, 1)
	v := serve(t, made(t, acptermtest.Commands{"ci": steps(texts)}), nil)
	p := b.visit(t, v.only(v.create(t, "ci")))
	texts <- "before\nsection_start:10:a\rOuter\none\n\ttab\nsection_start:10:b\rInner\ntwo\n" + strings.Repeat("long\n", 100) +
		"section_end:11:b\r\nsection_end:12:a\r\nend\n"
	p.until(`el.text.startsWith('before\n▾ Outer\none\n\ttab\n▾ Inner\ntwo\nlong\n') && el.text.endsWith('long\nend\n')`)
	p.until(`visible(part('.top')) && part('.top').textContent === '▾ Outer › Inner'`)
	require.Less(t, eval[float64](p, `Math.abs(part('.top').getBoundingClientRect().top - part('.xterm-rows').getBoundingClientRect().top)`), 2.0)
	eval[bool](p, `(part('.top').click(), true)`)
	p.until(`part('.top').textContent === '▾ Outer' && ` + drawn + `[0] === '  ▾ Inner' && ` + drawn + `[1] === '    two'`)
	eval[bool](p, `(part('.xterm textarea').focus(), true)`)
	eval[bool](p, pressed("Home"))
	p.until(`!visible(part('.top')) && ` + drawn + `.slice(0, 4).join('|') === 'before|▾ Outer|  one|        tab'`)
	require.Equal(t, "solid", eval[string](p, `getComputedStyle(part('.heading')).borderTopStyle`))
	close(texts)
	p.until(`el.row?.ended`)
	p.requireQuiet()
}

// Many groups are there soon: the places of all of them take one listener, not one each.
func testManyGroups(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"ci": acptermtest.Print("::group::One\nline\n::endgroup::\n", 0)}), nil)
	p := b.visit(t, v.only(v.create(t, "ci")))
	p.until(`el.row?.ended && el.text === '▾ One\nline\n'`)
	require.Equal(t, 20_000, eval[int](p, `import(new URL('../assets/groups.js', location)).then(({ Groups }) => {
		const groups = new Groups(new Set(), new Set())
		return [...groups.pieces('::group::Step\nline\n::endgroup::\n'.repeat(20_000))].filter(({ group }) => group).length
	})`))
	require.True(t, eval[bool](p, `import(new URL('../assets/rows.js', location)).then(({ Rows }) => {
		const listeners = []
		const on = listener => listeners.push(listener)
		const lines = { onTrim: on, onInsert: on, onDelete: on }, active = { baseY: 0, cursorY: 0 }
		const rows = new Rows({ _core: { buffers: { normal: { lines } } }, buffer: { active } })
		const places = Array.from({ length: 20_000 }, (_, row) => rows.at(row))
		listeners[0](5)
		listeners[1]({ index: 10, amount: 2 })
		listeners[2]({ index: 0, amount: 1 })
		return listeners.length === 3 && places[4].line === -1 && places[5].line === -1 && places[6].line === 0 && places[20].line === 16
	})`))
	p.requireQuiet()
}

// Tests fold: those of Go, sections and failures of pytest, files of Jest, and the tests and failures of cargo.
func testTestGroups(t *testing.T, b visitor) {
	commands := make(acptermtest.Commands)
	runners := map[string][2]string{
		"go": {"=== RUN   TestA\n=== RUN   TestA/sub\nlog\n--- PASS: TestA (0.00s)\n    --- PASS: TestA/sub (0.00s)\n=== RUN   TestB\nlog\n--- PASS: TestB (0.00s)\nPASS\nok  \tshop\t0.1s\n",
			"▸ === RUN   TestA\n▸ === RUN   TestB\nPASS\nok  \tshop\t0.1s\n"},
		"pytest": {"==== test session starts ====\ncollected 2 items\ntest_a.py F.\n==== FAILURES ====\n____ test_x ____\nE   assert 1\n____ test_y ____\nE   assert 2\n==== 2 failed in 0.12s ====\n",
			"▸ ==== test session starts ====\n▸ ==== FAILURES ====\n==== 2 failed in 0.12s ====\n"},
		"jest": {"PASS src/a.test.js\n  ok\nFAIL src/b.test.ts (5.1 s)\n  bad\nTest Suites: 1 failed\n",
			"▸ PASS src/a.test.js\n▸ FAIL src/b.test.ts (5.1 s)\nTest Suites: 1 failed\n"},
		"cargo": {"running 2 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\nno\n\nfailures:\n    b\n",
			"▸ running 2 tests\nfailures:\n\n▸ ---- b stdout ----\nfailures:\n    b\n"},
		"none": {"running late\n=== \n==> x\nPASS the salt\n", "running late\n=== \n==> x\nPASS the salt\n"},
	}
	for name, runner := range runners {
		commands[name] = acptermtest.Print(runner[0], 0)
	}
	v := serve(t, made(t, commands), nil)
	for name, runner := range runners {
		p := b.visit(t, v.only(v.create(t, name)))
		p.until(fmt.Sprintf(`el.row?.ended && el.text.replaceAll('▾ ', '') === %q`, runner[0]))
		if name != "none" {
			eval[bool](p, `(part('.copy').click(), part('.fold-all').click(), true)`)
		}
		p.until(fmt.Sprintf(`el.text === %q`, runner[1]))
		p.requireQuiet()
		p.end()
	}
}

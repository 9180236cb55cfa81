package browsertest

// Small things that were wrong once: in hidden panels, in pages from right to left, and while output is read again.

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
)

// An element that is first in a hidden panel fills its pane once that is shown, with numbers beside the rows.
func testHiddenPanel(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Print(strings.Repeat("line\n", 500)+"end\n", 0)}), nil)
	terminal := v.create(t, "make")
	<-terminal.Done()
	p := b.visit(t, host(t, "", v))
	const fitted = `el.text.endsWith('end\n') && el.following && !visible(part('.to-end')) && (() => {
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

// Signs of errors, in the forms of common programs, and lines of ordinary output that are like them.
func testErrorSigns(t *testing.T, b visitor) {
	signs := []string{
		"src/a.ts(3,7): error TS2322: Type 'string' is not assignable", "src/a.ts:3:7 - error TS2322: Type", "error TS5023: Unknown option",
		"error CS1002: ; expected", "Program.cs(5,10): error CS1002: ; expected [/src/app.csproj]", "MSBUILD : error MSB1009: no such project",
		"LINK : fatal error LNK1104: cannot open file", "main.cpp(12): error C2065: 'x': undeclared identifier",
		"sh: 1: x: not found", "/bin/sh: 1: x: not found", "./run: 3: x: not found", "-ash: x: not found", "zsh: command not found: x",
		"bash: line 1: x: command not found", "'x' is not recognized as an internal or external command,", "sh: 1: ./x: Permission denied",
		"cat: x: No such file or directory", "  3:7  error  'x' is not defined  no-undef", "[ERROR] COMPILATION ERROR :",
		"FAILURE: Build failed with an exception.", "CMake Error at CMakeLists.txt:3 (find_package):", "E       assert 1 == 2",
		"thread 'main' panicked at src/main.rs:2:5:", "main.c:(.text+0x5): undefined reference to `f'", "make: *** No rule to make target 'x'.",
		"./main.go:3:2: undefined: x", "./main.go:3:2: declared and not used: x", `a.go:3:8: "os" imported and not used`,
		"vet: ./a.go:3:2: undefined: x", "a.go:3:30: cannot use 5 (untyped int constant) as string value in return statement",
		"a.go:9:1: missing return", "a.go:7:2: ineffectual assignment to x (ineffassign)", "a.py:1:8: F401 [*] `os` imported but unused",
		"F401 [*] `os` imported but unused", "E501 Line too long (99 > 88)", "a.py:1:0: C0114: Missing module docstring",
		"a.rb:1:1: C: Style/StringLiterals: Prefer", "     Failure/Error: expect(total).to eq 4", "[  FAILED  ] Cart.Total (0 ms)",
		"[error] /w/a.scala:3:5: not found: value x", "e: file:///w/a.kt:3:5 Unresolved reference", "E: Unable to locate package x",
		"panic: no", "error[E0308]: mismatched types", "--- FAIL: TestPay (0.00s)",
	}
	ordinary := []string{
		"0 errors", "no error TS2322: found", "found 0 errors in 3 files", "error handling of TS2322: done", "error codes: none",
		"test.ts(3,7): warning TS6133: unused", "  3:7  warning  unexpected console  no-console", "checking for gcc... not found",
		"	libfoo.so => not found", "GET /x 404 not found", "page not found", "./x.go:5:6: can inline main", "x.go:3: log of undefined: y",
		"./x.go:5:6: inlining call to f", "./x.go:5:6: x does not escape", "./x.go:5:6: &y escapes to heap", "./x.go:3:2: moved to heap: y",
		"    a_test.go:5: a log", "	a.go:3:7: other declaration of x", "HTTP200 OK", "ISO9001 is met", "12:30:01: E2E tests",
		"the value is undefined: fine", "permission denied is tested", "E2E tests", "EXPECTED", "ok  	shop	0.1s", "12:30 error rates are low",
		"imported and not used", "12 rules, no rule failed to load",
	}
	v := serve(t, made(t, nil), nil)
	p := b.visit(t, v.url)
	which := func(lines []string, told bool) (found []string) { // pytest writes "FAILURES" before its lines
		encoded, err := json.Marshal(lines)
		require.NoError(t, err)
		return eval[[]string](p, fmt.Sprintf(`import(new URL('assets/firsterror.js', location)).then(({ isError, mayTell }) =>
			%s.filter(line => (isError(line) && (!%t || mayTell.test(line) || line.startsWith('E '))) === %[2]t))`, encoded, told))
	}
	require.Equal(t, signs, which(signs, true))
	require.Equal(t, ordinary, which(ordinary, false))
	p.requireQuiet()
}

// Control F opens the find bar before a click on the terminal, also from the list. Without output, the key is the browser's.
func testFindFirst(t *testing.T, b visitor) {
	m := acptermtest.NewManager(t, &acpterm.Options{
		Runner: acptermtest.Commands{"make": acptermtest.Print("made\n", 0), "rm": acptermtest.Block}, Policy: denyRemovals,
	})
	v := serve(t, m, nil)
	press := func(p tab, control bool) bool { // reports whether the page has used the key
		return eval[bool](p, fmt.Sprintf(`!(document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent('keydown',
			{ key: 'f', ctrlKey: %t, bubbles: true, composed: true, cancelable: true }))`, control))
	}
	for _, url := range []string{v.only(v.create(t, "make")), v.url} {
		p := b.visit(t, url)
		p.until(`el.text === 'made\n'`)
		eval[bool](p, `(document.querySelector('nav a')?.focus(), true)`) // in the list, if there is one
		require.False(t, press(p, false))
		require.False(t, eval[bool](p, `visible(part('.find'))`))
		require.True(t, press(p, true), "the page uses Control F")
		p.until(`visible(part('.find')) && el.shadowRoot.activeElement === part('.find input')`)
		p.requireQuiet()
		p.end()
	}

	_, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "session-1", Command: "rm"}, nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
	p := b.visit(t, v.url)
	p.until(`part('.state').textContent === 'denied'`)
	require.False(t, press(p, true), "the browser can use it")
	require.False(t, eval[bool](p, `visible(part('.find'))`))
}

// Opening Find leaves a match in view where it is, or scrolls by what the bar takes.
func testFindInPlace(t *testing.T, b visitor) {
	var lines strings.Builder
	for i := range 300 {
		fmt.Fprintf(&lines, "line-%d.\n", i)
	}
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Print(lines.String(), 0)}), nil)
	p := b.visit(t, v.only(v.create(t, "make")))
	p.until(`el.row?.ended && el.text.endsWith('line-299.\n') && part('.xterm-rows').innerText.includes('line-299.')`)
	press := func(keys ...string) {
		for _, key := range keys {
			eval[bool](p, fmt.Sprintf(`part('.xterm textarea').dispatchEvent(new KeyboardEvent('keydown', { key: %q, bubbles: true, cancelable: true })) || true`, key))
		}
		eval[bool](p, frames)
	}
	const first, count = `Number(part('.xterm-rows').firstChild.textContent.match(/\d+/)[0])`, `part('.xterm-rows').childElementCount`
	const inView = `(() => {
		const mark = part('.match.active').getBoundingClientRect(), screen = part('.xterm-screen').getBoundingClientRect()
		return mark.top > screen.top - 2 && mark.bottom < screen.bottom + 2
	})()`
	open := func(text string) {
		eval[bool](p, fmt.Sprintf(`(part('.find input').value = %q, el.openFind(), true)`, text))
		p.until(`part('.count').textContent === '1 of 1' && ` + inView)
		eval[bool](p, frames)
		require.True(t, eval[bool](p, inView), text)
	}
	press("Home", "PageDown", "PageDown", "PageDown", "ArrowUp")
	top := eval[int](p, first)
	require.Greater(t, top, 30)

	rows := eval[int](p, count)
	eval[bool](p, `(el.openFind(), true)`)
	p.until(fmt.Sprintf(`%s < %d`, count, rows))
	eval[bool](p, fmt.Sprintf(`(part('.find input').value = 'line-%d.', part('.find input').dispatchEvent(new Event('input')))`, top))
	p.until(`part('.count').textContent === '1 of 1' && ` + inView)
	require.Equal(t, top, eval[int](p, first), "the match in the top row")
	shut := func() {
		rows := eval[int](p, count)
		eval[bool](p, `(part('.find [aria-label=Close]').click(), true)`)
		p.until(fmt.Sprintf(`!visible(part('.find')) && %s > %d`, count, rows))
	}
	shut()
	open(fmt.Sprintf("line-%d.", top)) // from before
	require.Equal(t, top, eval[int](p, first), "the match in the top row")
	shut()
	open(fmt.Sprintf("line-%d.", top+eval[int](p, count)-1))
	require.InDelta(t, top, eval[int](p, first), 5, "the match in the last row")
	shut()
	press("End")
	p.until(`el.following`)
	top = eval[int](p, first)
	open(fmt.Sprintf("line-%d.", top))
	require.InDelta(t, top, eval[int](p, first), 5, "the match in the top row, at the end")
	p.requireQuiet()
}

// holdSockets makes new sockets wait in window.held, which has a function for each that connects it.
const holdSockets = `(() => {
	const Real = WebSocket
	window.held = []
	window.WebSocket = class {
		static CONNECTING = 0
		static OPEN = 1
		constructor(address) {
			held.push(() => {
				this.real = new Real(address)
				for (const name of ['onopen', 'onclose', 'onmessage']) this.real[name] = event => this[name]?.(event)
			})
		}
		get readyState() { return this.real?.readyState ?? 0 }
		send(text) { this.real.send(text) }
		close() { this.real?.close() }
	}
	return true
})()`

// A copy is of all output also while a fold has it read again, and if it began before.
func testCopyWhileFolding(t *testing.T, b visitor) {
	const output = "begin\n::group::Install\nnpm ci\n::endgroup::\nend\n"
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Print(output, 0)}), nil)
	p := b.visit(t, v.only(v.create(t, "make")))
	p.until(`el.row?.ended && el.text === 'begin\n▾ Install\nnpm ci\nend\n' && ` + headingOf("Install"))
	eval[bool](p, catchCopies)
	eval[bool](p, holdSockets)
	whole := func(when string) {
		t.Helper()
		p.until(`copied !== null || part('.note').textContent !== ''`)
		require.Equal(t, "Copied the output", eval[string](p, `part('.note').textContent`), when)
		require.Equal(t, output, eval[string](p, `copied`), when)
		eval[bool](p, `(copied = null, part('.note').textContent = '', true)`)
	}
	release := func(text string) {
		eval[bool](p, `(held.splice(0).forEach(connect => connect()), true)`)
		p.until(fmt.Sprintf(`el.text === %q && %s`, text, headingOf("Install")))
	}
	onHeading(p, "Install", `heading.click()`)
	p.until(`held.length > 0`)
	eval[bool](p, `el.copy().then(() => true)`)
	whole("while the output is read again")
	release("begin\n▸ Install\nend\n")

	eval[bool](p, `(() => { // the answer to the copy's request arrives after the fold
		const real = fetch, read = new Promise(resolve => { window.respond = resolve })
		window.fetch = async (url, options) => {
			if (String(url).includes('/text')) await read
			return real(url, options)
		}
		return true
	})()`)
	onHeading(p, "Install", `el.copy(), heading.click()`)
	p.until(`held.length > 0`)
	eval[bool](p, `(respond(), true)`)
	whole("begun before")
	release("begin\n▾ Install\nnpm ci\nend\n")
	p.requireQuiet()
}

// A download has the bytes that the command wrote. A copy and “Open as text” have the characters that the page shows for
// them.
func testBytesAsWritten(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"cat": acptermtest.Print("a\xffb\xe2\x9c\n::group::c\n\xf0\x9f\x98\n::endgroup::\n", 0)}), nil)
	p := b.visit(t, v.only(v.create(t, "cat")))
	p.until(`el.row?.ended && el.text === 'a\ufffdb\ufffd\ufffd\n▾ c\n\ufffd\ufffd\ufffd\n'`)
	require.Equal(t, "61ff62e29c0a3a3a67726f75703a3a630af09f980a3a3a656e6467726f75703a3a0a", eval[string](p, `fetch(part('.download').href).then(
		response => response.arrayBuffer()).then(all => [...new Uint8Array(all)].map(byte => byte.toString(16).padStart(2, '0')).join(''))`))
	const text = "a\ufffdb\ufffd\ufffd\n::group::c\n\ufffd\ufffd\ufffd\n::endgroup::\n"
	require.Equal(t, text, eval[string](p, `fetch(part('.whole').href).then(response => response.text())`))
	eval[bool](p, catchCopies)
	eval[bool](p, `el.copy().then(() => true)`)
	require.Equal(t, text, eval[string](p, `copied`))
	p.requireQuiet()
}

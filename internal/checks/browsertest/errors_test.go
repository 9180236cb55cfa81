package browsertest

// The errors of a run, collected: their number, the list, and the ways to each of them.

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
)

// f8 presses F8 on the page.
func f8(p tab, shift bool) {
	p.test().Helper()
	eval[bool](p, fmt.Sprintf(`document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'F8', shiftKey: %v, bubbles: true, cancelable: true })) || true`, shift))
}

// listed is the text of the list of errors.
const listed = `[...part('.errors ol').children].map(item => item.innerText.trim().replace(/\s+/g, ' ')).join(' | ')`

// The number of errors is in the header, also while the command runs. A list, buttons and keys lead to each.
func testErrors(t *testing.T, b visitor) {
	texts := make(chan string)
	v := serve(t, made(t, acptermtest.Commands{"make": steps(texts)}), nil)
	p := b.visit(t, v.only(v.create(t, "make")))
	texts <- "cc main.c\nmain.c:3:5: error: one\n" + strings.Repeat("fine\n", 60)
	p.until(`part('.first-error').textContent === '1 error' && visible(part('.first-error'))`)
	texts <- "\x1b[31ma.ts(7,1): err"
	texts <- "or TS2322: two\x1b[0m\r\n::group::tests\n" + strings.Repeat("ok\n", 60) + "--- FAIL: TestThree (0.00s)\n::endgroup::\nFAIL\nmake: *** [all] Error 1\n"
	p.until(`part('.first-error').textContent === '3 errors' && el.text.endsWith('make: *** [all] Error 1\n')`) // with its groups
	eval[bool](p, `(part('.copy').click(), part('.fold-all').click(), true)`)
	p.until(`el.text.endsWith('▸ tests\nFAIL\nmake: *** [all] Error 1\n')`)
	close(texts)
	p.until(`part('.state').textContent === 'done' && !visible(part('.first-error'))`)

	v = serve(t, made(t, acptermtest.Commands{"make": acptermtest.Print("cc main.c\nmain.c:3:5: error: one\n"+strings.Repeat("fine\n", 60)+
		"\x1b[31ma.ts(7,1): error TS2322: two\x1b[0m\r\nsection_start:1:t[collapsed=true]\rtests\n--- FAIL: TestThree (0.00s)\nsection_end:2:t\r\nend\n", 2)}), nil)
	p.end()
	p = b.visit(t, v.only(v.create(t, "make")))
	p.until(`part('.first-error').textContent === '3 errors' && visible(part('.first-error')) && !visible(part('.errors'))`)
	eval[bool](p, `(part('.first-error').click(), true)`)
	p.until(marked + ` === 'main.c:3:5: error: one' && visible(part('.errors'))`)
	require.Equal(t, "2 main.c:3:5: error: one | 63 a.ts(7,1): error TS2322: two | 65 --- FAIL: TestThree (0.00s)", eval[string](p, listed))
	require.Equal(t, "1 of 3", eval[string](p, `part('.errors .count').textContent`))
	f8(p, false)
	p.until(marked + ` === 'a.ts(7,1): error TS2322: two' && part('.errors [aria-current]').textContent.includes('two')`)
	f8(p, false)
	p.until(marked + ` === '--- FAIL: TestThree (0.00s)'`) // in a folded group
	f8(p, false)
	p.until(marked + ` === 'main.c:3:5: error: one'`)
	f8(p, true)
	p.until(marked + ` === '--- FAIL: TestThree (0.00s)' && part('.errors .count').textContent === '3 of 3'`)
	clickByScript(p, ".errors [aria-label='Previous error']")
	p.until(marked + ` === 'a.ts(7,1): error TS2322: two'`)
	clickByScript(p, ".errors li:first-child button")
	p.until(marked + ` === 'main.c:3:5: error: one' && location.hash === '#L2'`)
	p.resize(390, 844)
	p.until(`part('.errors .count').getBoundingClientRect().bottom <= part('.errors ol').getBoundingClientRect().top`)
	eval[bool](p, `(part('.errors li button').focus(), true)`)
	eval[bool](p, pressed("Escape"))
	p.until(`!visible(part('.errors')) && el.shadowRoot.activeElement === part('.first-error')`)
	p.requireQuiet()
}

// The list has the errors of all output that is kept, also of what the page has not seen.
func testErrorsOfLong(t *testing.T, b visitor) {
	var long strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&long, "line %d\n", i+1)
		if i%5000 == 2500 {
			fmt.Fprintf(&long, "main.c:%d: error: bad\n", i)
		}
	}
	v := serve(t, made(t, acptermtest.Commands{"long": acptermtest.Print(long.String(), 2)}), nil)
	all := v.createLong(t, "long")
	limit := uint64(100_000)
	some, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "long", OutputByteLimit: &limit}, nil)
	require.NoError(t, err)
	<-all.Done()
	<-some.Done()
	p := b.visit(t, v.only(all))
	p.until(`part('.first-error').textContent === '6 errors'`)
	eval[bool](p, `(part('.first-error').click(), true)`)
	p.until(marked + `?.startsWith('main.c:2500:')`)
	f8(p, true)
	p.until(marked + `?.startsWith('main.c:27500:')`)
	p.end()
	p = b.visit(t, v.only(some))
	p.until(`part('.first-error').textContent === '2 errors'`)
	eval[bool](p, `(part('.first-error').click(), true)`)
	p.until(marked + `?.startsWith('main.c:22500:')`)
	p.requireQuiet()
}

// Common tools' errors are collected with their places, and their summaries are left out.
func testErrorsOfTools(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Print("error: x\n", 1)}), nil)
	p := b.visit(t, v.only(v.create(t, "make")))
	p.until(`part('.first-error').textContent === '1 error'`)
	for _, test := range [][2]string{
		{"a.c:3:5: error: expected ';'\na.c:9:1: error: no\n2 errors generated.\nmake: *** [Makefile:2: a.o] Error 1\n", "1 a.c:3:5 2 a.c:9:1"},
		{"# shop.example/cart\n./cart.go:7:2: undefined: x\nFAIL\tshop.example/cart [build failed]\n", "2 ./cart.go:7:2"},
		{"# shop/pay\npay/pay.go:2:25: undefined: x\npay/pay.go:3:30: cannot use 5 as string value in return statement\n", "2 pay/pay.go:2:25 3 pay/pay.go:3:30"},
		{"--- FAIL: TestTotal (0.00s)\n    cart_test.go:58: total = 1, want 2\nFAIL\nexit status 1\nFAIL\tshop.example/cart\t0.1s\n", "1 cart_test.go:58:0"},
		{"src/a.ts(3,7): error TS2322: no\nFound 1 error in src/a.ts:3\n", "1 src/a.ts:3:7"},
		{"error[E0308]: mismatched types\n  --> src/main.rs:3:5\nerror: could not compile `shop`\n", "1 src/main.rs:3:5"},
		{"thread 'a' panicked at src/lib.rs:10:9:\ntest result: FAILED. 0 passed; 1 failed\n", "1 src/lib.rs:10:9"},
		{"E       assert 1 == 2\nE        +  where 1 = f()\n\ntests/test_a.py:12: AssertionError\n===== 1 failed in 0.1s =====\n", "1 tests/test_a.py:12:0"},
		{"Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n", "1 a.py:3:0"},
		{"  ● adds\n\n    > 1 | expect(total(1)).toBe(4)\n\n      at Object.<anonymous> (src/a.test.js:10:5)\nTests: 1 failed\n", "1 src/a.test.js:10:5"},
		{"[ERROR] /w/src/A.java:[3,7] cannot find symbol\n[ERROR] -> [Help 1]\n", "1 /w/src/A.java:3:7"},
		{"A.cs(3,7): error CS0103: The name 'x' does not exist\n", "1 A.cs:3:7"},
		{"a.nim(3, 7) Error: undeclared identifier: 'x'\n", "1 a.nim:3:7"},
		{"ok\nfine\nsee https://example.com/a.html:80\n", ""},
	} {
		require.Equal(t, test[1], eval[string](p, fmt.Sprintf(`import(new URL('../assets/collector.js', location)).then(({ collect }) =>
			collect(%q).map(({ line, place }) => place ? line + ' ' + place.file + ':' + place.line + ':' + place.column : line + ' ?').join(' '))`, test[0])), test[0])
	}
}

// Places in files open in the user's editor, from the output and from the list of errors.
func testEditor(t *testing.T, b visitor) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a b.go"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), nil, 0o600))
	opened := filepath.Join(dir, "opened")
	editor := filepath.Join(dir, "editor")
	require.NoError(t, os.WriteFile(editor, []byte("#!/bin/sh\necho \"$@\" >>"+opened+"\n"), 0o700))
	asked := make(chan string, 9)
	editors := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	t.Cleanup(editors.Close)
	print := acptermtest.Print("./main.go:3:7: undefined: x\nnone.go:1: error: gone\n", 1)
	for _, option := range []string{editor + " -g {file}:{line}:{column}", "vscode://file{file}:{line}:{column}",
		editors.URL + "/open{file}:{line}:{column}", ""} {
		v := serve(t, made(t, acptermtest.Commands{"make": print}), &view.Options{Editor: option})
		terminal, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "make", Cwd: dir}, nil)
		require.NoError(t, err)
		p := b.visit(t, v.only(terminal))
		p.until(`part('.first-error').textContent === '2 errors'`)
		eval[bool](p, `(part('.first-error').click(), true)`)
		p.until(marked + `?.startsWith('./main.go')`)
		if option == "" {
			require.False(t, eval[bool](p, frames+`.then(() => !!part('.address') || !!part('.errors .edit'))`))
		} else {
			p.until(`part('.address') && part('.errors .edit')`)
		}
		if option == editor+" -g {file}:{line}:{column}" {
			clickByScript(p, ".errors li:nth-child(1) .edit")
			require.Eventually(t, func() bool {
				text, _ := os.ReadFile(opened)
				return string(text) == "-g "+filepath.Join(dir, "main.go")+":3:7\n"
			}, timeout, 10*time.Millisecond)
			clickByScript(p, ".errors li:nth-child(2) .edit")
			p.until(`part('.note').textContent.startsWith('Not opened: there is no file ')`)
		}
		if strings.HasPrefix(option, "http") {
			clickByScript(p, ".errors li:nth-child(1) .edit")
			require.Equal(t, "/open"+filepath.Join(dir, "main.go")+":3:7", <-asked)
		}
		p.end()
	}
}

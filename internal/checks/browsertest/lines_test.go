package browsertest

// The lines of long output: their numbers, links to them, groups, and the first error.

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
)

// marked is the text of the marked line, once it is drawn.
const marked = `(() => {
	const top = part('.marked')?.getBoundingClientRect().top
	const row = [...part('.xterm-rows').children].find(row => Math.abs(row.getBoundingClientRect().top - top) < 3)
	return row?.textContent.trim()
})()`

// numberOf is the number beside the first row that begins with a text.
func numberOf(text string) string {
	return fmt.Sprintf(`(() => {
		const at = [...part('.xterm-rows').children].findIndex(row => row.textContent.trimStart().startsWith(%q))
		return part('.gutter').textContent.split('\n')[at]
	})()`, text)
}

// createLong creates a terminal that retains all output.
func (v *viewer) createLong(t testing.TB, command string) *acpterm.Terminal {
	t.Helper()
	limit := uint64(32 << 20)
	terminal, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "session-1", Command: command, OutputByteLimit: &limit}, nil)
	require.NoError(t, err)
	return terminal
}

// Lines have numbers, also those that wrap or that the screen has no room for. A click on a number links to the line, and
// the link shows it.
func testLineNumbers(t *testing.T, b visitor) {
	var long strings.Builder
	for i := range 40_000 { // more than the server sends at first
		fmt.Fprintf(&long, "line %d %s\n", i+1, strings.Repeat("x", 30))
	}
	texts := make(chan string)
	v := serve(t, made(t, acptermtest.Commands{"make": steps(texts), "long": acptermtest.Print(long.String(), 0),
		"some": acptermtest.Print(long.String()[:strings.Index(long.String(), "line 6000 ")], 0)}), nil)
	terminal, all, some := v.create(t, "make"), v.createLong(t, "long"), v.create(t, "some")
	p := b.visit(t, v.url+"#"+v.key(terminal))
	texts <- "one\n" + strings.Repeat("wraps ", 60) + "\nthree\n"
	p.until(numberOf("three") + ` === '3'`)
	require.Regexp(t, `^1\n2\n\n+3\n$`, eval[string](p, `part('.gutter').textContent`))
	texts <- "four"
	p.until(numberOf("four") + ` === '4'`)
	texts <- strings.Repeat("\nmore", 12_000) + "\nlast\n"
	p.until(numberOf("last") + ` === '12005'`)
	p.until(`part('.cutText, .cut').textContent.includes('–12,005 of 12,005')`)
	close(texts)

	eval[string](p, fmt.Sprintf(`location.hash = %q`, v.key(all)))
	p.until(`part('.state').textContent === 'done' && ` + numberOf("line 40000 ") + ` === '40000'`)
	require.Regexp(t, `^Lines 29,9\d\d–40,000 of 40,000`, eval[string](p, `part('.cut').innerText`))
	require.True(t, eval[bool](p, `getComputedStyle(part('.cut')).color === getComputedStyle(part('.numbers')).color`), "no warning")

	// A click on a number.
	eval[bool](p, `(() => {
		const box = part('.xterm-screen').getBoundingClientRect()
		const at = [...part('.xterm-rows').children].findIndex(row => row.textContent.startsWith('line 39999 '))
		const clientY = part('.xterm-rows').children[at].getBoundingClientRect().top + 3
		return part('.gutter').dispatchEvent(new MouseEvent('click', { clientX: box.left - 20, clientY, bubbles: true }))
	})()`)
	p.until(fmt.Sprintf(`location.hash === '#%s:L39999' && %s?.startsWith('line 39999 ')`, v.key(all), marked))
	p.reload()
	p.until(marked + `?.startsWith('line 39999 ') && part('.note').textContent === ''`)
	press := func(key string) {
		eval[bool](p, `(part('.gutter').focus(), true)`)
		eval[bool](p, pressed(key))
	}
	press("ArrowUp")
	p.until(fmt.Sprintf(`location.hash === '#%s:L39998' && %s?.startsWith('line 39998 ')`, v.key(all), marked))
	require.Regexp(t, `^39998: line 39998 x+$`, eval[string](p, `part('.gutter').getAttribute('aria-valuetext')`))
	for range 3 { // not beyond the last line
		press("ArrowDown")
	}
	p.until(fmt.Sprintf(`location.hash === '#%s:L40000' && %s?.startsWith('line 40000 ')`, v.key(all), marked))
	for range 3 { // a page that opens with a link waits for the whole output
		eval[string](p, fmt.Sprintf(`location.hash = '%s:L3120'`, v.key(some)))
		p.reload()
		p.until(marked + `?.startsWith('line 3120 ') && part('.note').textContent === ''`)
	}
	eval[string](p, fmt.Sprintf(`location.hash = '%s'`, v.key(all)))

	// A link to a line that is not on the screen at first, and to none.
	eval[string](p, fmt.Sprintf(`location.hash = '%s:L17'`, v.key(all)))
	p.until(marked + `?.startsWith('line 17 ') && ` + numberOf("line 17 ") + ` === '17'`)
	require.Regexp(t, `^Lines 1–\d\d?,\d+ of 40,000`, eval[string](p, `part('.cut').innerText`))
	eval[bool](p, catchCopies)
	eval[bool](p, `(part('.copy-link').click(), true)`)
	p.until(fmt.Sprintf(`copied === %q`, v.only(all)+"#L17"))
	eval[string](p, fmt.Sprintf(`location.hash = '%s:L50000'`, v.key(all)))
	p.until(`part('.note').textContent === 'There is no line 50000.'`)
	p.requireQuiet()
	p.end()

	p = b.visit(t, v.only(all)+"#L20000")
	p.until(marked + `?.startsWith('line 20000 ')`)
	p.requireQuiet()
	p.end()
}

// Lines keep their numbers, and the one at the top its place, when a full screen gets another size and drops some.
func testNumbersOfFull(t *testing.T, b visitor) {
	var long strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&long, "line %d %s\n", i+1, strings.Repeat("x", 200))
	}
	v := serve(t, made(t, acptermtest.Commands{"long": acptermtest.Print(long.String(), 0)}), nil)
	terminal := v.createLong(t, "long")
	<-terminal.Done() // a page says that there is no line that is not written yet
	p := b.visit(t, v.only(terminal)+"#L3900")
	p.until(marked + `?.startsWith('line 3900 ')`)
	const top = `part('.xterm-rows').firstChild.textContent.trim()`
	for !strings.HasPrefix(eval[string](p, top), "line 38") { // not within a line
		eval[bool](p, `(part('.xterm textarea').focus(), true)`)
		eval[bool](p, pressed("ArrowUp"))
		eval[bool](p, frames)
	}
	first := strings.Join(strings.Fields(eval[string](p, top))[:2], " ")
	for _, width := range []int64{600, 460, 1000} {
		lines := eval[int](p, `el.text.split('\n').length`)
		p.resize(width, 700)
		if width < 1000 {
			p.until(fmt.Sprintf(`el.text.split('\n').length < %d`, lines))
		}
		p.until(fmt.Sprintf(`%s.startsWith('%s ') && %s?.startsWith('line 3900 ')`, top, first, marked))
		if width > 600 { // a narrow pane has no numbers
			p.until(numberOf(first+" ") + fmt.Sprintf(` === %q`, strings.Fields(first)[1]))
		}
	}
	p.requireQuiet()
}

// If the beginning of the output is not kept, the lines that are kept have numbers.
func testNumbersOfKept(t *testing.T, b visitor) {
	var long strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&long, "line %d\n", i+1)
	}
	v := serve(t, made(t, acptermtest.Commands{"long": acptermtest.Print(long.String(), 0)}), nil)
	limit := uint64(100_000)
	terminal, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "long", OutputByteLimit: &limit}, nil)
	require.NoError(t, err)
	<-terminal.Done()
	p := b.visit(t, v.only(terminal))
	p.until(`part('.state').textContent === 'done' && el.text.endsWith('20000\n')`)
	kept := eval[int](p, `fetch(part('.whole').href).then(r => r.text()).then(text => text.split('\n').length - 2)`)
	require.InDelta(t, 9000, kept, 500)
	p.until(fmt.Sprintf(`%s === '%d'`, numberOf("line 20000"), kept))
	p.requireQuiet()
}

// headingOf is the button of a group's heading in view.
func headingOf(title string) string {
	return fmt.Sprintf(`[...el.shadowRoot.querySelectorAll('.heading')].find(button => button.ariaLabel.split(', ')[0] === %q)`, title)
}

// onHeading runs an expression once the screen has the heading of a group. The button is made again when its group gets
// a length, and is missing until the next frame.
func onHeading(p tab, title, expression string) {
	p.test().Helper()
	p.until(fmt.Sprintf(`(heading => heading && (%s, true))(%s)`, expression, headingOf(title)))
}

// A command's groups have headings that fold them, and numbers that count what is folded. A copy has all.
func testGroups(t *testing.T, b visitor) {
	output := "begin\n::group::Install\nnpm ci\nadded 3\n::endgroup::\nbetween\n" +
		"\x1b[0Ksection_start:1560896352:tests[collapsed=true]\r\x1b[0K\x1b[36mRun the tests\x1b[0m\nok 1\nneedle\n" +
		"\x1b[0Ksection_end:1560896353:tests\r\x1b[0K\nend\n"
	texts := make(chan string)
	v := serve(t, made(t, acptermtest.Commands{"make": steps(texts)}), nil)
	p := b.visit(t, v.only(v.create(t, "make")))
	for i := 0; i < len(output); i += 7 { // the marks arrive in pieces
		texts <- output[i:min(i+7, len(output))]
	}
	p.until(`el.text === 'begin\n▾ Install\nnpm ci\nadded 3\nbetween\n▸ Run the tests\nend\n'`)
	p.until(numberOf("end") + ` === '11'`)
	p.until(numberOf("▸ Run") + ` === '7'`)

	onHeading(p, "Install", `heading.focus(), heading.click()`)
	p.until(`el.text === 'begin\n▸ Install\nbetween\n▸ Run the tests\nend\n'`)
	p.until(numberOf("between") + ` === '6'`)
	texts <- "still running\n"
	p.until(`el.text.endsWith('end\nstill running\n')`)
	p.until(numberOf("still") + ` === '12'`)
	p.until(`el.shadowRoot.activeElement?.ariaLabel === 'Install, 2 lines'`) // the heading keeps the focus
	p.until(headingOf("Install") + `.ariaExpanded === 'false'`)
	p.until(fmt.Sprintf(`(() => { // a click on the row
		const row = [...part('.xterm-rows').children].find(row => row.textContent.startsWith('▸ Run')).getBoundingClientRect()
		return el.shadowRoot.elementFromPoint(row.left + 20, row.top + row.height / 2) === %s
	})()`, headingOf("Run the tests")))
	onHeading(p, "Run the tests", `heading.focus(), heading.click()`)
	p.until(`el.text === 'begin\n▸ Install\nbetween\n▾ Run the tests\nok 1\nneedle\nend\nstill running\n'`)
	eval[bool](p, `(part('.copy').click(), part('.fold-all').textContent === 'Unfold groups' && part('.fold-all').click(), true)`)
	p.until(`el.text.includes('npm ci') && el.text.includes('needle')`)
	eval[bool](p, `(part('.copy').click(), part('.fold-all').textContent === 'Fold groups' && part('.fold-all').click(), true)`)
	p.until(`el.text === 'begin\n▸ Install\nbetween\n▸ Run the tests\nend\nstill running\n'`)

	// Find looks into folded groups, and a copy is what the command wrote.
	eval[bool](p, `(el.openFind(), part('.find input').value = 'needle', el.find('needle'))`)
	p.until(`el.text.includes('needle') && part('.count').textContent === '1 of 1'`)
	eval[bool](p, catchCopies)
	eval[bool](p, `el.copy().then(() => true)`)
	require.Equal(t, "begin\n::group::Install\nnpm ci\nadded 3\n::endgroup::\nbetween\nRun the tests\nok 1\nneedle\n\nend\nstill running\n",
		eval[string](p, `copied`))
	close(texts)
	p.until(`part('.state').textContent === 'done'`)
	p.requireQuiet()
}

// goTest is the output of tests that fail.
var goTest = "=== RUN   TestCheckout\n=== RUN   TestCheckout/empty_cart\n=== RUN   TestCheckout/with_voucher\n" +
	"    checkout_test.go:58: total = 41.70, want 39.70\n--- FAIL: TestCheckout (0.02s)\n    --- PASS: TestCheckout/empty_cart (0.00s)\n" +
	"    --- FAIL: TestCheckout/with_voucher (0.01s)\nFAIL\tshop.example/cart\t0.031s\nok  \tshop.example/catalog\t0.412s\n" +
	"ok  \tshop.example/mail\t0.087s\nFAIL\n"

// First error shows the first line that tells of one, also if it is not on the screen.
func testFirstError(t *testing.T, b visitor) {
	var long strings.Builder
	for i := range 12_000 {
		fmt.Fprintf(&long, "line %d has 0 errors\n", i+1)
		if i == 100 || i == 11_000 {
			fmt.Fprintf(&long, "main.c:%d:3: error: expected ';'\n", i)
		}
	}
	v := serve(t, made(t, acptermtest.Commands{
		"go":   acptermtest.Print(goTest, 1),
		"long": acptermtest.Print(long.String(), 2),
		"none": acptermtest.Print("one\ntwo\n", 1), "good": acptermtest.Print("error: no\n", 0),
	}), nil)
	terminal := v.create(t, "go")
	p := b.visit(t, v.url+"#"+v.key(terminal))
	p.until(`part('.state').textContent === 'exit code 1' && visible(part('.first-error'))`)
	eval[bool](p, `(part('.first-error').click(), true)`)
	p.until(marked + `?.startsWith('--- FAIL: TestCheckout ')`)
	for _, test := range []struct{ command, want string }{
		{"long", marked + `?.startsWith('main.c:100:3')`},
		{"none", `part('.note').textContent === 'No line tells of an error; this is the end.'`},
	} {
		eval[string](p, fmt.Sprintf(`location.hash = %q`, v.key(v.createLong(t, test.command))))
		p.until(fmt.Sprintf(`part('.command').textContent === %q && part('.state').textContent.startsWith('exit') && visible(part('.first-error'))`, test.command))
		eval[bool](p, `(part('.first-error').click(), true)`)
		p.until(test.want)
	}
	eval[string](p, fmt.Sprintf(`location.hash = %q`, v.key(v.create(t, "good"))))
	p.until(`part('.command').textContent === 'good' && part('.state').textContent === 'done'`)
	require.False(t, eval[bool](p, `visible(part('.first-error'))`))
	p.requireQuiet()
}

// While output that exists already is loading, the page says how much has arrived.
func testLoading(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"long": acptermtest.Print(strings.Repeat("a line of text\n", 50_000), 0), "short": acptermtest.Print("short\n", 0)}), nil)
	short, long := v.create(t, "short"), v.createLong(t, "long")
	<-long.Done()
	p := b.visit(t, v.only(short))
	p.until(`el.text === 'short\n' && part('.loading').textContent === ''`)
	eval[bool](p, fmt.Sprintf(`(() => { // the server sends the next message after an answer; the first stream has no part in this
		const send = WebSocket.prototype.send
		window.answers = 2
		window.waiting = []
		WebSocket.prototype.send = function (text) {
			if (answers-- > 0) send.call(this, text)
			else waiting.push(() => send.call(this, text))
		}
		el.setAttribute('src', %q)
		return true
	})()`, v.view.TerminalPath("session-1", long.ID())))
	p.until(`/^Loading… [\d.]+ kB of 750 kB$/.test(part('.loading').textContent) && waiting.length > 0 && visible(part('.loading'))`)
	eval[bool](p, `(answers = Infinity, waiting.forEach(go => go()), true)`)
	p.until(`part('.loading').textContent === '' && el.text.endsWith('text\n') && el.row.ended > 0`)
	p.requireQuiet()
}

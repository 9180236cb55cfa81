package browsertest

// The times of lines, which the page shows on demand.

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
)

// timeOf is the time beside the first row that begins with a text, in milliseconds since 1970, or NaN.
func timeOf(text string) string {
	return fmt.Sprintf(`(() => {
		const at = [...part('.xterm-rows').children].findIndex(row => row.textContent.trimStart().startsWith(%q))
		return Date.parse(part('.times')?.children[at]?.dateTime)
	})()`, text)
}

// showTimes chooses Show timestamps in the menu.
func showTimes(p tab) {
	eval[bool](p, `(part('.copy').click(), part('.show-times').click(), true)`)
}

// between waits until the page shows a time between two of them for a line. The view may look some seconds later.
func between(p tab, text string, from, to time.Time) {
	p.test().Helper()
	p.until(fmt.Sprintf(`((at) => at >= %d && at <= %d)(%s)`, from.UnixMilli(), to.Add(5*time.Second).UnixMilli(), timeOf(text)))
}

// The user can have the time of each line beside its number: when it was written, also of earlier parts of the output
// and of folded groups, of a running command and of an ended one.
func testTimes(t *testing.T, b visitor) {
	texts := make(chan string)
	v := serve(t, made(t, acptermtest.Commands{"make": steps(texts)}), nil)
	before := time.Now()
	terminal := v.create(t, "make")
	p := b.visit(t, v.only(terminal))
	texts <- "one\n" + strings.Repeat("wraps ", 60) + "\nthree\n"
	p.until(`el.text.includes('three')`)
	require.False(t, eval[bool](p, `!!part('.times')`), "only on demand")
	showTimes(p)
	p.until(`part('.show-times').getAttribute('aria-checked') === 'true'`)
	p.until(timeOf("three") + ` > 0`)
	between(p, "one", before, time.Now())
	between(p, "three", before, time.Now())
	require.Regexp(t, `^\d\d:\d\d:\d\d( [AP]M)?$`, eval[string](p, `part('.times time').textContent`))
	require.Regexp(t, `\d{4}.*, (at the start|\d+ s after the start)$`, eval[string](p, `part('.times time').title`))
	require.True(t, eval[bool](p, `(() => { // beside the line
		const at = [...part('.xterm-rows').children].findIndex(row => row.textContent.startsWith('three'))
		const middle = node => node.getBoundingClientRect().top + node.getBoundingClientRect().height / 2
		return Math.abs(middle(part('.times').children[at]) - middle(part('.xterm-rows').children[at])) < 4
	})()`))

	p.until(fmt.Sprintf("Date.now() > %d", time.Now().Add(2*time.Second).UnixMilli()))
	later := time.Now()
	eval[bool](p, fmt.Sprintf(`(new MutationObserver(() => {
		if (part('.xterm-rows') && %s < %d) window.wrongTime = true
	}).observe(part('.times'), { childList: true }), true)`, timeOf("four"), later.UnixMilli()))
	texts <- "four\n::group::Tests\nok 1\n::endgroup::\nfive"
	between(p, "four", later, time.Now())
	between(p, "five", later, time.Now())
	require.Less(t, eval[float64](p, timeOf("three")), float64(later.UnixMilli()), "it has not changed")
	eval[bool](p, `(part('.copy').click(), part('.fold-all').click(), true)`)
	p.until(`!el.text.includes('ok 1')`)
	between(p, "▸ Tests", later, time.Now())
	between(p, "five", later, time.Now())
	require.False(t, eval[bool](p, `!!window.wrongTime`), "not even for a moment")
	p.until(fmt.Sprintf("Date.now() > %d", time.Now().Add(time.Second).UnixMilli()))
	last := time.Now()
	texts <- "\nsix\n"
	between(p, "six", last, time.Now())
	showTimes(p)
	p.until(`!part('.times')`)
	showTimes(p)
	between(p, "▸ Tests", later, time.Now())
	between(p, "one", before, later)
	close(texts)
	p.until(`part('.state').textContent === 'done'`)
	between(p, "six", last, time.Now())
	p.requireQuiet()
	p.end()
}

// The times of a long output are right on each part of it, also if its beginning is not kept.
func testTimesOfParts(t *testing.T, b visitor) {
	var slept [4]time.Time // before and after each pause of "serve"
	v := serve(t, made(t, acptermtest.Commands{"serve": func(p *acptermtest.Process) int {
		for i := range 70_000 {
			fmt.Fprintf(p, "line %06d\n", i)
			if pause := slices.Index([]int{30_000, 69_000}, i); pause >= 0 {
				slept[2*pause] = time.Now()
				p.Sleep(2 * time.Second)
				slept[2*pause+1] = time.Now()
			}
		}
		return acptermtest.Block(p)
	}}), nil)
	limit := uint64(800_000) // 66,666 lines
	create := func(command string) *acpterm.Terminal {
		terminal, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: command, OutputByteLimit: &limit}, nil)
		require.NoError(t, err)
		return terminal
	}
	start := time.Now()
	terminal := create("serve")
	for chunk := range terminal.Follow(t.Context(), 0) {
		if strings.Contains(chunk.Text, "069999") {
			break
		}
	}
	p := b.visit(t, v.url+"#"+v.key(terminal))
	p.until(`el.text.endsWith('line 069999\n')`)
	showTimes(p)
	between(p, "line 069999", slept[3], time.Now())
	at := func(text string) (time float64) { // which is unknown while the page asks for more
		for time == 0 {
			p.until(timeOf(text) + " > 0")
			time = eval[float64](p, timeOf(text))
		}
		return time
	}
	last := at("line 069999")
	eval[bool](p, `el.earlier().then(() => true)`)
	scrollTo := func(text string) {
		require.True(t, eval[bool](p, fmt.Sprintf(`el.find(%q)`, text)))
		p.until(fmt.Sprintf(`[...part('.xterm-rows').children].some(row => row.textContent.startsWith(%q))`, text))
	}
	scrollTo("line 029999")
	require.Regexp(t, `^Lines [\d,]+–[\d,]+ of 66,\d{3} kept`, eval[string](p, `part('.cut').innerText`))
	between(p, "line 029999", start, slept[0])
	scrollTo("line 050000")
	showTimes(p)
	p.until(`!part('.times')`)
	showTimes(p) // and the same part stays in view
	between(p, "line 050000", slept[1], slept[2])
	middle := at("line 050000")
	require.Less(t, middle, last-1000)
	scrollTo("line 029998")
	require.Less(t, at("line 029998"), middle-1000)
	eval[bool](p, `(part('.to-end').click(), true)`)
	p.until(`el.text.endsWith('line 069999\n')`)
	p.until(timeOf("line 069999") + fmt.Sprintf(` === %f`, last))
	p.requireQuiet()
	p.end()
}

// Where the times are not known, the page says so.
func testUnknownTimes(t *testing.T, b visitor) {
	m := made(t, acptermtest.Commands{"old": acptermtest.Print("before\n", 0), "ok": acptermtest.Print("fine\n", 0)})
	old, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "old"}, nil)
	require.NoError(t, err)
	<-old.Done()
	require.Eventually(t, func() bool { return time.Since(old.Info().Ended) > time.Second }, timeout, 10*time.Millisecond)
	v := serve(t, m, nil)
	p := b.visit(t, v.url+"#"+v.key(old))
	p.until(`el.text === 'before\n'`)
	showTimes(p)
	p.until(`part('.note').textContent.startsWith('When the lines were written is not known') && part('.note').textContent.includes('ended on')`)
	require.False(t, eval[bool](p, `visible(part('.times'))`))
	eval[string](p, fmt.Sprintf(`location.hash = %q`, v.key(v.create(t, "ok"))))
	p.until(timeOf("fine") + ` > 0`)
	p.requireQuiet()
	p.end()
}

// The screen of a PTY has no times, and leaves them to other commands.
func testNoTimesOfPTYs(t *testing.T, b visitor) {
	y := serveTyping(t, &view.Options{})
	top := y.sh(t, "echo screen; exec sleep 600")
	other, err := y.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "echo", Args: []string{"fine"}}, nil)
	require.NoError(t, err)
	p := b.visit(t, y.url+"#"+y.key(other))
	p.until(`el.text === 'fine\n'`)
	showTimes(p)
	p.until(timeOf("fine") + ` > 0`)
	eval[string](p, fmt.Sprintf(`location.hash = %q`, y.key(top)))
	p.until(`el.text.startsWith('screen') && !visible(part('.times'))`)
	eval[bool](p, `(part('.copy').click(), true)`)
	require.False(t, eval[bool](p, `visible(part('.show-times'))`))
	eval[bool](p, `(part('.copy').click(), true)`)
	eval[string](p, fmt.Sprintf(`location.hash = %q`, y.key(other)))
	p.until(timeOf("fine") + ` > 0 && visible(part('.times'))`)
	p.requireQuiet()
	p.end()
}

// Times since the start are a choice, which is kept. A click on a time links to it, and the link shows the first line that
// was written then.
func testTimeLinks(t *testing.T, b visitor) {
	texts := make(chan string)
	v := serve(t, made(t, acptermtest.Commands{"make": steps(texts)}), nil)
	terminal := v.create(t, "make")
	p := b.visit(t, v.only(terminal))
	texts <- "one\n"
	p.until(`el.text === 'one\n'`)
	eval[bool](p, `(part('.copy').click(), part('.show-since').click(), true)`)
	const since = `[...part('.times')?.querySelectorAll('time') ?? []].map(time => time.textContent)`
	p.until(since + `.length === 1`)
	p.until(fmt.Sprintf("Date.now() > %d", time.Now().Add(2500*time.Millisecond).UnixMilli()))
	texts <- "two\nthree\n"
	p.until(`el.text.endsWith('three\n')`)
	p.until(`(shown => shown.length === 3 && shown.every(time => /^≤?\d+:\d\d$/.test(time)) && shown[2] !== shown[0])(` + since + `)`)
	p.reload()
	p.until(since + `.length === 3 && part('.show-since').getAttribute('aria-checked') === 'true'`)
	eval[bool](p, `(part('.times').querySelectorAll('time')[1].click(), true)`)
	p.until(marked + ` === 'two' && /^#T[1-9]\d*$/.test(location.hash)`)
	eval[bool](p, catchCopies)
	eval[bool](p, `(part('.copy').click(), part('.copy-link').click(), true)`)
	p.until(`copied === location.href`)
	showTimes(p) // the other kind
	p.until(fmt.Sprintf(`%s.every(time => /\d\d:\d\d/.test(time)) && part('.show-since').getAttribute('aria-checked') === 'false'`, since))
	showTimes(p)
	p.until(`!part('.times')`)
	link := eval[string](p, `location.hash`)
	p.end()
	p = b.visit(t, v.url+"#"+v.key(terminal)+":"+link[1:])
	p.until(marked + ` === 'two'`)
	require.False(t, eval[bool](p, `!!part('.times')`), "the choice is kept")
	close(texts)
	p.until(`el.row?.ended`)
	p.requireQuiet()
}

// The output as text for screen readers.
package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
)

// transcript is the text that screen readers read, with headings as "# name (expanded or collapsed)".
const transcript = `[...el.shadowRoot.querySelectorAll('.transcript > *')].map(line =>
	line.role === 'heading' ? '# ' + line.firstChild.ariaLabel + (line.firstChild.ariaExpanded === 'true' ? ' (expanded)' : ' (collapsed)') : line.textContent).join('\n')`

// news is what screen readers have read out.
const news = `[...el.shadowRoot.querySelectorAll('.news > *')].map(line => line.textContent).join('\n')`

// Screen readers find all lines, and groups as headings whose buttons fold them. They read new output out, but not what
// was there before.
func testTranscript(t *testing.T, b visitor) {
	texts := make(chan string, 1)
	texts <- "before\n::group::Install\nnpm ci\n::endgroup::\n::group::Build\nbuilt\nerror: bad\n"
	v := serve(t, made(t, acptermtest.Commands{"ci": steps(texts)}), nil)
	p := b.visit(t, v.only(v.create(t, "ci")))
	p.until(`el.text.endsWith('bad\n')`)
	eval[bool](p, `(part('.reader').click(), true)`)
	p.until(transcript + ` === 'before\n# Install, 1 line (expanded)\nnpm ci\n# Build (expanded)\nbuilt\nerror: bad'`)
	require.Empty(t, eval[string](p, news))

	// A fold keeps the focus, and reads nothing out again.
	const button = `[...el.shadowRoot.querySelectorAll('.transcript button')]`
	for _, state := range []string{"collapsed", "expanded", "collapsed"} {
		eval[bool](p, `(window.button = `+button+`[0], button.focus(), button.click(), true)`)
		lines := map[string]string{"collapsed": "", "expanded": "npm ci\n"}[state]
		p.until(fmt.Sprintf(`%s === %q`, transcript, "before\n# Install, 1 line ("+state+")\n"+lines+"# Build (expanded)\nbuilt\nerror: bad"))
		require.True(t, eval[bool](p, `el.shadowRoot.activeElement === button && button.isConnected`), state)
	}
	require.Empty(t, eval[string](p, news))
	eval[bool](p, pressed("ArrowDown"))
	require.Equal(t, "Build", eval[string](p, `el.shadowRoot.activeElement.ariaLabel`))
	eval[bool](p, `(part('.transcript').focus(), true)`)
	for _, step := range []string{"ArrowDown before", "ArrowDown ", "ArrowDown ", "ArrowDown built", "End error: bad", "ArrowDown error: bad", "ArrowUp built", "PageUp before"} {
		key, line, _ := strings.Cut(step, " ")
		eval[bool](p, pressed(key))
		require.Equal(t, line, eval[string](p, `el.shadowRoot.activeElement.textContent`), step)
	}

	texts <- "::endgroup::\nnew\nsame\n"
	p.until(news + ` === 'new\nsame'`)
	p.until(transcript + `.endsWith('# Build, 2 lines (expanded)\nbuilt\nerror: bad\nnew\nsame')`)
	texts <- "same\n"
	p.until(news + ` === 'new\nsame\nsame'`)
	texts <- "Password: "
	p.until(news + `.endsWith('same\nPassword: ')`)
	texts <- "\nright\n"
	p.until(news + `.endsWith('same\nPassword: \nright')`)
	// Addresses are links, which ask first.
	texts <- "see https://example.com/a.\n"
	p.until(`part('.transcript a')?.href === 'https://example.com/a'`)
	require.Equal(t, "see https://example.com/a.", eval[string](p, `part('.transcript a').parentNode.textContent`))
	require.True(t, eval[bool](p, `(window.confirm = text => { window.asked = text }, part('.transcript a').click(), asked.endsWith('https://example.com/a'))`))

	// Nothing is lost that comes while groups are folded.
	eval[bool](p, `(button.click(), true)`)
	texts <- "in between\n"
	p.until(news + `.endsWith('a.\nin between')`)
	p.until(transcript + `.includes('# Install, 1 line (expanded)')`)
	texts <- strings.Repeat("much\n", 99) + "last\n"
	p.until(`/between\n[^]*\d\d new lines. The last:\nlast$/.test(` + news + `)`)

	// Each line is where the screen shows it, also if the lines wrap in another way. The choice is kept.
	p.reload()
	p.until(transcript + `.endsWith('much\nlast')`)
	require.Equal(t, "true", eval[string](p, `part('.reader').ariaPressed`))
	texts <- strings.Repeat("0123456789", 30) + "\nend\n"
	p.until(transcript + `.endsWith('9\nend')`)
	const shift = `(() => {
		const place = node => node.getBoundingClientRect().top
		const row = [...part('.xterm-rows').children].find(row => row.textContent.trim() === 'end')
		return Math.abs(place(row) - place(part('.transcript > :last-child')))
	})()`
	p.until(shift + ` < 2`)
	p.resize(420, 500)
	p.until(`part('.xterm-rows').children.length < 35 && el.following`)
	p.until(shift + ` < 2`)

	// A screen reader that goes to a line scrolls the screen.
	eval[bool](p, `([...el.shadowRoot.querySelectorAll('.transcript > *')].find(line => line.textContent === 'before').focus(), true)`)
	p.until(`part('.xterm-rows').firstChild.textContent.startsWith('before')`)
	texts <- "more\n"
	p.until(transcript + `.endsWith('end\nmore')`)
	require.True(t, eval[bool](p, `part('.xterm-rows').firstChild.textContent.startsWith('before')`), "new output scrolls nothing")
	close(texts)
	p.until(`el.row?.ended`)
	eval[bool](p, `(part('.reader').click(), true)`)
	p.until(transcript + ` === '' && !visible(part('.transcript'))`)
	eval[bool](p, `(part('.wrap').click(), `+frames+`)`) // draws all rows
	p.requireQuiet()
}

// readOut is the number of lines that screen readers have read out, or that were counted.
const readOut = `[...el.shadowRoot.querySelectorAll('.news > *')].reduce((sum, { textContent: text }) =>
	sum + (/^(\d+) new lines/.test(text) ? parseInt(text) - 1 : 1), 0)`

// In an element lower than the window, the focus scrolls the lines and the screen, and nothing else. After the end of a
// command, its last lines are read out.
func testLowTranscript(t *testing.T, b visitor) {
	texts := make(chan string, 1)
	texts <- strings.Repeat("hay\n", 100) + "::group::First\n" + strings.Repeat("hay\n", 100) + "::endgroup::\nlast\n"
	v := serve(t, made(t, acptermtest.Commands{"ci": steps(texts)}), nil)
	p := b.visit(t, v.only(v.create(t, "ci")))
	p.until(`el.text.endsWith('last\n')`)
	eval[bool](p, `(el.style.height = '16rem', el.style.flex = 'none', part('.reader').click(), true)`)
	p.until(transcript + `.endsWith('last') && part('.xterm-rows').children.length < 20`)
	eval[bool](p, `(part('.transcript').focus(), true)`)
	for _, key := range []string{"Home", "PageDown", "PageDown", "ArrowDown", "PageDown", "End", "Home", "End", "PageUp", "PageUp"} {
		eval[bool](p, pressed(key))
		p.until(`(() => {
			const box = el.shadowRoot.activeElement.getBoundingClientRect(), screen = part('.screen').getBoundingClientRect()
			const rows = [...part('.xterm-rows').children].map(row => row.getBoundingClientRect().top)
			return box.top > screen.top - 2 && box.bottom < screen.bottom + 20 && rows.some(top => Math.abs(top - box.top) < 2)
		})()`)
		require.Zero(t, eval[int](p, `part('.box').scrollTop + part('.body').scrollTop`), key)
	}
	read := eval[int](p, readOut)
	texts <- strings.Repeat("flood\n", 12_000) + "flooded\n" // fills the screen, and so makes it smaller
	p.until(news + `.endsWith('\nflooded')`)
	require.InDelta(t, read+12_001, eval[int](p, readOut), 3, "a part of a line may be read out first")
	texts <- "::group::Test\nerror: bad\n::endgroup::\nno newline"
	close(texts)
	p.until(`el.row?.ended && ` + news + `.endsWith('error: bad\nno newline')`)
	p.requireQuiet()
}

// Much output drops lines at the top of the screen, and of the text.
func testLongTranscript(t *testing.T, b visitor) {
	texts := make(chan string, 1)
	v := serve(t, made(t, acptermtest.Commands{"long": steps(texts)}), nil)
	p := b.visit(t, v.only(v.create(t, "long")))
	eval[bool](p, `(part('.reader').click(), true)`)
	p.until(`part('.transcript') && visible(part('.transcript'))`)
	var written int
	write := func(lines int) {
		var text strings.Builder
		for range lines {
			written++
			fmt.Fprintf(&text, "line %d%s\n", written, strings.Repeat(" x", written%7*40))
		}
		texts <- text.String()
		p.until(fmt.Sprintf(`part('.transcript')?.lastChild?.textContent.startsWith('line %d ') || part('.transcript')?.lastChild?.textContent === 'line %[1]d'`, written))
		const rest = `.slice(1).join('\n')` // a part of the first line may be gone
		require.True(t, eval[bool](p, fmt.Sprintf(`el.text.trimEnd().split('\n')%s === %s.split('\n')%[1]s`, rest, transcript)), "%d lines", written)
	}
	for _, lines := range []int{10, 5000, 11_000, 10} {
		write(lines)
		p.until(fmt.Sprintf(`%s.split('\n').at(-1).startsWith('line %d')`, news, written))
	}
	// Lines that are written again.
	texts <- "10 %"
	p.until(transcript + `.endsWith('\n10 %')`)
	texts <- "\r20 %"
	p.until(transcript + `.endsWith('\n20 %')`)
	texts <- "\rdone\nend\n"
	p.until(transcript + `.endsWith('\ndone\nend')`)
	close(texts)

	// Earlier parts of the output are read, too.
	p.until(`el.row?.ended`)
	eval[bool](p, `(part('.earlier').focus(), part('.earlier').click(), true)`)
	p.until(`!part('.later').hidden`)
	p.until(transcript + ` === el.text.trimEnd() && !` + transcript + `.includes('done')`)
	p.until(`part('.earlier').hidden || (part('.earlier').click(), false)`)
	require.True(t, eval[bool](p, `el.shadowRoot.activeElement === part('.later')`), "the focus is not lost")
	p.until(`part('.later').hidden || (part('.later').click(), false)`)
	p.until(`['TEXTAREA', 'DIV'].includes(el.shadowRoot.activeElement?.tagName) && ` + transcript + `.endsWith('done\nend')`)
	p.requireQuiet()
}

// Screen readers say a chosen command, its state and why, its end, its errors, and that it waits, once each. They say what
// is new in an element that was there before.
func testSaid(t *testing.T, b visitor) {
	texts := make(chan string)
	m := acptermtest.NewManager(t, &acpterm.Options{Policy: denyRemovals, Runner: acptermtest.Commands{
		"make": acptermtest.Print("a.go:3:7: undefined: x\nb.go:9:1: undefined: y\n", 2), "ci": steps(texts), "rm": acptermtest.Block,
	}})
	v := serve(t, m, nil)
	p := b.visit(t, v.url)
	v.create(t, "ci")
	p.until(`part('.said')?.textContent.endsWith('running: ci') && part('.said').role === 'log'`) // it stays while others come
	failed := v.create(t, "make")
	<-failed.Done()
	_, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "rm"}, nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
	const said = `heard.join('. ')`
	p.until(`document.querySelectorAll('nav li').length === 3`)
	eval[bool](p, `(window.heard = [], new MutationObserver(() => heard.push(part('.said').textContent)).observe(part('.said'), { childList: true }), true)`)
	choose := func(command, want string) {
		t.Helper()
		eval[bool](p, fmt.Sprintf(`([...document.querySelectorAll('nav a')].find(a => a.querySelector('.command').textContent === %q).click(), heard.length = 0, true)`, command))
		p.until(fmt.Sprintf(`%s === %q`, said, want))
	}
	choose("rm", "denied: rm. This command was denied and did not run.\nFiles are removed by people only.\nRule: no-removals")
	choose("make", "exit code 2: make. 2 errors")
	f8(p, false)
	p.until(said + `.endsWith('2 errors. Error 1 of 2: a.go:3:7: undefined: x')`)
	choose("ci", "running: ci")
	p.until(`el.row?.bytes === 0 && el.following`)
	close(texts)
	p.until(said + ` === 'running: ci. done: ci'`)
	v.open.refuse(true)
	v.open.drop()
	p.until(`document.getElementById('connection').textContent.includes('lost')`)
	v.open.refuse(false)
}

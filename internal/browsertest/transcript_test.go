// The output as text for screen readers.
package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/acpterm/acpterm/acptermtest"
	"github.com/stretchr/testify/require"
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

	texts <- "::endgroup::\nnew\nsame\n"
	p.until(news + ` === 'new\nsame'`)
	p.until(transcript + `.endsWith('# Build, 2 lines (expanded)\nbuilt\nerror: bad\nnew\nsame')`)
	texts <- "same\n"
	p.until(news + ` === 'new\nsame\nsame'`)
	texts <- "Password: "
	p.until(news + `.endsWith('same\nPassword: ')`)
	texts <- "\nright\n"
	p.until(news + `.endsWith('same\nPassword: \nright')`)
	texts <- strings.Repeat("much\n", 99) + "last\n"
	p.until(news + `.endsWith('right\n100 new lines. The last:\nlast')`)

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
	p.requireQuiet()
	eval[bool](p, `(part('.reader').click(), true)`)
	p.until(transcript + ` === ''`)
}

// Much output drops lines at the top of the screen, and of the text.
func testLongTranscript(t *testing.T, b visitor) {
	texts := make(chan string, 1)
	v := serve(t, made(t, acptermtest.Commands{"long": steps(texts)}), nil)
	p := b.visit(t, v.only(v.create(t, "long")))
	eval[bool](p, `(part('.reader').click(), true)`)
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
	for _, lines := range []int{10, 3000, 5000, 1000, 200, 20_000, 10} {
		write(lines)
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
	eval[bool](p, `(part('.earlier').click(), true)`)
	p.until(`!part('.later').hidden`)
	p.until(transcript + ` === el.text.trimEnd() && !` + transcript + `.includes('done')`)
	p.requireQuiet()
}

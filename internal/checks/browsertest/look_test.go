package browsertest

// How output and its header look: lines that are written again, groups, colours, a phone, a PTY, and a jump.

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/internal/viewtest"
	"github.com/acpterm/acpterm/view"
	"github.com/stretchr/testify/require"
)

// A progress bar that is wider than a phone wraps, and is written again in place. Numbers count its line once.
func testProgress(t *testing.T, b visitor) {
	bar := func(i int) string {
		return fmt.Sprintf("%s %2d of 12 parts of the image", strings.Repeat("=", 4*i+20), i)
	}
	var same, erased, up strings.Builder
	for i := range 13 {
		fmt.Fprintf(&same, "\r%s", bar(i))
		fmt.Fprintf(&erased, "\x1b[2K\r%s", bar(12-i)) // gets shorter
		if i > 0 {
			up.WriteString("\x1b[2A\r")
		}
		fmt.Fprintf(&up, "\x1b[Kone %-94s|\r\n\x1b[Ktwo %-94s|\n", bar(i), bar(12-i))
	}
	v := serve(t, made(t, acptermtest.Commands{
		"same":   acptermtest.Print("begin\r\n"+same.String()+"\nend\n", 0),
		"erased": acptermtest.Print("begin\n"+erased.String()+"\nend\n", 0),
		"up":     acptermtest.Print("begin\n"+up.String()+"end\n", 0),
		"over":   acptermtest.Print("begin\n"+strings.Repeat("x", 150)+"\rshort\nend\n", 0),
	}), nil)
	for _, width := range []int64{320, 390, 1000} {
		p := b.visit(t, v.url)
		p.resize(width, 700)
		for _, test := range [][2]string{
			{"same", bar(12)}, {"erased", bar(0)}, {"up", fmt.Sprintf("one %-94s|\ntwo %-94s|", bar(12), bar(0))}, {"over", "short" + strings.Repeat("x", 145)},
		} {
			eval[string](p, fmt.Sprintf(`location.hash = %q`, v.key(v.create(t, test[0]))))
			p.until(fmt.Sprintf(`part('.command').textContent === %q && el.text === %q`, test[0], "begin\n"+test[1]+"\nend\n"))
			p.until(fmt.Sprintf(`part('.xterm-rows').innerText.includes('end') && part('.screen').scrollWidth <= part('.screen').clientWidth &&
				%s === '%d'`, numberOf("end"), 3+strings.Count(test[1], "\n")))
		}
		p.requireQuiet()
		p.end()
	}
}

// A group says how long it was, in time or in lines, and nothing is shown for its end. GitHub's commands are text.
func testGroupLengths(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"ci": acptermtest.Print("::group::Install\nnpm ci\nadded 3\n::endgroup::\n"+
		"section_start:1000:a\r\x1b[0KBuild\nbuilt\nsection_end:1075:a\r\x1b[0Ksection_start:1075:b\r\x1b[0KTest\nok\nsection_end:1079:b\r\x1b[0K\n"+
		"##[group]Open\none\n::error file=a.go,line=3,col=7,title=Total::is%20 100%25%0Awrong\n##[warning]careful\n::notice::note\nend\n", 0)}), nil)
	p := b.visit(t, v.only(v.create(t, "ci")))
	const shown = "▾ Install\nnpm ci\nadded 3\n▾ Build\nbuilt\n▾ Test\nok\n▾ Open\none\n" +
		"Error: a.go:3:7: Total: is%20 100% wrong\nWarning: careful\nNotice: note\nend\n"
	p.until(fmt.Sprintf(`el.text === %q`, shown))
	p.until(`[...el.shadowRoot.querySelectorAll('.label')].map(label => label.textContent).join() === '2 lines,1 min 15 s,4 s'`)
	require.Regexp(t, `^1\n2\n3\n5\n6\n7\n8\n10\n11\n12\n13\n14\n15\n$`, eval[string](p, `part('.gutter').textContent`))
	p.until(`[...el.shadowRoot.querySelectorAll('.label')].every(label => {
		const { left, right } = label.getBoundingClientRect(), screen = part('.xterm-screen').getBoundingClientRect()
		return left > screen.left + screen.width / 2 && right <= screen.right + 1
	})`)
	eval[bool](p, catchCopies)
	eval[bool](p, `el.copy().then(() => true)`)
	require.Contains(t, eval[string](p, `copied`), "::error file=a.go,line=3,col=7,title=Total::is")
	eval[bool](p, `(el.openFind(), part('.find input').value = '::', el.find('::'))`)
	p.until(`part('.count').textContent === 'No results'`)
	p.requireQuiet()
}

// shaded is the text of the rows beside which the line of a group is, or of one in another.
const (
	shaded      = `shadedAt(0)`
	shadedInner = `shadedAt(1)`
)

// shadedAt defines the function for both.
const shadedAt = `(window.shadedAt = depth => {
	const stops = [...(part('.gutter').dataset.groups?.split('no-repeat')[depth] ?? '').matchAll(/([\d.]+)lh/g)].map(([, at]) => Number(at))
	const rows = [...part('.xterm-rows').children].map(row => row.textContent.trim())
	return rows.filter((_, at) => stops.filter(stop => stop <= at).length / 2 % 2 === 1).join()
}, true)`

// A line is beside the lines of a group, up to its end, and GitHub's groups say how long they took.
func testGroupExtents(t *testing.T, b visitor) {
	texts := make(chan string)
	v := serve(t, made(t, acptermtest.Commands{"ci": steps(texts)}), nil)
	p := b.visit(t, v.only(v.create(t, "ci")))
	eval[bool](p, shadedAt)
	p.until(`part('.message').textContent === 'No output yet.'`)
	texts <- "before\n::group::Install\nnpm ci\n"
	p.until(`part('.message').textContent === ''`)
	p.until(shaded + ` === 'npm ci'`)
	p.until(fmt.Sprintf("Date.now() > %d", time.Now().Add(3*time.Second).UnixMilli()))
	texts <- "added " + strings.Repeat("x", 300) + "\n::endgroup::\n"
	p.until(`/^([2-9]|\d\d) s$|min/.test(part('.label')?.textContent)`)
	texts <- "between\n" // in a piece of its own
	p.until(numberOf("between") + ` === '6'`)
	texts <- "section_start:10:a\r\x1b[0KOuter\none\nsection_start:10:b\r\x1b[0KInner\ntwo\nsection_end:11:b\r\x1b[0K\nthree\nsection_end:12:a\r\x1b[0K\nend\n"
	p.until(`el.text.endsWith('end\n')`)
	p.until(shaded + `.replace(/added x+(,x+)+/, 'added') === 'npm ci,added,one,▾ Inner,two,three' && ` + shadedInner + ` === 'two'`)
	p.resize(1000, 450) // its heading is not in view
	texts <- "::group::Long\n" + strings.Repeat("long\n", 100)
	p.until(shaded + `.startsWith('long,long')`)
	texts <- "::endgroup::\nlast\n"
	p.until(shaded + `.endsWith('long,long') && el.text.endsWith('last\n')`)
	eval[bool](p, `(part('.copy').click(), part('.fold-all').click(), true)`)
	p.until(`el.text === 'before\n▸ Install\nbetween\n▸ Outer\nend\n▸ Long\nlast\n' && part('.gutter').style.background === ''`)
	p.until(numberOf("last") + ` === '117'`)

	// A link unfolds only the groups that hide its line. The next line is the next one that is shown.
	eval[bool](p, `(el.setAttribute('line', 10), true)`)
	p.until(marked + ` === 'two'`)
	require.Equal(t, "before\n▸ Install\nbetween\n▾ Outer\none\n▾ Inner\ntwo\nthree\nend\n▸ Long\nlast\n", eval[string](p, `el.text`))
	eval[bool](p, `(part('.gutter').focus(), true)`)
	eval[bool](p, pressed("ArrowDown"))
	p.until(marked + ` === 'three' && el.getAttribute('line') === '12'`)
	eval[bool](p, pressed("ArrowUp"))
	p.until(marked + ` === 'two'`)
	eval[bool](p, pressed("End"))
	p.until(marked + ` === 'last'`)

	// A heading keeps the focus, and keys that scroll work there.
	onHeading(p, "Install", `heading.focus(), heading.click()`)
	p.until(marked + ` === 'last'`) // it is still marked
	p.until(`/^([2-9]|\d\d) s$|min/.test(part('.label')?.textContent) && el.shadowRoot.activeElement?.ariaLabel.startsWith('Install, ') && el.text.includes('npm ci')`)
	onHeading(p, "Long", `heading.click()`)
	p.until(`el.text.includes('long') && el.following === false && el.shadowRoot.activeElement?.ariaLabel.startsWith('Long, ')`)
	p.until(headingOf("Long") + `?.dispatchEvent(new KeyboardEvent('keydown', { key: 'End', bubbles: true, cancelable: true })) === false || el.following`)
	p.until(`el.following`)
	eval[bool](p, pressed("Home"))
	p.until(`!el.following`)
	p.until(headingOf("Inner") + `.ariaLabel === 'Inner, in Outer, 1 s'`)
	eval[bool](p, `(part('.gutter').focus(), true)`)
	eval[bool](p, pressed("Escape"))
	p.until(`!part('.marked') && !el.hasAttribute('line') && !location.hash`)
	close(texts)
	p.requireQuiet()
}

// The group with the first error opens by itself if the command has failed, but only once.
func testGroupOfFirstError(t *testing.T, b visitor) {
	section := func(name, text string) string {
		return fmt.Sprintf("section_start:1:%s[collapsed=true]\r%[1]s\n%s\nsection_end:2:%[1]s\r\n", name, text)
	}
	output := section("one", "fine") + section("two", "error: bad") + section("three", "error: worse")
	v := serve(t, made(t, acptermtest.Commands{"good": acptermtest.Print(output, 0), "bad": acptermtest.Print(output, 1),
		"four": acptermtest.Print(section("one", "fine")+strings.Repeat("::group::open\nin\n::endgroup::\n", 3), 0),
		"open": acptermtest.Print("::group::Tests\nerror: bad\n::endgroup::\n", 1),
		"seen": acptermtest.Print("error: first\n"+output, 1)}), nil)
	p := b.visit(t, v.only(v.create(t, "bad")))
	p.until(`el.text === '▸ one\n▾ two\nerror: bad\n▸ three\n' && part('.state').textContent === 'exit code 1'`)
	p.until(`[...el.shadowRoot.querySelectorAll('.label')].map(label => label.textContent).join() === '1 s,1 s,error, 1 s'`)
	p.until(headingOf("three") + `.ariaLabel === 'three, error, 1 s'`)
	eval[bool](p, `(part('.copy').click(), part('.fold-all').click(), true)`) // unfolds the others
	p.until(`el.text.includes('worse')`)
	eval[bool](p, `(part('.copy').click(), part('.fold-all').click(), true)`)
	p.until(`el.text === '▸ one\n▸ two\n▸ three\n'`)
	require.Equal(t, "▸ one\n▸ two\n▸ three\n", eval[string](p, `new Promise(done => setTimeout(() => done(el.text), 300))`))
	p.end()
	p = b.visit(t, v.only(v.create(t, "bad"))+"#L2") // and a link opens the group of its line
	p.until(`el.text === '▾ one\nfine\n▾ two\nerror: bad\n▸ three\n' && ` + marked + ` === 'fine'`)
	p.end()
	p = b.visit(t, v.only(v.create(t, "open")))
	p.until(`el.row?.ended && el.text === '▾ Tests\nerror: bad\n'`)
	onHeading(p, "Tests", `heading.click()`)
	p.until(`el.text === '▸ Tests\n'`)
	require.Equal(t, "▸ Tests\n", eval[string](p, `new Promise(done => setTimeout(() => done(el.text), 300))`))
	p.end()
	p = b.visit(t, v.only(v.create(t, "four"))) // the menu offers what changes more groups
	p.until(`el.row?.ended && el.text === '▸ one\n' + '▾ open\nin\n'.repeat(3)`)
	eval[bool](p, `(part('.copy').click(), part('.fold-all').textContent === 'Fold groups' && part('.fold-all').click(), true)`)
	p.until(`el.text === '▸ one\n' + '▸ open\n'.repeat(3)`)
	eval[bool](p, `(part('.copy').click(), part('.fold-all').textContent === 'Unfold groups' && part('.fold-all').click(), true)`)
	p.until(`el.text === '▾ one\nfine\n' + '▾ open\nin\n'.repeat(3)`)
	p.end()
	for command, want := range map[string]string{"good": "▸ one\n▸ two\n▸ three\n", "seen": "error: first\n▸ one\n▸ two\n▸ three\n"} {
		p = b.visit(t, v.only(v.create(t, command)))
		p.until(fmt.Sprintf(`el.row?.ended && el.text === %q`, want))
		require.Equal(t, want, eval[string](p, `new Promise(done => setTimeout(() => done(el.text), 300))`))
		p.end()
	}
}

// Without a connection, groups stay as they are, and retries leave the note that says so.
func testFoldOffline(t *testing.T, b visitor) {
	texts := make(chan string, 1)
	texts <- "::group::日本の試験の名前\nok\n::endgroup::\nend\n"
	v := serve(t, made(t, acptermtest.Commands{"ci": steps(texts)}), nil)
	const offline = `part('.note').textContent === 'The output cannot be read again, so its groups stay as they are.'`
	const title = "日本の試験の名前"
	p := b.visit(t, v.only(v.create(t, "ci")))
	p.until(headingOf(title))
	v.open.refuse(true)
	v.open.drop()
	p.until(`part('.note').textContent === 'The connection is lost; trying again.'`)
	onHeading(p, title, `heading.click()`)
	p.until(offline)
	retried := `new Promise(done => el.addEventListener('connection', () => setTimeout(() => done(` + offline + `)), { once: true }))`
	require.True(t, eval[bool](p, retried))
	require.Equal(t, "▾ 日本の試験の名前\nok\nend\n", eval[string](p, `el.text`))
	v.open.refuse(false)
	p.until(`!part('.note').textContent`)
	onHeading(p, title, `heading.click()`)
	p.until(`el.text === '▸ 日本の試験の名前\nend\n'`)
	p.end()
}

// Output that replaces other output has its own groups: those before do not count against the limit.
func testGroupsOfReplaced(t *testing.T, b visitor) {
	v := serve(t, made(t, nil), nil)
	a := viewtest.NewAgent(t, v.Manager, agentterm.Options{})
	a.Print("s", "t1", "begin\n")
	p := b.visit(t, v.url)
	p.until(`el.text === 'begin\n'`)
	for i := range 4 {
		a.Update("s", "t1", viewtest.Snapshot(strings.Repeat("::group::many\n", 3000)+fmt.Sprintf("::group::last\nend %d\n", i)))
		p.until(fmt.Sprintf(`el.text.endsWith('▾ many\n▾ last\nend %d\n')`, i))
	}
	p.requireQuiet()
}

// ratio defines the function contrastOf of a colour with its backgrounds, from the lowest.
const ratio = `
	const paint = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
	const luminance = (...colors) => {
		for (const color of colors) {
			paint.fillStyle = color
			paint.fillRect(0, 0, 1, 1)
		}
		const [r, g, b] = [...paint.getImageData(0, 0, 1, 1).data].map(c => (c /= 255, c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
		return 0.2126 * r + 0.7152 * g + 0.0722 * b
	}
	const contrastOf = (color, ...backs) => {
		const [low, high] = [luminance(...backs), luminance(...backs, color)].sort((a, b) => a - b)
		return (high + 0.05) / (low + 0.05)
	}`

// contrast returns the contrast of a text on the screen with its background, or 0 if it is not there.
func contrast(text string) string {
	return fmt.Sprintf(`(() => {`+ratio+`
		const span = %s
		const mark = part('.marked'), { top } = span.getBoundingClientRect()
		const isMarked = mark && Math.abs(mark.getBoundingClientRect().top - top) < 4
		const backs = [part('.box'), isMarked ? mark : span, span].map(node => getComputedStyle(node).backgroundColor)
		return contrastOf(getComputedStyle(span).color, ...backs)
	})()`, spanOf(text))
}

// Lines that tell of errors and warnings have a colour, unless they have one. Dim text can be read.
func testErrorColours(t *testing.T, b visitor) {
	var dim strings.Builder
	for i := range 8 {
		fmt.Fprintf(&dim, "\x1b[2;%dmdim%d\x1b[0m\n\x1b[2;%dmbright%d\x1b[0m\n", 30+i, i, 90+i, i)
	}
	dim.WriteString("\x1b[90mgrey\x1b[0m\n\x1b[38;2;127;127;127mpale\x1b[0m\n")
	texts := make(chan string)
	v := serve(t, made(t, acptermtest.Commands{"make": steps(texts)}), nil)
	p := b.visit(t, v.only(v.create(t, "make")))
	p.resize(1000, 900) // has room for all lines
	texts <- "plain\n\x1b[7minverse\x1b[0m\n\x1b[2mfaint\x1b[0m\n" + dim.String()
	for _, part := range []string{"er", "ror: bad ", strings.Repeat("long ", 40), "\n", "Warning: odd\n", "\x1b[32merror: green\x1b[0m\nterror: no\n"} {
		texts <- part
	}
	signs := []string{"--- FAIL: TestPay (0.00s)", "TypeError: x is not a function", "  ✗ pays", "pay.c:3:5: error: no", "not ok 3 pays", "npm ERR! no"}
	texts <- strings.Join(signs, "\n") + "\n0 errors: good\n"
	p.until(`el.text.endsWith('0 errors: good\n')`)
	colors := make(map[string]string)
	for _, theme := range []string{"light", "dark"} {
		eval[bool](p, fmt.Sprintf(`(el.setAttribute('theme', %q), true)`, theme))
		want := map[string][2]string{"light": {"rgb(193, 33, 43)", "rgb(125, 78, 0)"}, "dark": {"rgb(255, 123, 114)", "rgb(227, 179, 65)"}}[theme]
		p.until(fmt.Sprintf(`%s === %q`, styleIfShown("error: bad"), want[0]))
		p.until(fmt.Sprintf(`%s === %q`, styleIfShown("Warning: odd"), want[1]))
		p.until(fmt.Sprintf(`%s === getComputedStyle(part('.box')).backgroundColor`, styleIfShown("inverse")))
		for _, sign := range signs {
			p.until(fmt.Sprintf(`%s === %q`, styleIfShown(sign), want[0]))
		}
		for _, text := range []string{"plain", "faint", "error: green", "terror: no", "0 errors"} {
			p.until(styleIfShown(text) + ` !== ''`)
			colors[text] = eval[string](p, styleIfShown(text))
		}
		require.Equal(t, colors["plain"], colors["terror: no"])
		require.Equal(t, colors["plain"], colors["0 errors"])
		require.NotEqual(t, colors["plain"], colors["faint"], "dim text looks dim")
		require.NotEqual(t, want[0], colors["error: green"])
		all := []string{"faint", "error: bad", "Warning: odd"}
		for i := range 8 {
			all = append(all, fmt.Sprintf("dim%d", i), fmt.Sprintf("bright%d", i))
		}
		for _, text := range all {
			require.GreaterOrEqual(t, eval[float64](p, contrast(text)), 4.5, "%s, %s", text, theme)
		}
		require.Equal(t, 1, eval[int](p, spanOf("Warning: odd")+`.parentNode.childElementCount`), "elements of a coloured line")
		for i, text := range append(all[3:], "grey", "pale") { // also on a linked line
			eval[bool](p, fmt.Sprintf(`(el.setAttribute('line', %d), true)`, 4+i))
			p.until(fmt.Sprintf(`%s === %q`, marked, text))
			p.until(spanOf(text) + `.parentNode.childElementCount === 1`)
			require.GreaterOrEqual(t, eval[float64](p, contrast(text)), 4.5, "%s, marked, %s", text, theme)
		}
		eval[bool](p, `(el.removeAttribute('line'), true)`)
		p.until(`!part('.marked')`)
	}
	close(texts)
	p.requireQuiet()
}

// styleIfShown is the colour of a text on the screen.
func styleIfShown(text string) string {
	return fmt.Sprintf(`(() => {
		const span = %s
		return span ? getComputedStyle(span).color : ''
	})()`, spanOf(text))
}

// spanOf is the element on the screen with the beginning of a text. xterm.js may make one for each character.
func spanOf(text string) string {
	return fmt.Sprintf(`([...part('.xterm-rows').querySelectorAll('span')].find(span => span.textContent.startsWith(%q)) ??
		[...part('.xterm-rows').children].find(row => row.textContent.startsWith(%[1]q))?.firstChild)`, text)
}

// On a phone the header has one line, and its menu has the rest.
func testPhoneHeader(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Print(strings.Repeat("a long line ", 20)+"\nerror: no\n", 1)}),
		&view.Options{AllowStop: true})
	terminal := v.create(t, "make", strings.Repeat("argument ", 40))
	<-terminal.Done()
	for _, width := range []int64{320, 390} {
		p := b.visit(t, v.url+"#"+v.key(terminal))
		p.resize(width, 700)
		p.until(`el.text.endsWith('no\n') && part('header').offsetHeight <= 50 && part('.state').textContent === 'exit code 1'`)
		require.False(t, eval[bool](p, `['.numbers', 'button[aria-controls=find]', '.wrap', '.full', '.to-end'].some(name => visible(part(name)))`))
		require.True(t, eval[bool](p, `(() => {
			const button = part('.to-end')
			button.classList.remove('off')
			const fits = visible(button) && button.scrollWidth <= button.clientWidth
			button.classList.add('off')
			return fits
		})()`), "the sign of the end is whole")
		eval[bool](p, `(part('.copy').click(), true)`)
		const items = `[...part('.menu').children].filter(visible).map(item => item.textContent).join()`
		require.Regexp(t, `^Find,Wrap lines,(Full screen,)?Copy output,Copy command,Copy link to this terminal,Open as text,Download,Show timestamps,Show time since the start$`,
			eval[string](p, items))
		require.Empty(t, eval[[]string](p, small), width)
		require.True(t, eval[bool](p, `(() => {
			const { left, right, bottom } = part('.menu').getBoundingClientRect()
			return left >= 0 && right <= innerWidth && bottom <= innerHeight
		})()`), "the menu fits")
		item := func(text string) {
			eval[bool](p, fmt.Sprintf(`([...part('.menu').children].find(item => item.textContent === %q).click(), true)`, text))
		}
		require.Equal(t, "true", eval[string](p, `part('.menu [role=menuitemcheckbox]').getAttribute('aria-checked')`))
		item("Wrap lines")
		p.until(`part('.screen').scrollWidth > part('.screen').clientWidth`)
		eval[bool](p, `(part('.copy').click(), true)`)
		require.Equal(t, "false", eval[string](p, `part('.menu [role=menuitemcheckbox]').getAttribute('aria-checked')`))
		item("Wrap lines")
		p.until(`part('.screen').scrollWidth <= part('.screen').clientWidth`)
		eval[bool](p, `(part('.copy').click(), true)`)
		require.Equal(t, "1 error", eval[string](p, `part('.first-error').textContent`))
		eval[bool](p, `(part('.copy').click(), visible(part('.first-error')) && part('.first-error').click(), true)`)
		p.until(marked + `?.startsWith('error: no') && visible(part('.errors'))`)
		require.Empty(t, eval[[]string](p, small), width)
		eval[bool](p, `(part('.first-error').click(), part('.copy').click(), true)`)
		item("Find")
		p.until(`visible(part('.find')) && el.shadowRoot.activeElement === part('.find input')`)
		require.Less(t, eval[int](p, `part('.find').offsetHeight`), 60, "the bar has one row")
		eval[bool](p, `(part('.find input').value = 'line', el.find('line'))`)
		p.until(`part('.count').textContent === '1 of 20'`)
		require.True(t, eval[bool](p, `(() => {
			const input = part('.find input'), count = part('.count').getBoundingClientRect()
			const room = input.offsetWidth - parseFloat(getComputedStyle(input).paddingRight)
			return room > 60 && count.right <= innerWidth && part('.find').scrollWidth <= part('.find').clientWidth
		})()`), "the bar fits")
		eval[bool](p, `(part('[aria-label=Close]').click(), true)`)
		require.True(t, eval[bool](p, `el.shadowRoot.activeElement === part('.copy')`), "the focus is not lost")

		// All of the command, and what is known of it.
		clickByScript(p, ".more")
		p.until(`visible(part('.numbers')) && part('.numbers').textContent.includes('session-1') && part('.command').offsetHeight > 40`)
		require.Equal(t, "Show less of the command", eval[string](p, `part('.more').getAttribute('aria-label')`))
		require.LessOrEqual(t, eval[int](p, `document.documentElement.scrollWidth - innerWidth`), 0)
		clickByScript(p, ".more")
		p.until(`part('header').offsetHeight <= 50`)
		p.requireQuiet()
		p.end()
	}
}

// The page writes the output of a PTY in slices, which may end within a character.
func testMuchOfPTY(t *testing.T, b visitor) {
	y := serveTyping(t, &view.Options{Input: true})
	p := b.visit(t, y.only(y.sh(t, `read -r go; all=x; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do all="$all${all#x}🙂"; done; printf %s "$all"`)))
	p.until(`el.row?.input && !part('.keys').hidden`)
	eval[bool](p, `fetch(el.getAttribute('src') + '/input', { method: 'POST', headers: { 'Acp-Terminal': 'input' }, body: '\r' }).then(() => true)`)
	p.until(`part('.state').textContent === 'done'`)
	p.until(`el.text.replace(/\s/g, '') === 'x' + '🙂'.repeat(4095)`)
	p.requireQuiet()
}

// A PTY that others type in has text of an ordinary size, and a whole border.
func testPTYBorder(t *testing.T, b visitor) {
	y := serveTyping(t, &view.Options{Input: true})
	p := b.visit(t, y.only(y.sh(t, `printf ready; exec sleep 600`)))
	for _, size := range [][2]int64{{1900, 1000}, {1000, 700}, {390, 844}} {
		p.resize(size[0], size[1])
		p.until(fmt.Sprintf(`el.text.startsWith('ready') && Math.abs(innerWidth - %d) < 200 && parseFloat(getComputedStyle(part('.xterm-rows')).fontSize) <= 15`, size[0]))
		p.until(`(() => { // the border is 7 pixels outside of the screen
			const inner = part('.xterm-screen').getBoundingClientRect(), outer = part('.screen').getBoundingClientRect()
			const atRight = part('.screen').scrollWidth > part('.screen').clientWidth || inner.right + 7 <= outer.right
			return inner.left - 7 >= outer.left && inner.top - 7 >= outer.top && inner.bottom + 7 <= outer.bottom && atRight
		})()`)
	}
	p.until(`part('.screen').scrollWidth <= part('.screen').clientWidth && part('.screen').scrollHeight <= part('.screen').clientHeight`) // it fits
	eval[bool](p, `(part('.copy').click(), [...part('.menu').children].find(item => item.textContent === 'Fit to the width').click(), true)`)
	p.until(`getComputedStyle(part('.screen')).maskImage.includes('gradient')`) // there is more at the right
	eval[bool](p, `(part('.screen').scrollLeft = 9999, true)`)
	p.until(`getComputedStyle(part('.screen')).maskImage === 'none'`)
	p.resize(1900, 1000)
	p.until(`parseFloat(getComputedStyle(part('.xterm-rows')).fontSize) === 15 && getComputedStyle(part('.screen')).maskImage === 'none'`)
	p.until(`part('.typing').textContent === 'Type here'`)
	p.until(`(() => { // a click beside the border, once the window has its size
		const { right, bottom } = part('.screen').getBoundingClientRect()
		const beside = el.shadowRoot.elementFromPoint(right - 30, bottom - 30)
		if (Math.abs(innerWidth - 1900) >= 200 || beside !== part('.screen')) return false
		beside.click()
		return true
	})()`)
	p.until(`el.shadowRoot.activeElement === part('textarea')`)
	p.requireQuiet()
}

// A jump far into the output shows the old rows until it shows the new ones.
func testJump(t *testing.T, b visitor) {
	var long strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&long, "line %d %s\n", i+1, strings.Repeat("x", 30))
	}
	v := serve(t, made(t, acptermtest.Commands{"long": acptermtest.Print(long.String(), 0)}), nil)
	p := b.visit(t, v.only(v.createLong(t, "long")))
	p.until(`part('.state').textContent === 'done' && ` + numberOf("line 40000 ") + ` === '40000'`)
	eval[bool](p, `(() => {
		window.seen = new Set()
		const look = () => {
			const rows = part('.xterm-rows').children, numbers = part('.gutter').textContent.split('\n')
			seen.add([0, 5].map(row => rows[row].textContent.split(' ', 2).join(' ') + '=' + numbers[row]).join())
			if (!window.jumped) requestAnimationFrame(look)
		}
		look()
		return true
	})()`)
	p.until(`seen.size === 1`)
	eval[bool](p, `(el.setAttribute('line', '17'), true)`)
	p.until(marked + `?.startsWith('line 17 ')`)
	eval[bool](p, `(el.setAttribute('line', '20000'), true)`)
	p.until(marked + `?.startsWith('line 20000 ')`)
	eval[bool](p, `(jumped = true)`)
	seen := eval[[]string](p, `[...seen]`)
	for _, frame := range seen {
		require.Regexp(t, `^line (\d+)=(\d+),line (\d+)=(\d+)$`, frame, seen)
	}
	require.LessOrEqual(t, len(seen), 4, seen) // a jump to the top may show the top and then the line
	p.requireQuiet()
}

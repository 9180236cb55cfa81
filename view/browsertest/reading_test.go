package browsertest

// What a person reads, finds and copies.

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/acptermtest"
)

// Columns after wide characters are where a terminal has them, and a line that wraps has no blank in it.
func testWide(t *testing.T, b *browser) {
	wide := "x" + strings.Repeat("日本", 100) + "\n"
	v := serve(t, made(t, acptermtest.Commands{
		"emoji": acptermtest.Print("😀|\n✅|\nab|\n🚀🎉|\nabcd|\n", 0), "wide": acptermtest.Print(wide, 0),
	}), nil)
	p := b.open(t, v.only(v.create(t, "emoji")), look("light", 1000, 600, 1))
	p.until(`el.text === '😀|\n✅|\nab|\n🚀🎉|\nabcd|\n'`)
	require.Equal(t, []int{2, 2, 2, 4, 4}, eval[[]int](p, `(() => {
		const rows = [...el.shadowRoot.querySelectorAll('.xterm-rows > div')].slice(0, 5)
		const cell = part('.xterm-screen').offsetWidth / 110 // about
		return rows.map(row => {
			const at = document.createRange()
			const walk = document.createTreeWalker(row, NodeFilter.SHOW_TEXT)
			for (let node; (node = walk.nextNode());) {
				const i = node.data.indexOf('|')
				if (i >= 0) { at.setStart(node, i); at.setEnd(node, i + 1) }
			}
			return Math.round((at.getBoundingClientRect().x - row.getBoundingClientRect().x) / at.getBoundingClientRect().width)
		})
	})()`))
	p.requireQuiet()
	p.close()

	p = b.open(t, v.only(v.create(t, "wide")), look("light", 900, 600, 1))
	p.until(fmt.Sprintf(`el.text === %q`, wide))
	p.requireQuiet()
}

// More matches than are counted are said to be more, and Control F works from anywhere.
func testFinding(t *testing.T, b *browser) {
	v := serve(t, made(t, acptermtest.Commands{
		"few": acptermtest.Print(strings.Repeat("a needle\n", 3), 0), "many": acptermtest.Print(strings.Repeat("a needle\n", 3000), 0),
	}), nil)
	few, many := v.create(t, "few"), v.create(t, "many")
	<-few.Done()
	<-many.Done()
	p := b.open(t, v.url, look("light", 1100, 700, 1))
	p.until(`document.querySelectorAll('nav a').length === 2`)
	for terminal, want := range map[string]string{v.key(few): "1 of 3", v.key(many): "of 1000 or more"} {
		eval[string](p, fmt.Sprintf(`location.hash = %q`, terminal))
		p.until(fmt.Sprintf(`el.getAttribute('src').endsWith(%q) && el.text.includes('needle') && el.row?.ended > 0`, terminal))
		eval[bool](p, `(document.querySelector('nav a').focus(), true)`)
		p.press("f", chromedp.KeyModifiers(2)) // Control
		p.until(`part('.find input').checkVisibility() && el.shadowRoot.activeElement === part('.find input')`)
		eval[bool](p, `(part('.find input').value = '', true)`)
		p.press("needle")
		p.until(fmt.Sprintf(`part('.count').textContent.includes(%q)`, want))
		p.press(kb.Escape)
	}
	eval[bool](p, `(document.querySelector('nav a').focus(), true)`)
	p.press(kb.ArrowDown)
	require.True(t, eval[bool](p, `document.activeElement === document.querySelectorAll('nav a')[1]`))
	p.press(kb.ArrowUp)
	require.True(t, eval[bool](p, `document.activeElement === document.querySelectorAll('nav a')[0]`))
	p.requireQuiet()
}

// More lines than the page holds are said to be missing, and the link has them all.
func testLongOutput(t *testing.T, b *browser) {
	var written strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&written, "line %d\n", i)
	}
	v := serve(t, made(t, acptermtest.Commands{
		"count": acptermtest.Print(written.String(), 0), "short": acptermtest.Print("one\n", 0),
	}), nil)
	long, short := v.create(t, "count"), v.create(t, "short")
	<-long.Done()
	p := b.open(t, v.only(long))
	p.until(`el.text.endsWith('line 29999\n') && visible(part('.cut'))`)
	require.Contains(t, eval[string](p, `part('.cut').textContent`), "Only the last 10,000 lines are here.")
	require.True(t, eval[bool](p, fmt.Sprintf(`fetch(part('.whole').href).then(r => r.text()).then(text => text === %q)`,
		written.String())))
	p.requireQuiet()
	p.close()
	p = b.open(t, v.only(short))
	p.until(`el.text === 'one\n' && !visible(part('.cut'))`)
}

// A page can ask for dark or light, whatever the system has.
func testTheme(t *testing.T, b *browser) {
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Print("hello\n", 0)}), nil)
	p := b.open(t, v.only(v.create(t, "make")), look("light", 900, 600, 1))
	p.until(`el.text === 'hello\n'`)
	colour := func() string { return eval[string](p, `getComputedStyle(part('.box')).backgroundColor`) }
	require.Equal(t, "rgb(255, 255, 255)", colour())
	eval[bool](p, `(el.setAttribute('theme', 'dark'), true)`)
	require.Equal(t, "rgb(15, 20, 27)", colour())
	p.until(`getComputedStyle(part('.xterm-rows')).color === 'rgb(214, 221, 230)'`)
	p.run(look("dark", 900, 600, 1))
	eval[bool](p, `(el.setAttribute('theme', 'light'), true)`)
	require.Equal(t, "rgb(255, 255, 255)", colour())
	p.until(`getComputedStyle(part('.xterm-rows')).color === 'rgb(36, 41, 47)'`)
	p.requireQuiet()
}

package browsertest

// Reading, finding, filtering and copying.

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
)

// Columns after wide characters are in the same place as in a terminal, and a wrapped line has no extra blank.
func testWide(t *testing.T, b visitor) {
	wide := "x" + strings.Repeat("日本", 100) + "\n"
	v := serve(t, made(t, acptermtest.Commands{
		"emoji": acptermtest.Print("😀|\n✅|\nab|\n🚀🎉|\nabcd|\n", 0), "wide": acptermtest.Print(wide, 0),
	}), nil)
	p := b.visit(t, v.only(v.create(t, "emoji")))
	p.resize(1000, 600)
	p.until(`el.text === '😀|\n✅|\nab|\n🚀🎉|\nabcd|\n'`)
	p.until(`part('.xterm-rows').innerText.includes('abcd|')`) // drawn
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
	p.end()

	p = b.visit(t, v.only(v.create(t, "wide")))
	p.resize(900, 600)
	p.until(fmt.Sprintf(`el.text === %q`, wide))
	p.requireQuiet()
}

// An address in the output opens when the user has clicked it and confirmed all of it. Nothing else does.
func testLinks(t *testing.T, b *browser) {
	long := "https://shop.example/" + strings.Repeat("a/", 80) + "?q=1"
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Print(
		"see http://127.0.0.1:1/x?y=z#w, or not\njavascript:alert(1) file:///etc/passwd\n日本 "+long+"\n"+
			"\x1b]8;;https://evil.example\x07http://good.example\x1b]8;;\x07\n", 0)}), nil)
	p := b.open(t, v.only(v.create(t, "make")), look("light", 1000, 600, 1))
	p.until(`el.text.includes('good.example') && el.row.ended`)
	eval[bool](p, `(window.asked = [], window.opened = [], window.confirm = text => { asked.push(text.split('\n').at(-1)); return agree },
		window.open = (...all) => { opened.push(all.join(' ')) }, window.agree = false, true)`)
	for _, c := range []struct {
		column, row int
		want        string // empty if it is not a link
	}{
		{8, 0, "http://127.0.0.1:1/x?y=z#w"}, {1, 0, ""}, {33, 0, ""}, {3, 1, ""}, {25, 1, ""}, {30, 2, long}, {20, 3, long},
		{8, 4, "http://good.example"},
	} {
		eval[bool](p, `(asked.length = opened.length = 0, agree = false, true)`)
		p.clickText(c.column, c.row, c.want != "")
		if c.want == "" {
			require.Empty(t, eval[[]string](p, `asked`), "%+v", c)
			continue
		}
		p.until(fmt.Sprintf(`asked.join() === %q`, c.want))
		require.Empty(t, eval[[]string](p, `opened`))
		eval[bool](p, `(agree = true)`)
		p.clickText(c.column, c.row, true)
		p.until(fmt.Sprintf(`opened.join() === %q`, c.want+" _blank noopener,noreferrer"))
	}
	p.requireQuiet()
}

// clickText clicks a character of the output. It clicks a link once xterm.js shows that the pointer is on one, which may
// be some time after the move. The rows may also move, until the end of the command is shown.
func (p *page) clickText(column, row int, isLink bool) {
	p.t.Helper()
	const onLink = `(!!el.shadowRoot.querySelector('.xterm-cursor-pointer'))`
	p.run(chromedp.MouseEvent(chromedp.MouseMoved, 0, 0))
	p.until("!" + onLink) // the pointer has left the last link
	for deadline := time.Now().Add(timeout); ; time.Sleep(20 * time.Millisecond) {
		at := eval[struct{ X, Y float64 }](p, fmt.Sprintf(`(() => {
			const row = el.shadowRoot.querySelectorAll('.xterm-rows > div')[%d].getBoundingClientRect()
			return { X: row.x + 7.8 * (%d + .5), Y: row.y + row.height / 2 }
		})()`, row, column))
		p.run(chromedp.MouseEvent(chromedp.MouseMoved, at.X+7.8, at.Y)) // xterm.js asks for links at another cell only
		p.run(chromedp.MouseEvent(chromedp.MouseMoved, at.X, at.Y))
		if !isLink || eval[bool](p, onLink) {
			p.run(chromedp.MouseClickXY(at.X, at.Y))
			return
		}
		require.True(p.t, time.Now().Before(deadline), "no link in row %d, column %d", row, column)
	}
}

// An invisible character, or one that changes the order of others, ends a link. Otherwise the page would show a
// different address from the one that opens. xterm.js itself drops control characters and U+FEFF.
func testLinksEndAtHiddenCharacters(t *testing.T, b *browser) {
	hidden := []rune{
		0xa0, 0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x1680, 0x17b4, 0x180e, 0x2000, 0x200b, 0x200c, 0x200d, 0x200e,
		0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x202f, 0x205f, 0x2060, 0x2064, 0x2066, 0x2069, 0x206a, 0x206f, 0x2800,
		0x3000, 0x3164, 0xe000, 0xfe0f, 0xffa0, 0xfff9, 0x110bd, 0x1d173, 0xe0001, 0xe0041, 0xe0100,
	}
	var output strings.Builder
	for _, r := range hidden {
		fmt.Fprintf(&output, "http://good.example/a%cb\n", r)
	}
	output.WriteString("http://good.example/a\u0301b\u00e9/\u65e5\U0001f600z end\n") // visible characters do not
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Print(output.String(), 0)}), nil)
	p := b.open(t, v.only(v.create(t, "make")), look("light", 1000, 1200, 1))
	p.until(`el.text.includes('end') && el.row.ended`)
	eval[bool](p, `(window.asked = [], window.confirm = text => { asked.push(text.split('\n').at(-1)); return false }, true)`)
	for row := range len(hidden) + 1 {
		want := "http://good.example/a"
		name := "the last"
		if row < len(hidden) {
			name = fmt.Sprintf("U+%04X", hidden[row])
		} else {
			want = "http://good.example/a\u0301b\u00e9/\u65e5\U0001f600z"
		}
		eval[bool](p, `(asked.length = 0, true)`)
		p.clickText(8, row, true)
		p.until(`asked.length > 0`)
		if got := eval[string](p, `asked.join()`); got != want {
			t.Errorf("%s: the link is %+q, not %+q", name, got, want)
		}
	}
	p.requireQuiet()
}

func testList(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{
		"good": acptermtest.Print("", 0), "bad": acptermtest.Print("", 1), "serve": acptermtest.Block,
	}), nil)
	for _, command := range []string{"good", "bad", "serve"} {
		terminal := v.create(t, command)
		if command != "serve" {
			<-terminal.Done()
		}
	}
	p := b.visit(t, v.url)
	p.resize(1000, 600)
	p.until(`document.querySelectorAll('nav li').length === 3`)
	const shown = `[...document.querySelectorAll('nav li')].filter(visible).map(li => li.querySelector('.command').textContent).join()`
	require.Equal(t, "1 running\n1 failed\n1 done", eval[string](p, `[...document.querySelectorAll('#counts button')].filter(visible).map(
		button => button.textContent).join('\n')`))
	for _, step := range []struct{ kind, want string }{
		{"running", "serve"}, {"failed", "bad"}, {"done", "good"}, {"done", "serve,bad,good"}, // the second click shows all
	} {
		eval[bool](p, fmt.Sprintf(`(document.querySelector('[data-kind=%s]').click(), true)`, step.kind))
		p.until(fmt.Sprintf(`%s === %q`, shown, step.want))
	}
	eval[bool](p, `(document.querySelector('nav summary').click(), true)`)
	p.until(shown + ` === ''`)
	eval[bool](p, `(document.querySelector('nav summary').click(), document.getElementById('newest').click(), true)`)
	terminal := v.create(t, "good")
	p.until(fmt.Sprintf(`el.getAttribute('src').endsWith(%q) && location.hash === '#' + %[1]q`, v.key(terminal)))
	p.requireQuiet()
}

// The text of the filter selects commands by their words, their session and their directory. Sessions without a match
// disappear, and an empty result says so. Arrow keys go from command to command.
func testFilter(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"go": acptermtest.Print("", 0), "npm": acptermtest.Print("", 1)}), nil)
	run := func(session acpterm.SessionID, command string, args ...string) {
		terminal, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: session, Command: command, Args: args}, nil)
		require.NoError(t, err)
		<-terminal.Done()
	}
	run("first", "go", "test", "./cart")
	run("first", "npm", "run", "build")
	run("second", "go", "vet", "./cart")
	p := b.visit(t, v.url)
	p.until(`document.querySelectorAll('nav li').length === 3`)
	const shown = `[...document.querySelectorAll('nav h2, nav .command')].filter(visible).map(node => node.textContent).join(', ')`
	filter := func(text string) {
		eval[bool](p, fmt.Sprintf(`(() => {
			const filter = document.getElementById('filter-text')
			filter.value = %q
			return filter.dispatchEvent(new Event('input'))
		})()`, text))
	}
	for _, step := range []struct{ text, want string }{
		{"CART test", "first, go test ./cart"}, {"second", "second, go vet ./cart"}, {"vet first", ""},
		{"", "second, go vet ./cart, first, npm run build, go test ./cart"},
	} {
		filter(step.text)
		p.until(fmt.Sprintf(`%s === %q`, shown, step.want))
		p.until(fmt.Sprintf(`visible(document.getElementById('none')) === %v`, step.want == "")) // after the output is searched
	}
	eval[bool](p, `(document.querySelector('nav a').focus(), true)`)
	for _, step := range []struct {
		key string
		to  int
	}{{"ArrowDown", 1}, {"ArrowUp", 0}} {
		pressOn(p, step.key)
		require.True(t, eval[bool](p, fmt.Sprintf(`document.activeElement === document.querySelectorAll('nav a')[%d]`, step.to)))
	}
	eval[bool](p, `(document.querySelector('[data-kind=failed]').click(), true)`)
	p.until(shown + ` === 'first, npm run build'`)
	filter("vet")
	p.until(shown + ` === ''`)
	run("third", "npm", "vet")
	p.until(shown + ` === 'third, npm vet'`)
	filter("nothing has this")
	p.until(`visible(document.getElementById('none'))`)
	eval[bool](p, `(document.getElementById('show-all').click(), true)`)
	p.until(`[...document.querySelectorAll('nav li')].filter(visible).length === 4 && document.getElementById('filter-text').value === ''`)
	p.requireQuiet()
}

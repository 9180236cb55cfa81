package browsertest

// The page in a browser.

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/terminaltest/children"
	"github.com/acpterm/acpterm/view"
)

// made returns a manager for commands without processes.
func made(t testing.TB, commands acptermtest.Commands) *acpterm.Manager {
	return acptermtest.NewManager(t, &acpterm.Options{Runner: commands})
}

// TestInTheBrowser starts one browser for all tests, because the start takes most of the time.
func TestInTheBrowser(t *testing.T) {
	b := startBrowser(t)
	for _, test := range withPTY {
		t.Run(test.name, func(t *testing.T) { test.run(t, b) })
	}
	for _, test := range inEach {
		if test.real {
			t.Run(test.name, func(t *testing.T) { test.run(t, b) })
		}
	}
	t.Parallel() // the tests above have processes, and run alone
	for _, test := range inChromium {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, b)
		})
	}
	for _, test := range inEach {
		if !test.real {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				test.run(t, b)
			})
		}
	}
}

// inChromium lists tests that need more from a browser than a visitor provides.
var inChromium = []struct {
	name string
	run  func(*testing.T, *browser)
}{
	{"colors and progress bars look as they should", testRendering},
	{"escape sequences have no effect", testInert},
	{"requests without the token, or for another host or origin, are refused", testRefusals},
	{"the keyboard reaches everything", testKeyboard},
	{"scrolling up stops following", testFollowing},
	{"the page is seen in forced colors", testForcedColors},
	{"axe has no serious finding", testAxe},
	{"a day of commands leaves nothing in the memory of the page", testDay},
	{"a terminal outlives its connection, and continues on the next one", testTakeOver},
	{"an address opens after a look at all of it", testLinks},
	{"an address ends at a character that hides or reorders others", testLinksEndAtHiddenCharacters},
}

// withPTY lists such tests with real commands.
var withPTY = []struct {
	name string
	run  func(*testing.T, *browser)
}{
	{"what a person types reaches the command, and nothing else does", testTyping},
	{"a port of another machine is no link", testRemotePort},
	{"what was typed arrives in order, one request at a time", testTypingInOrder},
	{"pasted text is text, in brackets where the command asks for it", testPasting},
	{"the keyboard can leave a terminal that takes keys", testLeaving},
	{"without leave nothing is typed", testTypingOff},
	{"typing is off while the connection is lost", testTypingOffline},
	{"a PTY has its size on the page, and a resize changes it", testSize},
	{"the alternate screen comes and goes", testAlternateScreen},
	{"the lines of a PTY that the page has no room for are said to be missing", testLongPTY},
	{"what a page missed of a PTY is not written on its screen", testMissedOfPTY},
	{"the element takes keys in another page", testTypingInOwnPage},
	{"axe has no serious finding about the keys of a phone", testAxeOfKeys},
	{"hostile output of a PTY only shows text, and sends nothing", testHostilePTY},
}

func testLive(t *testing.T, b visitor) {
	texts := make(chan string)
	v := serve(t, made(t, acptermtest.Commands{"make": steps(texts)}), nil)
	p := b.visit(t, v.url)
	p.until(`document.getElementById('nothing').checkVisibility()`)
	require.Equal(t, "No command has run yet", eval[string](p, `document.querySelector('#nothing b').textContent`))
	terminal := v.create(t, "make")
	p.until(`el.row.state === 'running' && part('.state').textContent === 'running'`)
	texts <- "one\n"
	p.until(`el.text === 'one\n'`)
	texts <- "two\n"
	p.until(`el.text === 'one\ntwo\n'`)
	require.Equal(t, acpterm.StateRunning, terminal.State())
	require.Equal(t, "1 running", eval[string](p, `document.getElementById('counts').innerText.trim()`))
	close(texts)
	p.until(`part('.state').textContent === 'done'`)
	p.until(`document.querySelector('nav b').textContent === 'done'`)
	require.NoError(t, v.Release(t.Context(), "session-1", terminal.ID()))
	p.reload()
	p.until(`el.text === 'one\ntwo\n' && part('.state').textContent === 'done'`)
	numbers := eval[string](p, `part('.numbers').innerText`)
	require.Contains(t, numbers, "/home/me/shop")
	require.Contains(t, numbers, "session-1")
	require.Contains(t, numbers, "8 B")
	p.requireQuiet()
}

// The page shows the same terminal while a connection has it, while none has, and on the next one.
func testTakeOver(t *testing.T, b *browser) {
	texts := make(chan string)
	v := serve(t, made(t, acptermtest.Commands{"serve": steps(texts)}), nil)
	options := &acpterm.HandlerOptions{KeepOnClose: time.Hour}
	first, next := acpterm.NewHandler(v.Manager, options), acpterm.NewHandler(v.Manager, options)
	_, err := first.Dispatch(t.Context(), acpterm.MethodCreate, []byte(`{"sessionId":"s","command":"serve"}`))
	require.NoError(t, err)
	p := b.open(t, v.url)
	texts <- "before\n"
	p.until(`el.text === 'before\n'`)
	require.NoError(t, first.Close())
	texts <- "between\n"
	p.until(`el.text === 'before\nbetween\n'`)
	require.Len(t, next.TakeOver("s"), 1)
	texts <- "after\n"
	p.until(`el.text === 'before\nbetween\nafter\n' && part('.state').textContent === 'running'`)
	require.Equal(t, 1, eval[int](p, `document.querySelectorAll('nav b').length`))
	close(texts)
	p.until(`part('.state').textContent === 'done'`)
	p.requireQuiet()
}

// style waits for a text on the screen and returns one of its style properties.
func style(p tab, text, property string) string {
	span := fmt.Sprintf(`[...el.shadowRoot.querySelectorAll('.xterm-rows span')].find(span => span.textContent.includes(%q))`, text)
	p.until(span)
	return eval[string](p, fmt.Sprintf(`getComputedStyle(%s)[%q]`, span, property))
}

func testRendering(t *testing.T, b *browser) {
	v := serve(t, made(t, acptermtest.Commands{"build": acptermtest.Print(
		"\x1b[31mred\x1b[0m \x1b[38;2;10;120;200mexact\x1b[0m \x1b[1mbold\x1b[0m plain\n"+
			"  0%\r 50%\r100%\x1b[K done\nspinning |\b/\b-\b\\\b \n", 0)}), nil)
	terminal := v.create(t, "build")
	p := b.open(t, v.only(terminal), look("dark", 1000, 600, 1))
	p.until(`el.text === 'red exact bold plain\n100% done\nspinning  \n'`)
	require.Equal(t, "rgb(255, 123, 114)", style(p, "red", "color"), "the theme's red")
	require.NotEqual(t, style(p, "plain", "color"), style(p, "exact", "color"), "a style attribute, in spite of the policy")
	require.Equal(t, "700", style(p, "bold", "fontWeight"))
	p.run(look("light", 1000, 600, 1))
	p.until(`getComputedStyle([...el.shadowRoot.querySelectorAll('.xterm-rows span')].find(
		span => span.textContent.includes('red'))).color === 'rgb(193, 33, 43)'`)

	// A page can ask for dark or light, whatever the system uses.
	for theme, colours := range map[string]string{"dark": "rgb(15, 20, 27) rgb(214, 221, 230)", "light": "rgb(255, 255, 255) rgb(36, 41, 47)"} {
		p.run(look(map[string]string{"dark": "light", "light": "dark"}[theme], 1000, 600, 1))
		eval[bool](p, fmt.Sprintf(`(el.setAttribute('theme', %q), true)`, theme))
		p.until(fmt.Sprintf(`getComputedStyle(part('.box')).backgroundColor + ' ' + getComputedStyle(part('.xterm-rows')).color === %q`, colours))
	}
	p.requireQuiet()
}

func testResuming(t *testing.T, b visitor) {
	texts := make(chan string)
	v := serve(t, made(t, acptermtest.Commands{"count": steps(texts)}), &view.Options{MaxStreams: 2})
	terminal := v.create(t, "count")
	p := b.visit(t, v.url)
	var want strings.Builder
	print := func(from, to int) {
		for i := from; i < to; i++ {
			line := fmt.Sprintf("line %d é\n", i)
			want.WriteString(line)
			texts <- line
		}
	}
	shown := func() { p.until("el.text === " + strconv.Quote(want.String())) }
	print(0, 20)
	shown()
	p.reload()
	print(20, 40)
	shown()
	for i := 40; i < 100; i += 20 {
		v.open.drop()
		print(i, i+20)
		shown()
	}
	// A hidden page keeps only the connection of the list.
	setHidden(p, true)
	require.Eventually(t, func() bool {
		response, err := http.Get(v.url + "events")
		require.NoError(t, err)
		t.Cleanup(func() { response.Body.Close() })
		return response.StatusCode == http.StatusOK
	}, timeout, 10*time.Millisecond, "the page receives both")
	before := eval[string](p, "el.text")
	print(100, 120)
	require.Equal(t, before, eval[string](p, "el.text"))
	v.open.drop()
	setHidden(p, false)
	shown()
	require.Zero(t, eval[int](p, "el.missed"))
	close(texts)
	<-terminal.Done()
	p.until(`part('.state').textContent === 'done'`)
	shown()
}

func testStop(t *testing.T, b visitor) {
	m := acptermtest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM,
		Wait: time.Hour}}}})
	v := serve(t, m, &view.Options{AllowStop: true})
	family := children.Args("family")
	terminal, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: family[0],
		Args: family[1:]}, nil)
	require.NoError(t, err)
	p := b.visit(t, v.url)
	p.until(`/ready \d+/.test(el.text) && visible(part('.stop'))`)
	child, err := strconv.Atoi(regexp.MustCompile(`ready (\d+)`).FindStringSubmatch(eval[string](p, "el.text"))[1])
	require.NoError(t, err)
	p.click(".stop")
	p.until(`part('.stop').textContent === 'Force stop'`) // the state is "stopping" only until the command exits
	require.True(t, alive(child), "it does not end when it is asked to")
	p.click(".stop")
	p.until(`part('.state').textContent.startsWith('stopped') && !visible(part('.stop'))`)
	<-terminal.Done()
	require.False(t, alive(child))
	p.requireQuiet()
}

// alive reports whether a process is running. Without /proc it returns false.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func testReadOnly(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"serve": acptermtest.Block}), nil)
	terminal := v.create(t, "serve")
	p := b.visit(t, v.url)
	p.until(`part('.state').textContent === 'running'`)
	require.False(t, eval[bool](p, `visible(part('.stop'))`))
	eval[bool](p, `el.stop().then(() => true)`)
	p.until(`part('.problem').textContent === 'Not stopped: for reading only'`)
	require.Equal(t, acpterm.StateRunning, terminal.State())
}

// flood writes lines as fast as it can after its start, until it has written that many bytes or gets a signal.
func flood(start <-chan struct{}, bytes int) acptermtest.Script {
	return func(p *acptermtest.Process) int {
		fmt.Fprintln(p, "begin")
		select {
		case <-start:
		case <-p.Context().Done():
		}
		block := []byte(strings.Repeat("\x1b[32mok\x1b[0m  shop.example/cart  0.031s  coverage: 81.2% of statements\n",
			1000))
		for written := 0; written < bytes; written += len(block) {
			if _, err := p.Write(block); err != nil {
				return 1
			}
		}
		fmt.Fprintln(p, "\nthe end")
		return 0
	}
}

func testSlow(t *testing.T, b visitor) {
	start := make(chan struct{})
	v := serve(t, made(t, acptermtest.Commands{"flood": flood(start, 20e6)}), nil)
	limit := uint64(64 << 10)
	terminal, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "flood",
		OutputByteLimit: &limit}, nil)
	require.NoError(t, err)
	p := b.visit(t, v.only(terminal))
	p.until(`el.text === 'begin\n'`)
	close(start)
	p.click("button[aria-controls=find]")
	p.until(`visible(part('.find'))`)
	<-terminal.Done()
	p.until(`el.text.endsWith('the end\n')`)
	p.click("button[aria-controls=find]")
	p.until(`!visible(part('.find'))`)
	require.LessOrEqual(t, eval[int](p, `el.text.split('\n').length`), 10_100, "what the page holds is bounded")
	require.Positive(t, eval[int](p, "el.missed"))
	require.Contains(t, eval[string](p, "el.text"), " not shown: the output was faster than this page.")
	p.reload()
	p.until(`el.text.endsWith('the end\n')`)
	require.InDelta(t, terminal.OutputTotal()-64<<10, eval[int64](p, "el.missed"), 10, "all but what is kept")
	require.Regexp(t, `^\s*\d+\.\d MB not shown`, eval[string](p, "el.text"))
	p.requireQuiet()
}

func testText(t *testing.T, b visitor) {
	script := `<script>window.hurt = 1</script><img src=x onerror="window.hurt = 1">`
	m := acptermtest.NewManager(t, &acpterm.Options{
		Runner: acptermtest.Commands{"sh": acptermtest.Print(script+"\n", 0)}, Commands: acpterm.CommandOptions{
			ShellLines: acpterm.ShellAlways,
		}})
	v := serve(t, m, nil)
	_, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: acpterm.SessionID(script), Command: script}, nil)
	require.NoError(t, err)
	p := b.visit(t, v.url)
	p.until("el.text === " + strconv.Quote(script+"\n"))
	require.Equal(t, script, eval[string](p, `part('.command').textContent`))
	require.Equal(t, script, eval[string](p, `document.querySelector('nav .command').textContent`))
	require.Equal(t, script, eval[string](p, `document.querySelector('nav h2').textContent`))
	require.True(t, eval[bool](p, `window.hurt === undefined && !document.querySelector('img') && !part('img, script')`))
	p.requireQuiet()
}

func testInert(t *testing.T, b *browser) {
	v := serve(t, made(t, acptermtest.Commands{"hurt": acptermtest.Print(
		hostile+"\x1b[?1049h\x1b[?1000h\x1b[?1003;1006h\x1b[?2004h"+ // the alternate screen, the mouse
			"\x1b[31mred\x1b[0m still here\n", 0)}), nil)
	terminal := v.create(t, "hurt")
	p := b.open(t, v.only(terminal), look("dark", 1000, 600, 1))
	p.until(`el.text === 'link more red still here\n'`)
	require.Equal(t, "done: hurt", eval[string](p, "document.title"), "the command")
	require.Equal(t, "rgb(255, 123, 114)", style(p, "red", "color"))
	p.click(".screen") // at its center
	at := eval[struct{ X, Y float64 }](p, `(() => {
		const box = part('.xterm-screen').getBoundingClientRect()
		return { X: box.x + 10, Y: box.y + 8 }
	})()`)
	p.run(chromedp.MouseClickXY(at.X, at.Y))
	require.False(t, eval[bool](p, `!!part('.enable-mouse-events, .xterm-cursor-pointer, a[href]:not(.whole), .xterm-underline-5') || window.hurt !== undefined`))
	require.Equal(t, "", eval[string](p, `part('textarea').value`))
	p.requireQuiet()
}

func testRefusals(t *testing.T, b *browser) {
	v := serve(t, made(t, acptermtest.Commands{"serve": acptermtest.Block}), &view.Options{AllowStop: true})
	terminal := v.create(t, "serve")
	body := func(url string) string {
		p := b.open(t, url)
		defer p.close()
		return eval[string](p, "document.body.textContent")
	}
	require.Contains(t, body(v.server.URL+"/"), "not without the token")
	require.Contains(t, body(v.server.URL+"/wrong-token-of-some-length/"), "not without the token")
	port := v.server.URL[strings.LastIndexByte(v.server.URL, ':'):]
	require.Contains(t, body("http://evil.example"+port+v.view.Path()), "not under this name")

	// Another origin, with the token.
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>other</title><link rel=icon href=data:,>")
	}))
	t.Cleanup(other.Close)
	p := b.open(t, other.URL)
	address := v.server.URL + v.view.TerminalPath(terminal.SessionID(), terminal.ID())
	try := func(path, options string) string {
		return eval[string](p, fmt.Sprintf(`fetch(%q, %s).then(r => r.type + ' ' + r.status, e => e.name)`, address+path,
			options))
	}
	require.Equal(t, "TypeError", try("/output", "{}"), "it cannot read")
	require.Equal(t, "TypeError", try("/stop", "{ method: 'POST', headers: { 'Acp-Terminal': 'stop' } }"),
		"nor set the header")
	try("/stop", "{ method: 'POST', mode: 'no-cors' }")
	require.True(t, eval[bool](p, fmt.Sprintf(`new Promise(done => {
		const frame = document.createElement('iframe')
		frame.onload = () => { try { frame.contentDocument; done(frame.contentDocument === null) } catch { done(true) } }
		frame.src = %q
		document.body.append(frame)
	})`, v.url)), "nor frame it")
	require.Equal(t, acpterm.StateRunning, terminal.State())
	p.close()
}

func testKeyboard(t *testing.T, b *browser) {
	v := serve(t, made(t, acptermtest.Commands{"serve": func(p *acptermtest.Process) int {
		fmt.Fprint(p, "a needle\n", strings.Repeat("hay\n", 200), "a needle\n")
		return acptermtest.Block(p)
	}}), &view.Options{AllowStop: true})
	terminal := v.create(t, "serve")
	p := b.open(t, v.url, look("light", 1280, 760, 1))
	p.until(`el.text.endsWith('needle\n') && visible(part('.stop'))`)
	var order []string
	for range 14 {
		p.press(kb.Tab)
		order = append(order, strings.SplitN(p.focused(), ",", 2)[0])
	}
	order[6], _, _ = strings.Cut(order[6], " ")
	require.Equal(t, []string{
		"Skip to the terminal", "1 running", "Follow the newest", "Notify of ends", "Filter the commands", "session-1",
		"serverunning", "Screen reader", "Find", "More", "Full screen", "Stop", "Link to a line", "Output",
	}, order)
	require.Equal(t, "solid", eval[string](p, `getComputedStyle(part('.body'), '::after').outlineStyle`), "the focus is seen")
	require.True(t, eval[bool](p, "el.following"))
	p.press(kb.PageUp)
	p.until("!el.following && visible(part('.to-end'))")
	p.press(kb.End)
	p.until("el.following && !visible(part('.to-end'))")
	p.press(kb.Home)
	p.until("!el.following")
	p.press("f", chromedp.KeyModifiers(kb.ModifierCtrl))
	p.until(`visible(part('.find'))`)
	require.Equal(t, "Find in the output", p.focused())
	require.Equal(t, "auto", eval[string](p, `getComputedStyle(part('.find input')).outlineStyle === 'none' ? 'none' : 'auto'`), "the focus is seen")
	p.until(`part('.xterm-rows').firstChild.textContent.startsWith('a needle')`) // the bar moves nothing
	p.press("needle")
	p.until(`part('.count').textContent === '1 of 2'`)
	p.press(kb.Enter)
	p.until(`part('.count').textContent === '2 of 2' && el.following`)
	p.press(kb.Enter, chromedp.KeyModifiers(kb.ModifierShift))
	p.until(`part('.count').textContent === '1 of 2'`)
	p.press("x")
	p.until(`part('.count').textContent === 'No results'`)
	p.press(kb.Escape)
	p.until(`!visible(part('.find'))`)
	require.Contains(t, p.focused(), "Output")
	eval[bool](p, `(part('.stop').focus(), true)`)
	for range 2 { // over Follow
		p.press(kb.Tab)
	}
	p.press(kb.ArrowDown) // the first line in view, and then the next
	p.press(kb.ArrowDown)
	p.until(`location.hash.endsWith(':L2') && ` + marked + ` === 'hay'`)
	for range 2 {
		p.press(kb.Tab, chromedp.KeyModifiers(kb.ModifierShift))
	}
	p.press(kb.Enter)
	<-terminal.Done()
	p.until(`!visible(part('.stop'))`)
	require.Equal(t, "More", p.focused(), "the focus is not lost")
	p.requireQuiet()
}

// What axe does not check.
func testForcedColors(t *testing.T, b *browser) {
	v := serve(t, made(t, acptermtest.Commands{"serve": acptermtest.Block}), &view.Options{AllowStop: true})
	v.create(t, "serve")
	p := b.open(t, v.url, look("light", 1000, 700, 1))
	p.until(`part('.state').textContent === 'running'`)
	p.run(forcedColors)
	require.True(t, eval[bool](p, `(() => {
		const back = node => getComputedStyle(node).backgroundColor
		const row = document.querySelector('nav a[aria-current]'), dot = row.querySelector('.dot')
		const chip = document.querySelector('#counts button')
		const seen = color => color !== back(document.querySelector('nav'))
		return matchMedia('(forced-colors: active)').matches && getComputedStyle(row).outlineStyle === 'solid' && seen(back(dot)) &&
			seen(getComputedStyle(part('.state'), '::before').backgroundColor) && seen(getComputedStyle(chip, '::before').backgroundColor)
	})()`), "the current row and the dots are seen")
	require.Equal(t, "none", eval[string](p, `getComputedStyle(part('.xterm')).forcedColorAdjust`), "the cursor, the selection and matches are seen, too")
	p.requireQuiet()
}

func testFollowing(t *testing.T, b *browser) {
	texts := make(chan string)
	v := serve(t, made(t, acptermtest.Commands{"make": steps(texts)}), nil)
	v.create(t, "make")
	p := b.open(t, v.url)
	texts <- strings.Repeat("line\n", 300) + "a\n"
	p.until(`el.text.endsWith('a\n') && el.following`)
	at := eval[struct{ X, Y float64 }](p, `(() => { const r = part('.screen').getBoundingClientRect(); return { X: r.x + 50, Y: r.y + 50 } })()`)
	wheel(p, at.X, at.Y, -400)
	p.until(`!el.following && visible(part('.to-end')) && part('.to-end').textContent === '↓ Follow'`)
	require.True(t, eval[bool](p, `part('.to-end').getBoundingClientRect().bottom <= part('.screen').getBoundingClientRect().top`), "it covers nothing")
	texts <- strings.Repeat("more\n", 50) + "b\n"
	p.until(`el.text.endsWith('b\n')`)
	require.False(t, eval[bool](p, "el.following"), "what is being read stays where it is")
	for range 30 { // three lines each
		wheel(p, at.X, at.Y, 400)
	}
	p.until(`el.following && !visible(part('.to-end'))`)
	texts <- strings.Repeat("more\n", 50) + "c\n"
	p.until(`el.text.endsWith('c\n') && el.following`)
	wheel(p, at.X, at.Y, -400)
	p.until(`visible(part('.to-end'))`)
	close(texts)
	p.until(`part('.state').textContent === 'done' && part('.to-end').textContent === '↓ End'`)
	p.click(".to-end")
	p.until(`el.following && !visible(part('.to-end'))`)
	p.requireQuiet()
}

func testOwnPage(t *testing.T, b visitor) {
	m := made(t, acptermtest.Commands{"make": acptermtest.Print("\x1b[38;2;1;2;3mhello\x1b[0m\n", 0),
		"serve": acptermtest.Block})
	v := serve(t, m, &view.Options{AllowStop: true})
	v.create(t, "make").Wait(t.Context())
	serving := v.create(t, "serve")
	p := b.visit(t, host(t, `<meta http-equiv="Content-Security-Policy"
		content="default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:">`, v))
	p.until(`el.text === 'hello\n' && part('.state').textContent === 'done'`)
	const other = `document.querySelectorAll('acp-terminal')[1]`
	p.until(other + `.shadowRoot.querySelector('.state').textContent === 'running'`)
	eval[bool](p, other+`.stop().then(() => true)`)
	<-serving.Done()
	p.until(other + `.shadowRoot.querySelector('.state').textContent.startsWith('stopped')`)
	eval[bool](p, `(() => { const parent = el.parentNode; el.remove(); parent.append(el); return true })()`) // moved
	p.until(`[...document.querySelectorAll('acp-terminal')].some(x => x.text === 'hello\n')`)
	eval[bool](p, `(el.setAttribute('src', document.querySelectorAll('acp-terminal')[1].getAttribute('src')), true)`)
	p.until(`el.text === 'hello\n'`)
	require.Equal(t, "mine", eval[string](p, "document.title"))
	p.requireQuiet()
}

var denyRemovals acpterm.PolicyFunc = func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
	if p.Command.Args[0] == "rm" {
		return acpterm.Decision{Verdict: acpterm.VerdictDeny, Rule: "no-removals", Reason: "Files are removed by people only."}
	}
	return acpterm.Decision{Verdict: acpterm.VerdictAllow}
}

func testDenied(t *testing.T, b visitor) {
	m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{"rm": acptermtest.Block},
		Policy: denyRemovals})
	v := serve(t, m, nil)
	_, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "rm", Args: []string{"-rf",
		"/"}}, nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
	p := b.visit(t, v.url)
	p.until(`part('.state').textContent === 'denied' && part('.message').textContent.includes('Files are removed by people only.')`)
	require.Contains(t, eval[string](p, `part('.message').textContent`), "no-removals")
	require.Equal(t, "This command was denied and did not run.", eval[string](p, `part('.message b').textContent`)) // also in several lines
	p.requireQuiet()
}

package browsertest

// Commands with a PTY in the page: typing, the size, full-screen programs, hostile output.

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
)

// typist is a viewer of commands with a PTY. It records the requests and events of typed text.
type typist struct {
	*viewer
	gate chan struct{} // if not nil, requests wait until it is closed

	mu     sync.Mutex
	bodies []string
	bytes  int // reported by the events
}

// serveTyping serves a view that accepts typing.
func serveTyping(t *testing.T, options *view.Options, configure ...func(*httptest.Server)) *typist {
	if runtime.GOOS != "linux" {
		t.Skip("the programs of these tests are Linux's")
	}
	y := &typist{}
	m := acptermtest.NewManager(t, nil)
	m.Observe(func(e acpterm.Event) {
		if typed, ok := e.(*acpterm.InputEvent); ok {
			y.mu.Lock()
			defer y.mu.Unlock()
			y.bytes += typed.Bytes
		}
	})
	y.viewer = serve(t, m, options, append(configure, func(server *httptest.Server) {
		inner := server.Config.Handler
		server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/input") {
				body, _ := io.ReadAll(r.Body)
				y.mu.Lock()
				y.bodies = append(y.bodies, string(body))
				y.mu.Unlock()
				if y.gate != nil {
					<-y.gate
				}
				r.Body = io.NopCloser(strings.NewReader(string(body)))
			}
			inner.ServeHTTP(w, r)
		})
	})...)
	return y
}

// sh starts a script on a PTY.
func (y *typist) sh(t *testing.T, script string) *acpterm.Terminal {
	t.Helper()
	terminal, err := y.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "session-1", Command: "sh",
		Args: []string{"-c", script}, Env: []acpterm.EnvVariable{{Name: "LC_ALL", Value: "C.UTF-8"}},
	}, &acpterm.CommandOptions{PTY: &acpterm.PTYOptions{Attended: true}})
	require.NoError(t, err)
	return terminal
}

// requests returns the texts of all requests up to now.
func (y *typist) requests() []string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return append([]string{}, y.bodies...)
}

// focusScreen clicks on the screen and waits until the user can type.
func (p *page) focusScreen() {
	p.t.Helper()
	p.until(`part('.typing').textContent === 'Type here'`)
	p.click(".xterm-screen")
	p.until(`part('.typing').textContent.startsWith('Typing.') && visible(part('.typing'))`)
}

// shortcut presses a key with Control, and lets the browser run its command for it.
func shortcut(p *page, key, command string) {
	p.t.Helper()
	for _, kind := range []input.DispatchKeyEventType{
		input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp,
	} {
		event := input.DispatchKeyEventParams{Type: kind, Modifiers: int64(kb.ModifierCtrl), Key: key,
			Code: "Key" + strings.ToUpper(key), WindowsVirtualKeyCode: int64(strings.ToUpper(key)[0])}
		if kind == input.DispatchKeyEventTypeRawKeyDown {
			event.Commands = []string{command}
		}
		_, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, event)
		require.NoError(p.t, err)
	}
}

func testTyping(t *testing.T, b *browser) {
	y := serveTyping(t, &view.Options{Input: true})
	terminal := y.sh(t, `trap 'echo interrupted; exit 3' INT
		printf 'Name: '; read -r name; stty -echo; printf 'Password: '; read -r password; stty echo; echo
		echo "<$name> $(printf %s "$password" | wc -c)"; while :; do sleep 0.01; done`)
	p := b.open(t, y.url, look("light", 1000, 700, 1))
	p.until(`el.text.startsWith('Name: ') && el.row.pty && el.row.input`)
	p.focusScreen()
	p.press("Name ü\b\b ü") // capitals are separate events
	p.until(`el.text === 'Name: Name ü'`)
	_, err := chromedp.Call(p.ctx, input.ImeSetComposition, input.ImeSetCompositionParams{Text: "nih"})
	require.NoError(t, err)
	for _, text := range []string{"日本", "🙂"} { // the end of a composition, and an input method without one
		_, err = chromedp.Call(p.ctx, input.InsertText, input.InsertTextParams{Text: text})
		require.NoError(t, err)
	}
	p.press("\r")
	p.until(`el.text.includes('Password: ')`)
	p.press("secret\r")
	p.until(`el.text === 'Name: Name ü日本🙂\nPassword: \n<Name ü日本🙂> 6\n'`)
	require.Equal(t, "Name ü\x7f\x7f ü日本🙂\rsecret\r", strings.Join(y.requests(), ""))

	p.until(fmt.Sprintf("el.row.rows !== 24 && %s.length === el.row.rows", drawnRows)) // it fits the pane
	rows := eval[int](p, "el.row.rows")
	at := eval[struct{ X, Y float64 }](p, `(() => {
		const box = part('.xterm-rows > div').getBoundingClientRect()
		return { X: box.x + 10, Y: box.y + box.height / 2 }
	})()`)
	p.run(chromedp.MouseClickXY(at.X, at.Y, chromedp.ClickCount(2)))
	p.until(`part('.xterm-selection').childElementCount > 0`)
	p.run(look("light", 1000, 500, 1)) // a new height keeps the selection
	p.until(fmt.Sprintf("el.row.rows < %d && %s.length === el.row.rows", rows, drawnRows))
	shortcut(p, "c", "copy") // and does not interrupt
	p.until(`part('.xterm-selection').childElementCount === 0`)
	require.NotContains(t, strings.Join(y.requests(), ""), "\x03")
	p.press("c", chromedp.KeyModifiers(kb.ModifierCtrl))
	<-terminal.Done()
	p.until(`part('.state').textContent === 'exit code 3' && el.text.endsWith('interrupted\n')`)
	p.until(`part('.typing').textContent === 'Typing is off: the command has ended.' && !el.row.input`)
	sent := len(y.requests())
	p.press("x\r")
	p.press(kb.Tab)
	require.NotContains(t, p.focused(), "Output", "Tab moves on")
	require.Len(t, y.requests(), sent)
	require.NoError(t, y.Close())
	require.Equal(t, len(strings.Join(y.requests(), "")), y.bytes, "events have how much was typed")
	p.requireQuiet()
}

func testTypingInOrder(t *testing.T, b *browser) {
	y := serveTyping(t, &view.Options{Input: true})
	y.gate = make(chan struct{})
	open := sync.OnceFunc(func() { close(y.gate) })
	t.Cleanup(open)
	terminal := y.sh(t, "stty -echo; echo ready; head -c 100000 | cksum")
	p := b.open(t, y.only(terminal))
	p.until(`el.text === 'ready\n'`)
	p.focusScreen()
	p.press("a")
	require.Eventually(t, func() bool { return len(y.requests()) == 1 }, timeout, 1e6)
	p.press("bcdef\r")
	long := strings.Repeat(strings.Repeat("0123456789", 9)+"\n", 1100) // more than fits into a request
	paste(p, long)
	open()
	p.until(`part('.state').textContent === 'done'`)
	requests := y.requests()
	require.Equal(t, "a", requests[0])
	require.True(t, strings.HasPrefix(requests[1], "bcdef\r0123"), "what was typed during the first is in the second")
	require.Len(t, requests, 3)
	typed := "abcdef\r" + strings.ReplaceAll(long, "\n", "\r")
	require.Equal(t, typed, strings.Join(requests, ""))
	sum := exec.Command("cksum")
	sum.Stdin = strings.NewReader(strings.ReplaceAll(typed, "\r", "\n")[:100000])
	want, err := sum.Output()
	require.NoError(t, err)
	p.until("el.text === " + strconv.Quote("ready\n"+string(want))) // the end may arrive before the last output
	p.requireQuiet()
}

// paste pastes a text into the screen.
func paste(p *page, text string) {
	p.t.Helper()
	eval[bool](p, fmt.Sprintf(`(() => {
		const data = new DataTransfer()
		data.setData('text/plain', %q)
		return part('textarea').dispatchEvent(new ClipboardEvent('paste',
			{ clipboardData: data, bubbles: true, composed: true, cancelable: true })) || true
	})()`, text))
}

func testPasting(t *testing.T, b *browser) {
	y := serveTyping(t, &view.Options{Input: true})
	terminal := y.sh(t, `stty raw -echo; printf 'ready\r\n'; head -c 11 | od -c | head -1
		printf '\r\033[?2004;1000hin brackets\r\n'; cat -v`)
	p := b.open(t, y.only(terminal))
	p.until(`el.text === 'ready\n'`)
	p.focusScreen()
	paste(p, "one\r\ntwo\t\x1b[A\x03\u009b\n")
	p.until(`el.text.includes('in brackets\n')`)
	paste(p, "a\x1b[201~b")
	p.until(`el.text.endsWith('[200~a[201~b^[[201~')`)
	require.Equal(t, []string{"one\rtwo\t[A\r", "\x1b[200~a[201~b\x1b[201~"}, y.requests())
	p.requireQuiet()
}

func testLeaving(t *testing.T, b *browser) {
	y := serveTyping(t, &view.Options{Input: true, AllowStop: true})
	y.sh(t, "stty raw -echo; printf 'ready\r\n'; cat -vT")
	p := b.open(t, y.url)
	p.until(`el.text === 'ready\n' && part('.typing').textContent === 'Type here'`)
	for i := 0; p.focused() != "Stop" && i < 20; i++ {
		p.press(kb.Tab)
	}
	p.press(kb.Tab)
	require.Contains(t, p.focused(), "Control Shift Enter, then Tab, leaves", "a screen reader says so")
	require.Contains(t, eval[string](p, `part('.typing').textContent`), "Ctrl+Shift+Enter, then Tab, leaves")
	const refocus = `(part('textarea').blur(), part('textarea').focus(), true)`
	eval[bool](p, `(window.original = matchMedia, window.matchMedia = () => ({ matches: true }), `+refocus+`)`)
	p.until(`part('.typing').textContent === 'Typing'`) // on a touch screen
	eval[bool](p, `(window.matchMedia = original, `+refocus+`)`)
	p.press(kb.Tab)
	p.press(kb.Escape)
	p.press(kb.ArrowUp)
	p.press("f", chromedp.KeyModifiers(kb.ModifierCtrl))
	p.until(`el.text === 'ready\n^I^[^[[A^F'`)
	require.Contains(t, p.focused(), "Keys go to the command")
	toggle := func() {
		p.press(kb.Enter, chromedp.KeyModifiers(kb.ModifierCtrl, kb.ModifierShift))
	}
	toggle()
	require.Contains(t, p.focused(), "for reading only")
	p.press("x")
	toggle()
	p.press("y")
	p.until(`el.text.endsWith('^Fy')`)
	toggle()
	p.press(kb.Tab, chromedp.KeyModifiers(kb.ModifierShift))
	require.Equal(t, "Stop", p.focused())
	p.press(kb.Tab)
	require.Contains(t, p.focused(), "Keys go to the command", "typing is on again")
	require.Equal(t, "\t\x1b\x1b[A\x06y", strings.Join(y.requests(), ""))
	p.requireQuiet()
}

func testTypingOff(t *testing.T, b *browser) {
	y := serveTyping(t, &view.Options{AllowStop: true})
	terminal := y.sh(t, "echo ready; cat")
	p := b.open(t, y.only(terminal))
	p.until(`el.text === 'ready\n' && el.row.pty && !el.row.input && !visible(part('.typing'))`)
	p.click(".xterm-screen")
	require.Contains(t, p.focused(), "for reading only")
	p.press("typed\r")
	paste(p, "pasted\r")
	require.Equal(t, 403, eval[int](p, `fetch(el.getAttribute('src') + '/input', { method: 'POST', body: 'x',
		headers: { 'Acp-Terminal': 'input' } }).then(response => response.status)`))
	require.Equal(t, []string{"x"}, y.requests())
	require.Equal(t, "ready\n", eval[string](p, "el.text"))
}

func testTypingOffline(t *testing.T, b *browser) {
	y := serveTyping(t, &view.Options{Input: true})
	terminal := y.sh(t, "stty -echo; echo ready; read -r line; echo \"<$line>\"")
	p := b.open(t, y.only(terminal))
	p.until(`el.text === 'ready\n'`)
	p.focusScreen()
	y.open.refuse(true) // until the keys are pressed
	y.open.drop()
	p.until(`part('.typing').textContent === 'Typing is off: the connection is lost.'`)
	p.press("lost")
	y.open.refuse(false)
	p.until(`part('.typing').textContent.startsWith('Typing.')`)
	p.press("found\r")
	p.until(`el.text === 'ready\n<found>\n'`)
}

func testTypingInOwnPage(t *testing.T, b *browser) {
	y := serveTyping(t, &view.Options{Input: true})
	script := `stty -echo; echo ready; read -r line; echo "<$line>"`
	y.sh(t, script)
	y.sh(t, script)
	p := b.open(t, host(t, "", y.viewer), look("light", 1000, 900, 1))
	p.until(`[...document.querySelectorAll('acp-terminal')].every(each => each.text === 'ready\n')`)
	p.focusScreen()
	p.press("one\r")
	p.until(`el.text === 'ready\n<one>\n'`)
	p.until(`el.row.ended && !el.row.input`) // the page knows: otherwise the server refuses the keys
	p.press("lost\r")
	const other = `document.querySelectorAll('acp-terminal')[1]`
	require.Equal(t, "ready\n", eval[string](p, other+".text"), "keys go to the one with the focus")
	eval[bool](p, "("+other+".shadowRoot.querySelector('textarea').focus(), true)")
	p.press("two\r")
	p.until(other + `.text === 'ready\n<two>\n'`)
	p.requireQuiet()
}

// drawnRows returns the lines on the screen. They are drawn one frame after their text is known.
const drawnRows = `[...part('.xterm-rows').children].map(line => line.textContent.replaceAll('\u00a0', ' ').trimEnd())`

// untilRows waits until that many lines are drawn.
func untilRows(p *page, n int) {
	p.t.Helper()
	p.until(fmt.Sprintf("%s.length === %d", drawnRows, n))
}

func testSize(t *testing.T, b *browser) {
	y := serveTyping(t, &view.Options{Input: true})
	terminal := y.sh(t, `trap 'stty size' WINCH; stty size; while :; do sleep 0.01; done`)
	p := b.open(t, y.url, look("light", 1000, 700, 1))
	p.until(`el.text === '24 80\n' && part('.numbers').innerText.includes('80 × 24')`)
	p.until(`/^80 × 24\u2007*$/.test(part('.numbers').lastChild.textContent)`) // the padding is not seen there
	untilRows(p, 24)
	require.False(t, eval[bool](p, `part('.screen').scrollWidth > part('.screen').clientWidth ||
		part('.screen').scrollHeight > part('.screen').clientHeight`), "it fits")
	require.NoError(t, terminal.Resize(40, 10))
	p.until(`el.text.endsWith('10 40\n') && part('.numbers').innerText.includes('40 × 10')`)
	untilRows(p, 10)
	require.NoError(t, terminal.Resize(300, 100))
	p.until(`el.text.endsWith('100 300\n') && part('.numbers').innerText.includes('300 × 100')`)
	untilRows(p, 100)
	require.True(t, eval[bool](p, `part('.screen').scrollWidth > part('.screen').clientWidth &&
		part('.screen').scrollHeight > part('.screen').clientHeight`), "it scrolls")
	p.run(look("light", 500, 400, 1))
	p.until(`part('.xterm-rows').childElementCount === 100`)
	p.requireQuiet()
}

func testAlternateScreen(t *testing.T, b *browser) {
	y := serveTyping(t, &view.Options{Input: true})
	terminal := y.sh(t, `stty -echo; echo before; read -r _; set -- $(stty size)
		printf '\033[?1049;1006h\033[?25l\033[2J\033[H1,1\033['$1';1Hbottom'
		printf '\033[2;'$(($1-1))'r\033['$(($1-1))';1Hlast\n\033[5;10Hfive'; read -r _
		printf '\033[r\033[?25h\033[?1049l'; echo after; read -r _`)
	p := b.open(t, y.only(terminal), look("light", 1000, 700, 1))
	p.until(`el.text === 'before\n' && part('.xterm-cursor')`)
	p.focusScreen()
	p.until(`el.row.columns > 80 && ` + fills) // the program draws for this size
	p.press("\r")
	p.until(`el.text.includes('five') && !part('.xterm-cursor')`)
	rows := terminal.Info().Size.Rows
	want := make([]string, rows)
	want[0], want[4], want[rows-3], want[rows-1] = "1,1", strings.Repeat(" ", 9)+"five", "last", "bottom"
	wanted, err := json.Marshal(want) // the program's own lines, and the lines it scrolled
	require.NoError(t, err)
	p.until(fmt.Sprintf("JSON.stringify(%s) === JSON.stringify(%s)", drawnRows, wanted))
	p.press("\r")
	p.until(`el.text === 'before\nafter\n' && part('.xterm-cursor')`)
	require.NotEqual(t, eval[string](p, `getComputedStyle(part('.xterm-cursor')).backgroundColor`),
		eval[string](p, `getComputedStyle(part('.box')).backgroundColor`), "the cursor can be seen")
	p.press("\r")
	<-terminal.Done()
	p.requireQuiet()
}

func testMissedOfPTY(t *testing.T, b *browser) {
	y := serveTyping(t, &view.Options{Input: true})
	terminal := y.sh(t, `stty -echo; printf '\033[?1049h\033[2J\033[H'; read -r _
		yes 'the same lines again and again' | head -c 20000000; printf '\033[2J\033[Hthe end'; read -r _`)
	p := b.open(t, y.only(terminal))
	p.until(`part('.typing').textContent === 'Type here'`)
	p.focusScreen()
	p.press("\r")
	p.until(`el.text.startsWith('the end')`)
	require.Positive(t, eval[int](p, "el.missed"))
	require.Equal(t, "the end", eval[string](p, "el.text"))
	require.Contains(t, eval[string](p, `part('.numbers').innerText`), "not shown")
	p.requireQuiet()
}

// The page keeps only lines of a PTY, and says that it has no more of them.
func testLongPTY(t *testing.T, b *browser) {
	y := serveTyping(t, nil)
	p := b.open(t, y.only(y.sh(t, "seq 12000; sleep 600")))
	p.until(`el.text.endsWith('12000\n') && visible(part('.cut'))`)
	require.Contains(t, eval[string](p, `part('.cut').innerText`), "Only the last 10,000 lines are here.")
	require.False(t, eval[bool](p, `visible(part('.earlier')) || visible(part('.later'))`))
	p.requireQuiet()
}

// hostile contains sequences that make other terminals answer, or change their surroundings.
const hostile = "\x1b]0;owned\x07\x1b]1;owned\x07\x1b]2;owned\x1b\\\x1b]l;owned\x1b\\" + // titles
	"\x1b]52;c;b3duZWQ=\x07\x1b]52;c;?\x07\x1b]52;p;?\x1b\\" + // the clipboard
	"\x1b]8;;javascript:window.hurt=1\x07link\x1b]8;;\x07 \x1b]8;id=1;https://evil.example/\x1b\\more\x1b]8;;\x1b\\ " +
	"\x1b]4;1;rgb:00/00/00\x07\x1b]4;1;?\x07\x1b]10;#000000\x07\x1b]10;?\x07" + // colours
	"\x1b]11;?\x1b\\\x1b]12;?\x07\x1b]104\x07" +
	"\x1b[c\x1b[0c\x1b[>c\x1b[=c\x1bZ\x05\x1b[x\x1b[5n\x1b[6n\x1b[?6n\x1b[?15n\x1b[?25n\x1b[?26n" + // identification
	"\x1b[>q\x1b[4$p\x1b[?25$p\x1b[?2004$p\x1bP$qm\x1b\\\x1bP$qr\x1b\\\x1bP+q544e\x1b\\\x1bP1$r0m\x1b\\" +
	"\x1b[11t\x1b[13t\x1b[14t\x1b[18t\x1b[19t\x1b[20t\x1b[21t\x1b[22;0t\x1b[23;0t\x1b[?u\x1b[>1u\x1b[>4;2m\x1b[?4m" +
	"\x1b[8;3;3t\x1b[2t\x1b[5t\x1b[9;1t" + // windows
	"\x1b[?9h\x1b[?1000h\x1b[?1002h\x1b[?1003;1006h\x1b[?1015h\x1b[?1016h\x1b[?1004h\x1b[?1007h\x1b[?2004h\x1b[?2031h" +
	"\x1bPq#0;2;0;0;0#0~~@@vv@@~~@@~~$-\x1b\\\x1b_Gf=24,s=1,v=1;AAAA\x1b\\" + // pictures
	"\x1b^owned\x1b\\\x1bXowned\x1b\\" +
	"\x1b]1337;File=inline=1:AAAA\x07\x1b]9;owned\x07\x1b]777;notify;owned;owned\x07\x1b]133;A\x07" +
	"\x1b]0;\x1b]52;c;?\x07\x1b\\\x1bP\x1b]2;owned\x07\x1b[c\x1b\\\x1b[\x1b[6n\x1b]\x18\x1b[?1003\x1b[5n" // nested

func testHostilePTY(t *testing.T, b *browser) {
	for name, options := range map[string]*view.Options{"read-only": nil, "typing": {Input: true}} {
		y := serveTyping(t, options)
		terminal := y.sh(t, "stty raw -echo; head -c 1 >/dev/null; printf '\\033c'; cat")
		p := b.open(t, y.only(terminal), look("dark", 1000, 600, 1))
		p.until(`el.row?.pty`)
		title := eval[string](p, "document.title")
		if options != nil {
			p.focusScreen()
		}
		for _, text := range []string{"x", hostile, "\x1b[31mred\x1b[0m still here"} { // by a program, not by the page
			_, err := terminal.Write([]byte(text))
			require.NoError(t, err)
		}
		p.until(`el.text.endsWith('still here')`)
		require.Equal(t, "link more red still here", eval[string](p, `el.text`), name)
		require.Equal(t, "rgb(255, 123, 114)", style(p, "red", "color"))
		at := eval[struct{ X, Y float64 }](p, `(() => {
			const box = part('.xterm-screen').getBoundingClientRect()
			return { X: box.x + 10, Y: box.y + 8 }
		})()`)
		for i := 0.0; i < 10; i++ { // the mouse over the links, and its wheel
			p.run(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at.X+20*i, at.Y+5*i))
		}
		p.run(chromedp.MouseClickXY(at.X, at.Y), chromedp.MouseClickXY(at.X+100, at.Y, chromedp.ButtonRight))
		wheel(p, at.X, at.Y, 100)
		eval[bool](p, `(part('textarea').blur(), part('textarea').focus(), part('textarea').blur(), true)`)
		_, err := terminal.Write([]byte("\x1b[6n\x1b[?1049h\x1b[Hanother screen"))
		require.NoError(t, err)
		p.until(`el.text.startsWith('another screen')`)
		wheel(p, at.X, at.Y, 100) // some terminals send arrow keys for this
		altClick(p, at.X+50, at.Y+50)
		p.run(chromedp.MouseClickXY(at.X, at.Y))
		_, err = terminal.Write([]byte("\x1b[2Jthe end"))
		require.NoError(t, err)
		p.until(`el.text.includes('the end')`)
		require.Empty(t, y.requests(), "%s: the page sends nothing by itself", name)
		require.Equal(t, title, eval[string](p, "document.title"))
		require.Equal(t, y.only(terminal), eval[string](p, "location.href"))
		require.False(t, eval[bool](p, `window.hurt !== undefined ||
			!!part('.enable-mouse-events, .xterm-cursor-pointer, a[href]:not(.whole), .xterm-underline-5, img, canvas')`))
		untilRows(p, terminal.Info().Size.Rows)
		p.requireQuiet()
		p.close()
	}
}

// altClick clicks with the Alt key. Some terminals then move the cursor with arrow keys.
func altClick(p *page, x, y float64) {
	p.t.Helper()
	for _, kind := range []input.DispatchMouseEventType{
		input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased,
	} {
		_, err := chromedp.Call(p.ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{
			Type: kind, X: x, Y: y, Button: input.MouseButtonLeft, ClickCount: 1, Modifiers: 1})
		require.NoError(p.t, err)
	}
}

package browsertest

// What the page shows at once: a chosen command before its stream answers, the end of a command in the title, the
// linked line in the menu, one clock, and who runs a command.

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/internal/viewtest"
	"github.com/acpterm/acpterm/view"
)

// A chosen command has its header at once, and the old output stays until the new one is there.
func testChoosing(t *testing.T, b visitor) {
	m := acptermtest.NewManager(t, &acpterm.Options{Policy: denyRemovals, Runner: acptermtest.Commands{
		"old": acptermtest.Print("old output\n", 0), "new": acptermtest.Print("new output\n", 3), "quiet": acptermtest.Block, "rm": acptermtest.Block,
	}})
	v := serve(t, m, nil)
	first, second, quiet := v.create(t, "old"), v.create(t, "new"), v.create(t, "quiet")
	<-first.Done()
	<-second.Done()
	_, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "rm"}, nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
	const drawn = `el.text === 'old output\n' && part('.xterm-rows').textContent.includes('old output')`
	p := b.visit(t, v.url+"#"+v.key(first))
	p.until(drawn + ` && document.querySelectorAll('nav li').length === 4`)
	rows := `part('.old .xterm-rows')?.textContent.includes('old output')`
	for range 2 { // the second time, the old output is that of a picture
		v.open.freeze(true)
		eval[string](p, fmt.Sprintf(`location.hash = %q`, v.key(second)))
		p.until(`part('.command').textContent === 'new' && part('.state').textContent === 'exit code 3' && visible(part('.old')) && ` + rows)
		require.Contains(t, eval[string](p, `part('.numbers').innerText`), "/home/me/shop")
		require.Empty(t, eval[string](p, `el.text`), "the old output is only seen")
		eval[string](p, `(location.hash = [...document.querySelectorAll('nav a')].find(a => a.textContent.includes('rm')).hash)`)
		p.until(`part('.message').textContent.includes('Files are removed by people only.') && !part('.old')`)
		v.open.freeze(false)
		eval[string](p, fmt.Sprintf(`location.hash = %q`, v.key(second)))
		p.until(`el.text === 'new output\n' && !part('.old')`)
		require.Equal(t, 1, eval[int](p, `el.shadowRoot.querySelectorAll('.xterm').length`))
		eval[string](p, fmt.Sprintf(`location.hash = %q`, v.key(first)))
		p.until(drawn + ` && !part('.old')`)
	}
	v.open.freeze(true)
	eval[string](p, fmt.Sprintf(`location.hash = %q`, v.key(quiet)))
	p.until(`part('.message').textContent === 'No output yet.' && !part('.old')`)
	v.open.freeze(false)
	p.requireQuiet()
}

// The title counts only commands that are known to run.
func testTitle(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Block}), nil)
	v.create(t, "make")
	p := b.visit(t, v.url)
	p.until(`document.title === '(1) Terminals' && el.row?.state === 'running'`)
	v.open.refuse(true)
	v.open.drop()
	p.until(`document.title === 'Terminals'`)
	v.open.refuse(false)
	p.until(`document.title === '(1) Terminals'`)
	require.Equal(t, "done: make", eval[string](p, `(el.dispatchEvent(new CustomEvent('status', {
		detail: { ...el.row, state: 'finished', good: true, ended: Date.now() } })), document.title)`), "the terminal's stream may be first")
}

// The menu's link is that of the line that was linked last, and a copy that comes late does not replace a later one.
func testLinkOfLine(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Print("one\n::group::two\nthree\n::endgroup::\n", 0)}), nil)
	terminal := v.create(t, "make")
	<-terminal.Done()
	p := b.visit(t, v.only(terminal))
	p.until(`el.text.includes('three')`)
	eval[bool](p, catchCopies)
	eval[bool](p, `(el.setAttribute('line', 1), part('.copy').click(), part('.copy-link').click(), true)`)
	p.until(fmt.Sprintf(`copied === %q`, v.only(terminal)+"#L1"))
	p.until(marked + ` === 'one'`)
	eval[bool](p, `(() => {
		const real = fetch, held = new Promise(release => { window.release = release })
		window.fetch = async (url, options) => {
			if (String(url).endsWith('/text/valid')) await held
			return real(url, options)
		}
		window.late = el.copy()
		el.setAttribute('line', 3)
		part('.copy-link').click()
		return true
	})()`)
	p.until(fmt.Sprintf(`copied === %q`, v.only(terminal)+"#L3"))
	eval[bool](p, `(release(), late.then(() => true))`)
	require.Equal(t, v.only(terminal)+"#L3", eval[string](p, `copied`))
	p.requireQuiet()
}

// The times of lines and the header have the user's clock.
func testOneClock(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Print("made\n", 0)}), nil)
	p := b.visit(t, v.only(v.create(t, "make")))
	p.until(`el.text === 'made\n' && el.row.ended`)
	showTimes(p)
	p.until(`part('.times time')`)
	require.True(t, eval[bool](p, `(() => {
		const shown = part('.times time').textContent, clock = Date.parse(part('.times time').dateTime)
		const own = new Date(clock).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit' })
		return shown === own && part('.times time').scrollWidth <= part('.times').clientWidth
	})()`))
}

// A page says who runs an agent's command, also to those who have no pointer.
func testBadge(t *testing.T, b visitor) {
	v := serve(t, made(t, nil), nil)
	a := viewtest.NewAgent(t, v.Manager, agentterm.Options{})
	a.Update("s", "call_1", members{"command": "npm test"})
	p := b.visit(t, v.url)
	p.until(`part('.numbers').innerText.includes('run by the agent itself')`)
	for _, width := range []int64{1000, 390} { // the list, also on a phone
		p.resize(width, 700)
		p.until(`[...document.querySelectorAll('nav a .meta')].some(meta => visible(meta) && meta.textContent.endsWith(' · run by the agent itself'))`)
	}
	p.requireQuiet()
}

// What is typed arrives behind a proxy with a prefix, after a change of the window, and although the file that sends it
// could not be loaded at first. Browsers remember that.
func testTypedArrives(t *testing.T, b visitor) {
	var fails atomic.Bool
	fails.Store(true)
	y := serveTyping(t, &view.Options{Input: true}, func(server *httptest.Server) {
		inner := server.Config.Handler
		server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if fails.Load() && strings.HasSuffix(r.URL.Path, "/later.js") {
				http.Error(w, "busy", http.StatusServiceUnavailable)
				return
			}
			inner.ServeHTTP(w, r)
		})
	})
	proxy := httptest.NewServer(http.StripPrefix("/far/away", httputil.NewSingleHostReverseProxy(must(url.Parse(y.server.URL)))))
	t.Cleanup(proxy.Close)
	terminal := y.sh(t, "stty raw -echo; printf ready; cat -v")
	p := b.visit(t, proxy.URL+"/far/away"+y.view.TerminalPath(terminal.SessionID(), terminal.ID()))
	defer p.end() // before the proxy
	p.until(`el.text === 'ready'`)
	typed := func(text string) string {
		return fmt.Sprintf(`(part('.xterm textarea').focus(), part('.xterm textarea').dispatchEvent(
			new InputEvent('input', { inputType: 'insertText', data: %q, bubbles: true, composed: true })))`, text)
	}
	eval[bool](p, typed("w"))
	p.until(`part('.note').textContent.startsWith('A file of this page cannot be loaded')`)
	fails.Store(false)
	for i, text := range []string{"x", "y"} {
		p.resize(900-100*int64(i), 500)
		p.until(typed(text) + fmt.Sprintf(` && el.text.includes(%q)`, text)) // the first may still wait for the file
	}
}

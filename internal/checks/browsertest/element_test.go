package browsertest

// The element in other pages, and in unusual windows: what a page can ask it, and learn from its events.

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
)

// host serves a page that shows the terminals of the views, and returns its URL. The page begins with head, which is
// HTML.
func host(t *testing.T, head string, views ...*viewer) string {
	mux := http.NewServeMux()
	for i, v := range views {
		prefix := fmt.Sprintf("/%d", i)
		mux.Handle(prefix+"/", http.StripPrefix(prefix, v.view))
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>mine</title><link rel="icon" href="data:,">%s`, head)
		for i, v := range views {
			fmt.Fprintf(w, `<script type="module" src="/%d%s"></script>`, i, v.view.ScriptPath())
			for _, terminal := range v.Terminals() {
				fmt.Fprintf(w, `<acp-terminal src="/%d%s"></acp-terminal>`, i,
					v.view.TerminalPath(terminal.SessionID(), terminal.ID()))
			}
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		for _, v := range views {
			v.view.Close()
		}
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

func testContained(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Print("hello\n", 0)}), nil)
	v.create(t, "make")
	look := func(style string) string {
		p := b.visit(t, host(t, "<style>"+style+"</style>", v))
		defer p.end()
		p.until(`el.text === 'hello\n' && part('.state').textContent === 'done'`)
		eval[bool](p, `(el.setAttribute('theme', 'dark'), true)`)
		p.until(`getComputedStyle(part('.xterm-rows')).color === 'rgb(214, 221, 230)'`)
		return eval[string](p, `JSON.stringify([...el.shadowRoot.querySelectorAll('.box, .command, .state, .numbers, button, .xterm-rows')].map(
			node => { const s = getComputedStyle(node); return [s.textTransform, s.textShadow, s.textIndent, s.letterSpacing.slice(0, 4),
				s.fontStyle, s.textAlign, s.whiteSpace, s.wordSpacing, s.color, s.backgroundColor, s.fontFamily, s.visibility] }))`)
	}
	for _, style := range []string{`* { text-transform: uppercase; text-shadow: 2px 2px red; text-indent: 3em; letter-spacing: 1em;
		font-style: italic; text-align: right; white-space: nowrap; word-spacing: 1em; color: red; font-family: fantasy }`,
		"*, *::before, *::after { margin: 0; padding: 0; border: 0; box-sizing: border-box; color-scheme: light }",
		"*:where(:not(html, iframe, canvas, img, svg, video, audio):not(svg *, symbol *)) { all: unset; display: revert }",
		"html { color-scheme: light } acp-terminal { all: initial }",
	} {
		require.Equal(t, look(""), look(style), style)
	}
}

// A removed element has no timers.
func testElementsLife(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{"serve": acptermtest.Block}), nil)
	v.create(t, "serve")
	p := b.visit(t, host(t, `<script>
		const timers = new Set(), set = setInterval, clear = clearInterval
		window.setInterval = (...all) => { const id = set(...all); timers.add(id); return id }
		window.clearInterval = id => { timers.delete(id); clear(id) }
	</script>`, v))
	p.until(`part('.state').textContent === 'running'`)
	require.Positive(t, eval[int](p, "timers.size"))
	eval[bool](p, `(el.remove(), true)`)
	p.until(`timers.size === 0`)
	p.requireQuiet()
}

func testTwoViews(t *testing.T, b visitor) {
	print := func(text string) acptermtest.Commands {
		return acptermtest.Commands{"make": acptermtest.Print(text, 0)}
	}
	first, second := serve(t, made(t, print("one\n")), nil), serve(t, made(t, print("two\n")), nil)
	first.create(t, "make")
	second.create(t, "make")
	p := b.visit(t, host(t, "", first, second))
	p.until(`[...document.querySelectorAll('acp-terminal')].map(x => x.text).join() === 'one\n,two\n'`)
	p.requireQuiet()
}

// A browser opens six connections to a server, for all windows together, not counting WebSockets.
func testMany(t *testing.T, b visitor) {
	texts := make(map[string]chan string)
	commands := make(acptermtest.Commands)
	for i := range 10 {
		name := fmt.Sprintf("make-%d", i)
		texts[name] = make(chan string)
		commands[name] = steps(texts[name])
	}
	v := serve(t, made(t, commands), nil)
	for name := range commands {
		v.create(t, name)
	}
	var pages []tab
	for range 7 { // and one more below
		pages = append(pages, b.visit(t, v.url))
	}
	all := b.visit(t, host(t, "", v))
	for name, to := range texts {
		to <- name + "\n"
	}
	all.until(`[...document.querySelectorAll('acp-terminal')].every(x => x.text === x.row?.command + '\n') &&
		document.querySelectorAll('acp-terminal').length === 10`)
	for _, p := range pages {
		p.until(`document.querySelectorAll('nav li').length === 10 && el.text === el.row?.command + '\n'`)
	}
	for _, to := range texts {
		to <- "more\n"
	}
	for _, p := range pages {
		p.until(`el.text === el.row?.command + '\nmore\n'`)
		p.requireQuiet()
	}
	all.until(`[...document.querySelectorAll('acp-terminal')].every(x => x.text === x.row?.command + '\nmore\n')`)
	all.requireQuiet()
}

// withoutSockets makes a server refuse WebSockets, as some proxies do.
func withoutSockets(server *httptest.Server) {
	inner := server.Config.Handler
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			http.Error(w, "no", http.StatusBadGateway)
			return
		}
		inner.ServeHTTP(w, r)
	})
}

func testWithoutSockets(t *testing.T, b visitor) {
	texts := make(chan string)
	m := made(t, acptermtest.Commands{"make": steps(texts)})
	v := serve(t, m, nil, withoutSockets)
	v.create(t, "make")
	p := b.visit(t, v.url)
	texts <- "one\n"
	p.until(`el.text === 'one\n'`)
	v.open.drop()
	texts <- "two\n"
	p.until(`el.text === 'one\ntwo\n'`)
	close(texts)
	p.until(`part('.state').textContent === 'done'`)
}

func testOdd(t *testing.T, b visitor) {
	reason := strings.Repeat("a long reason ", 300)
	m := acptermtest.NewManager(t, &acpterm.Options{
		Runner: acptermtest.Commands{"make": acptermtest.Print("hello\n", 0), "rm": acptermtest.Block},
		Policy: acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
			if p.Command.Args[0] == "rm" {
				return acpterm.Decision{Verdict: acpterm.VerdictDeny, Reason: reason}
			}
			return acpterm.Decision{Verdict: acpterm.VerdictAllow}
		}),
	})
	v := serve(t, m, &view.Options{AllowStop: true})
	v.create(t, "make")
	_, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "session-1", Command: "rm"}, nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
	for _, fragment := range []string{"#%E0%A4%A", "#%", "#no-such-key", "#a/../b"} {
		p := b.visit(t, v.url+fragment)
		p.until(`document.querySelectorAll('nav li').length === 2`)
		require.Less(t, eval[int](p, `Math.max(...[...document.querySelectorAll('nav li')].map(li => li.offsetHeight))`), 100)
		eval[bool](p, `([...document.querySelectorAll('nav a')].find(a => a.textContent.includes('make')).click(), true)`)
		p.until(`el.text === 'hello\n'`)
		p.end()
	}
}

// The package comment of view describes these properties, methods and events.
func testElement(t *testing.T, b visitor) {
	texts := make(chan string, 1)
	texts <- "one\ntwo\n"
	v := serve(t, made(t, acptermtest.Commands{"ci": steps(texts)}), nil)
	p := b.visit(t, v.only(v.create(t, "ci")))
	p.until(`el.text === 'one\ntwo\n' && el.following && el.missed === 0`)
	require.Equal(t, "ci running", eval[string](p, `[el.row.command, el.row.state].join(' ')`))
	require.True(t, eval[bool](p, `el.find('two')`))
	require.False(t, eval[bool](p, `el.find('three')`))
	eval[bool](p, `(window.seen = [], ['status', 'line', 'connection'].forEach(type => el.addEventListener(type, e => {
		seen.push(type + ' ' + (type === 'status' ? e.detail.state : e.detail))
		if (e.detail === 'lost') e.preventDefault()
	})), true)`)
	eval[bool](p, `(part('.gutter').focus(), true)`)
	eval[bool](p, pressed("End"))
	p.until(`seen.includes('line 2') && el.getAttribute('line') === '2'`)
	eval[bool](p, pressed("Escape"))
	p.until(`seen.includes('line 0') && !el.hasAttribute('line')`)
	v.open.refuse(true)
	v.open.drop()
	p.until(`seen.includes('connection lost')`)
	require.Empty(t, eval[string](p, `part('.note').textContent`), "the page has cancelled the event")
	v.open.refuse(false)
	p.until(`seen.includes('connection open')`)
	close(texts)
	p.until(`seen.includes('status finished') && el.row.state === 'finished'`)
	p.end()
}

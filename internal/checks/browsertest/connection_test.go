package browsertest

// The page when its connection is dead or lost, or the program is a different one, and its messages behind middleware
// and proxies that break its requirements.

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
)

// The page notices a silent connection even if it does not end, and later shows the missed output.
func testFrozen(t *testing.T, b visitor) {
	texts := make(chan string)
	v := serve(t, made(t, acptermtest.Commands{"count": steps(texts)}), &view.Options{
		Heartbeat: 500 * time.Millisecond, AllowStop: true,
	})
	terminal := v.create(t, "count")
	p := b.visit(t, v.url)
	texts <- "one\n"
	p.until(`el.text === 'one\n' && part('.state').textContent === 'running'`)
	v.open.freeze(true)
	texts <- "two\n"
	p.until(`document.getElementById('connection').textContent.includes('lost') && 'offline' in part('.box').dataset`)
	p.until(`document.body.classList.contains('offline')`) // the list, too
	require.Equal(t, "", eval[string](p, `part('.note').textContent`), "it is said once")
	require.True(t, eval[bool](p, `part('.stop').disabled && 'offline' in part('.box').dataset`))
	numbers := eval[string](p, `part('.numbers').innerText + document.querySelector('nav .meta').innerText`)
	time.Sleep(1200 * time.Millisecond) // a running clock would show another time
	require.Equal(t, numbers, eval[string](p, `part('.numbers').innerText + document.querySelector('nav .meta').innerText`))
	v.open.drop() // the frozen ones; new ones pass
	v.open.freeze(false)
	texts <- "three\n"
	p.until(`el.text === 'one\ntwo\nthree\n' && part('.note').textContent === '' && !part('.stop').disabled`)
	p.until(fmt.Sprintf(`part('.numbers').innerText !== %q`, numbers))
	close(texts)
	<-terminal.Done()
	p.until(`part('.state').textContent === 'done' && el.text === 'one\ntwo\nthree\n'`)
}

// After an hour in the background, or of sleep, nothing is doubled or missing, and the clock matches the server's.
func testHour(t *testing.T, b visitor) {
	texts := make(chan string)
	v := serve(t, made(t, acptermtest.Commands{"count": steps(texts)}), nil)
	v.create(t, "count")
	p := b.visit(t, v.url)
	texts <- "one\n"
	p.until(`el.text === 'one\n'`)
	for i, how := range []string{"hidden", "asleep"} {
		if how == "hidden" {
			setHidden(p, true)
		}
		texts <- how + "\n"
		eval[bool](p, fmt.Sprintf(`(window.clock ??= Date.now.bind(Date), Date.now = () => clock() + %d * 3600e3, true)`, i+1))
		if how == "hidden" {
			require.NotContains(t, eval[string](p, "el.text"), how)
			setHidden(p, false)
		}
		p.until(fmt.Sprintf(`el.text.endsWith('%s\n') && !part('.note').textContent`, how))
		p.until(`!part('.numbers').innerText.includes(' h ')`)
	}
	require.Equal(t, "one\nhidden\nasleep\n", eval[string](p, "el.text"))
	close(texts)
	p.until(`part('.state').textContent === 'done'`)
}

// A restarted program does not know the terminal. The page says only that.
func testRestarted(t *testing.T, b visitor) {
	var restarted atomic.Pointer[view.View]
	first := serve(t, made(t, acptermtest.Commands{"serve": acptermtest.Block}), &view.Options{
		Token: "the-same-token-1", AllowStop: true,
	}, func(server *httptest.Server) {
		inner := server.Config.Handler
		server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if v := restarted.Load(); v != nil {
				v.ServeHTTP(w, r)
			} else {
				inner.ServeHTTP(w, r)
			}
		})
	})
	p := b.visit(t, first.only(first.create(t, "serve")))
	p.until(`part('.state').textContent === 'running' && visible(part('.stop'))`)

	v, err := view.New(made(t, nil), &view.Options{Token: "the-same-token-1"})
	require.NoError(t, err)
	t.Cleanup(func() { v.Close() })
	restarted.Store(v)
	first.open.drop()
	p.until(`part('.note').textContent === 'This terminal is not kept any more.'`)
	require.Equal(t, "unknown", eval[string](p, `part('.state').textContent`))
	require.False(t, eval[bool](p, `visible(part('.stop'))`))
	eval[bool](p, `el.stop().then(() => true)`)
	p.until(`part('.problem').textContent.startsWith('Not stopped: ')`)
	first.open.refuse(true)
	first.open.drop()
	eval[bool](p, `el.stop().then(() => true)`)
	p.until(`part('.problem').textContent === 'Not stopped: the connection is lost'`)
}

// bareWriter hides http.Flusher and http.Hijacker.
type bareWriter struct{ http.ResponseWriter }

// If live data cannot be sent, the page says why, and does not retry forever.
func testMiddleware(t *testing.T, b visitor) {
	var streams atomic.Int64
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Block}), nil, func(server *httptest.Server) {
		inner := server.Config.Handler
		server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/events") && r.Header.Get("Upgrade") == "" {
				streams.Add(1)
			}
			inner.ServeHTTP(bareWriter{w}, r)
		})
	})
	terminal := v.create(t, "make")
	p := b.visit(t, v.url)
	p.until(`document.getElementById('connection').textContent.includes('http.Flusher')`)
	tries := streams.Load()
	time.Sleep(1500 * time.Millisecond) // a page that retries does so after a second
	require.Equal(t, tries, streams.Load())
	p.end()
	p = b.visit(t, v.only(terminal))
	p.until(`part('.note').textContent.includes('http.Flusher') && !visible(part('.stop'))`)
}

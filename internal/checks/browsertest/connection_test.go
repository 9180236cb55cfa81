package browsertest

// The page when its connection is dead or lost, or the program is a different one.

import (
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
	"github.com/stretchr/testify/require"
)

// proxy forwards connections to a server. While it is frozen, nothing passes and no connection ends.
type proxy struct {
	listener net.Listener

	mu     sync.Mutex
	to     string
	frozen bool
	thaw   *sync.Cond
	conns  []net.Conn
}

// newProxy returns a proxy on loopback, which ends with the test.
func newProxy(t testing.TB, to string) *proxy {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: listener, to: to}
	p.thaw = sync.NewCond(&p.mu)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { p.forward(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		p.freeze(false)
		p.closeAll()
		all.Wait()
	})
	return p
}

func (p *proxy) forward(conn net.Conn) {
	p.mu.Lock()
	to := p.to
	p.mu.Unlock()
	server, err := net.Dial("tcp", to)
	if err != nil {
		conn.Close()
		return
	}
	p.mu.Lock()
	p.conns = append(p.conns, conn, server)
	p.mu.Unlock()
	var both sync.WaitGroup
	for from, to := range map[net.Conn]net.Conn{conn: server, server: conn} {
		both.Go(func() {
			io.Copy(passing{p, to}, from)
			from.Close()
			to.Close()
		})
	}
	both.Wait()
}

// passing writes while the proxy is not frozen.
type passing struct {
	p *proxy
	io.Writer
}

func (w passing) Write(b []byte) (int, error) {
	w.p.mu.Lock()
	for w.p.frozen {
		w.p.thaw.Wait()
	}
	w.p.mu.Unlock()
	return w.Writer.Write(b)
}

func (p *proxy) freeze(frozen bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = frozen
	p.thaw.Broadcast()
}

func (p *proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		conn.Close()
	}
	p.conns = nil
}

// The page notices a silent connection even if it does not end, and later shows the missed output.
func testFrozen(t *testing.T, b visitor) {
	texts := make(chan string)
	v := serve(t, made(t, acptermtest.Commands{"count": steps(texts)}), &view.Options{
		Heartbeat: 500 * time.Millisecond, AllowStop: true,
	})
	through := newProxy(t, v.server.Listener.Addr().String())
	terminal := v.create(t, "count")
	p := b.visit(t, v.view.URL(through.listener.Addr()))
	texts <- "one\n"
	p.until(`el.text === 'one\n' && part('.state').textContent === 'running'`)
	through.freeze(true)
	texts <- "two\n"
	p.until(`document.getElementById('connection').textContent.includes('lost') && 'offline' in part('.box').dataset`)
	p.until(`document.body.classList.contains('offline')`) // the list, too
	require.Equal(t, "", eval[string](p, `part('.note').textContent`), "it is said once")
	require.True(t, eval[bool](p, `part('.stop').disabled && 'offline' in part('.box').dataset`))
	numbers := eval[string](p, `part('.numbers').innerText + document.querySelector('nav .meta').innerText`)
	time.Sleep(1200 * time.Millisecond) // a running clock would show another time
	require.Equal(t, numbers, eval[string](p, `part('.numbers').innerText + document.querySelector('nav .meta').innerText`))
	through.closeAll() // the frozen ones; new ones pass
	through.freeze(false)
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
	first := serve(t, made(t, acptermtest.Commands{"serve": acptermtest.Block}), &view.Options{
		Token: "the-same-token-1", AllowStop: true,
	})
	through := newProxy(t, first.server.Listener.Addr().String())
	terminal := first.create(t, "serve")
	p := b.visit(t, "http://"+through.listener.Addr().String()+first.view.TerminalPath(terminal.SessionID(), terminal.ID()))
	p.until(`part('.state').textContent === 'running' && visible(part('.stop'))`)

	v, err := view.New(made(t, nil), &view.Options{Token: "the-same-token-1"})
	require.NoError(t, err)
	server := httptest.NewServer(v)
	t.Cleanup(func() {
		v.Close()
		server.CloseClientConnections()
		server.Close()
	})
	through.mu.Lock()
	through.to = server.Listener.Addr().String()
	through.mu.Unlock()
	through.closeAll()
	p.until(`part('.note').textContent === 'This terminal is not kept any more.'`)
	require.Equal(t, "unknown", eval[string](p, `part('.state').textContent`))
	require.False(t, eval[bool](p, `visible(part('.stop'))`))
	eval[bool](p, `el.stop().then(() => true)`)
	p.until(`part('.problem').textContent.startsWith('Not stopped: ')`)
	server.Close()
	eval[bool](p, `el.stop().then(() => true)`)
	p.until(`part('.problem').textContent === 'Not stopped: the connection is lost'`)
}

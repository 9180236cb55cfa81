package browsertest

// The requests and bytes until a page shows output, and output that is made to keep the page busy.

import (
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/acpterm/acpterm/acptermtest"
	"github.com/stretchr/testify/require"
)

// meter counts what a server gets and sends.
type meter struct {
	net.Listener
	sent atomic.Int64 // bytes, with headers

	mu       sync.Mutex
	requests []string // the end of each path
}

func (m *meter) Accept() (net.Conn, error) {
	conn, err := m.Listener.Accept()
	return meteredConn{conn, m}, err
}

type meteredConn struct {
	net.Conn
	m *meter
}

func (c meteredConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.m.sent.Add(int64(n))
	return n, err
}

// measure is for serve.
func (m *meter) measure(server *httptest.Server) {
	m.Listener, server.Listener = server.Listener, m
	inner := server.Config.Handler
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		m.requests = append(m.requests, r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:])
		m.mu.Unlock()
		inner.ServeHTTP(w, r)
	})
}

// take returns the requests and the bytes since the last call.
func (m *meter) take() (requests []string, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	requests, m.requests = m.requests, nil
	return requests, m.sent.Swap(0)
}

func testWeight(t *testing.T, b visitor) {
	m := &meter{}
	v := serve(t, made(t, acptermtest.Commands{"make": acptermtest.Print("made\n", 0)}), nil, m.measure)
	terminal := v.create(t, "make")
	<-terminal.Done()
	page := regexp.MustCompile(`^(|icon\.svg|page\.css|acp-terminal\.js|page\.js|single\.js|events|output|` + v.key(terminal) + `)$`)
	for _, url := range []string{v.url, v.only(terminal)} {
		p := b.visit(t, url)
		p.until(`el.text === 'made\n' && part('.state').textContent === 'done'`)
		first, bytes := m.take()
		t.Log(first, bytes)
		for _, request := range first {
			require.Regexp(t, page, request)
		}
		require.LessOrEqual(t, len(first), 7)
		require.Less(t, bytes, int64(110_000))
		p.end()
		if _, is := b.(*webkit); is {
			continue // its windows share no files under WebDriver
		}
		p = b.visit(t, url)
		p.until(`el.text === 'made\n' && part('.state').textContent === 'done'`)
		second, bytes := m.take()
		t.Log(second, bytes)
		for _, request := range second {
			if strings.Contains(request, ".") { // a browser may load the icon later, or again if its load was cut off
				require.Equal(t, "icon.svg", request)
			}
		}
		require.Less(t, bytes, int64(10_000))
		p.end()
	}
}

// No output makes the page slow. Time that grows with the square of the output would exceed the timeout.
func testHostileOutput(t *testing.T, b visitor) {
	v := serve(t, made(t, acptermtest.Commands{
		"stars": acptermtest.Print(strings.Repeat("*** ", 200_000)+"\nmain.c:1: error: found\n", 1),
		"long":  acptermtest.Print("needle"+strings.Repeat("a", 400_000)+"needle\n"+strings.Repeat("more\n", 100), 0),
	}), nil)
	p := b.visit(t, v.only(v.createLong(t, "stars")))
	p.until(`part('.state').textContent === 'exit code 1' && el.text.endsWith('found\n')`)
	eval[bool](p, `(part('.first-error').click(), true)`)
	p.until(marked + ` === 'main.c:1: error: found'`)

	require.True(t, eval[bool](p, `import(new URL('../assets/groups.js', location).href).then(({ Groups }) => {
		const shown = texts => {
			const groups = new Groups(new Set(), new Set())
			let last = ''
			for (const text of texts) for (const piece of groups.pieces(text)) last = piece.text
			return last
		}
		const begin = 'section_start:1:a\r\n', end = 'section_end:1:b\r\nend\n'
		const folded = 'section_start:1:b[collapsed=true]\r\n'
		const nested = shown([begin.repeat(400_000), 'section_end:1:c\r\n'.repeat(400_000), end])
		const unfinished = shown([folded, ...Array(4000).fill('x'.repeat(64 << 10)), '\n' + end])
		return nested.endsWith('end\n') && unfinished === 'end\n'
	})`))
	p.requireQuiet()
	p.end()

	p = b.visit(t, v.only(v.createLong(t, "long")))
	p.until(`part('.state').textContent === 'done' && el.text.endsWith('more\n')`)
	const inView = `(() => {
		const box = part('.match.active')?.getBoundingClientRect(), screen = part('.xterm-screen').getBoundingClientRect()
		return !!box && box.top >= screen.top && box.bottom <= screen.bottom + 1
	})()`
	find := func(text string) {
		eval[bool](p, `(el.openFind(), part('.find input').value = '`+text+`', el.find('`+text+`'))`)
	}
	find("a")
	p.until(`part('.count').textContent === '1 of 400,000' && ` + inView)
	find("needle")
	find("needle")
	p.until(`part('.count').textContent === '2 of 2' && ` + inView)
	p.requireQuiet()
	p.end()
}

package browsertest

// The requests and bytes until a page shows output, and the time that this takes at a distance.

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
		require.Less(t, bytes, int64(120_000))
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

// roundTrip is the time for a byte to a distant server and back.
const roundTrip = 200 * time.Millisecond

// distant returns the address of a server, as reached over a long way. A connection takes a round trip to open.
func distant(t testing.TB, address string) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				time.Sleep(roundTrip)
				far, err := net.Dial("tcp", address)
				if err != nil {
					near.Close()
					return
				}
				running.Go(func() { delay(far, near) })
				delay(near, far)
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		running.Wait()
	})
	return listener.Addr().String()
}

// delay copies from one connection to the other, each byte half a round trip later, and closes both.
func delay(to, from net.Conn) {
	type piece struct {
		at   time.Time
		text []byte
	}
	pieces := make(chan piece, 1000)
	go func() {
		defer close(pieces)
		for {
			text := make([]byte, 32<<10)
			n, err := from.Read(text)
			if n > 0 {
				pieces <- piece{time.Now().Add(roundTrip / 2), text[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.at))
		if _, err := to.Write(p.text); err != nil {
			break
		}
	}
	to.Close()
	from.Close()
	for range pieces {
	}
}

// BenchmarkFirstOutput measures the time from the navigation to the first output, at 200 ms round trip, of a first visit
// and of a second one.
func BenchmarkFirstOutput(b *testing.B) {
	m := &meter{}
	v := serve(b, made(b, acptermtest.Commands{"make": func(p *acptermtest.Process) int {
		io.WriteString(p, "made\n")
		return acptermtest.Block(p)
	}}), nil, m.measure)
	v.create(b, "make")
	browser := startBrowser(b)
	address := strings.TrimPrefix(v.server.URL, "http://")
	var times [2]time.Duration
	for b.Loop() {
		url := strings.Replace(v.url, address, distant(b, address), 1)
		m.take()
		for i, name := range []string{"first", "second"} {
			p := browser.open(b, url)
			p.until(`window.seen ||= el.text === 'made\n' && performance.now()`)
			times[i] += time.Duration(eval[float64](p, "window.seen") * 1e6)
			requests, bytes := m.take()
			b.ReportMetric(float64(len(requests)), name+"-requests")
			b.ReportMetric(float64(bytes), name+"-B")
			p.close()
		}
	}
	b.ReportMetric(float64(times[0].Milliseconds())/float64(b.N), "first-ms")
	b.ReportMetric(float64(times[1].Milliseconds())/float64(b.N), "second-ms")
}

package browsertest

// Twelve windows of one page, over connections of each kind.

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/view"
	"github.com/chromedp/chromedp"
)

// connections are ways to reach a view.
type connections struct {
	name    string
	windows int
	http2   bool
	sockets bool // WebSockets are possible
}

// BenchmarkWindows reports, while a command prints 500 lines a second for three seconds (0.3 without
// ACPTERM_TEST_LONG), the longest frame of the windows, as median and maximum; how long after the command the last
// window has the end; the processor time of each page; and that of this process, on Linux. A browser has six connections
// of HTTP/1.1 to a host, without WebSockets. Without those, each window needs a connection for its output and, if it has
// a list, another one.
func BenchmarkWindows(b *testing.B) {
	browser := startBrowser(b, chromedp.IgnoreCertErrors)
	for _, c := range []connections{
		{"none", 0, false, true}, {"one", 1, false, true}, {"HTTP1", 12, false, true}, {"HTTP2", 12, true, true},
		{"HTTP1-without-sockets", 6, false, false}, {"HTTP2-without-sockets", 12, true, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			start := make(chan struct{})
			m := made(b, acptermtest.Commands{"make": ticking(start)})
			address, terminal := c.serve(b, m)
			var pages []*page
			for range c.windows {
				p := browser.open(b, address, look("light", 1000, 700, 1))
				p.until(`el.text.startsWith('begin')`)
				p.measure()
				eval[bool](p, watchFrames)
				pages = append(pages, p)
			}
			before := processorTime()
			close(start)
			<-terminal.Done()
			ended := time.Now()
			for _, p := range pages {
				p.until(`part('.state').textContent === 'done' && el.text.endsWith('\nthe end\n')`)
			}
			b.ReportMetric(time.Since(ended).Seconds()*1000, "late-ms")
			b.ReportMetric((processorTime()-before).Seconds()*1000, "server-cpu-ms")
			frames, used := []float64{0}, 0.0
			for _, p := range pages {
				frames = append(frames, eval[float64](p, `longest`))
				used += 1000 * p.metrics()["TaskDuration"] / float64(len(pages))
				require.Zero(b, eval[int](p, `el.missed`))
				p.close()
			}
			slices.Sort(frames)
			b.ReportMetric(used, "page-cpu-ms")
			b.ReportMetric(frames[len(frames)/2], "median-ms")
			b.ReportMetric(frames[len(frames)-1], "longest-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// serve starts a command, and returns the address of the page that shows it: the list, or only the terminal if the list
// would need too many connections.
func (c connections) serve(b *testing.B, m *acpterm.Manager) (string, *acpterm.Terminal) {
	v := must(view.New(m, nil))
	server := httptest.NewUnstartedServer(nil)
	server.Config = v.Server()
	if !c.sockets {
		server.Config.Handler = withoutSockets(server.Config.Handler)
	}
	server.EnableHTTP2 = c.http2
	if c.http2 {
		server.StartTLS()
	} else {
		server.Start()
	}
	b.Cleanup(func() {
		v.Close()
		server.Close()
	})
	terminal, err := m.Create(b.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "make"}, nil)
	require.NoError(b, err)
	path := v.Path()
	if !c.sockets && !c.http2 {
		path = v.TerminalPath("s", terminal.ID())
	}
	return server.URL + path, terminal
}

// ticking prints a line every two milliseconds.
func ticking(start <-chan struct{}) acptermtest.Script {
	return func(p *acptermtest.Process) int {
		fmt.Fprintln(p, "begin")
		select {
		case <-start:
		case <-p.Context().Done():
			return 1
		}
		began := time.Now()
		for i := range longtest.Times(150, 1500) {
			fmt.Fprintf(p, "%d %s\n", i, strings.Repeat("x", 100))
			time.Sleep(time.Until(began.Add(time.Duration(2*i+2) * time.Millisecond)))
		}
		fmt.Fprintln(p, "the end")
		return 0
	}
}

func withoutSockets(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			http.Error(w, "no", http.StatusBadGateway)
			return
		}
		inner.ServeHTTP(w, r)
	})
}

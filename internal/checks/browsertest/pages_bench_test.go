package browsertest

// The effect of ten pages in a browser on their command.

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
	"github.com/stretchr/testify/require"
)

// paced waits for a file, and writes a line of a kilobyte every millisecond for a second. It takes longer only if its
// writes block or the processors are busy.
func paced(file string) {
	for {
		if _, err := os.Stat(file); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	line := strings.Repeat("x", 1023) + "\n"
	began := time.Now()
	for i := range 1000 {
		os.Stdout.WriteString(line)
		time.Sleep(time.Until(began.Add(time.Duration(i+1) * time.Millisecond)))
	}
}

// BenchmarkTenPages runs that command alternately without pages and with ten. It reports how much longer the command
// takes with pages, as slower-%, from the medians. The browser runs on the same processors. All of 127.0.0.0/8 must be
// loopback, as on Linux and Windows.
func BenchmarkTenPages(b *testing.B) {
	m := acptermtest.NewManager(b, nil)
	v := must(view.New(m, nil))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(b, err)
	listeners := []net.Listener{listener}
	for i := range 9 { // a browser opens six connections to a host
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0."+strconv.Itoa(i+2), port))
		require.NoError(b, err)
		listeners = append(listeners, listener)
	}
	server := v.Server()
	for _, listener := range listeners {
		go server.Serve(listener)
	}
	b.Cleanup(func() {
		v.Close()
		server.Close()
	})
	browser, dir := startBrowser(b), b.TempDir()
	var took [2][]time.Duration // without pages and with them
	for i := 0; b.Loop(); i++ {
		for _, which := range []int{i % 2, 1 - i%2} {
			file := filepath.Join(dir, fmt.Sprint(i, which))
			terminal, err := m.Create(b.Context(), acpterm.CreateTerminalRequest{
				SessionID: "s", Command: os.Args[0], Args: []string{"child", "paced", file},
			}, nil)
			require.NoError(b, err)
			var pages []*page
			for _, listener := range listeners[:which*10] {
				p := browser.open(b, "http://"+listener.Addr().String()+v.TerminalPath("s", terminal.ID()))
				p.until(`part('.state').textContent.includes('running')`)
				pages = append(pages, p)
			}
			start := time.Now()
			require.NoError(b, os.WriteFile(file, nil, 0o600))
			<-terminal.Done()
			took[which] = append(took[which], time.Since(start))
			for _, p := range pages {
				p.until(`!part('.state').textContent.includes('running')`)
				p.close()
			}
			require.NoError(b, m.Release(b.Context(), "s", terminal.ID()))
		}
	}
	b.ReportMetric(0, "ns/op")
	slices.Sort(took[0])
	slices.Sort(took[1])
	without, with := took[0][len(took[0])/2], took[1][len(took[1])/2]
	b.ReportMetric(100*(with.Seconds()/without.Seconds()-1), "slower-%")
}

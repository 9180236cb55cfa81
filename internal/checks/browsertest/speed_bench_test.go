package browsertest

// How long a user waits for the page, on this machine and in a tab that is four times as slow. See BENCHMARKS.md.

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
)

// watching is the first script of each measured page. longest is the longest time between two frames since it was last
// set, in milliseconds. when resolves to the time since the begin of the page, once a condition holds in a frame.
const watching = `
	let before = performance.now()
	window.longest = 0
	const next = now => { longest = Math.max(longest, now - before); before = now; requestAnimationFrame(next) }
	requestAnimationFrame(next)
	const inside = selector => document.querySelector('acp-terminal')?.shadowRoot?.querySelector(selector)
	const shows = text => inside('.screen .xterm-rows')?.textContent.includes(text)
	const ended = () => inside('.state')?.textContent === 'done' && inside('.loading').textContent === ''
	const when = condition => new Promise(resolve => {
		const look = () => condition() ? resolve(performance.now()) : requestAnimationFrame(look)
		look()
	})
	const theEnd = when(() => shows('the end') && ended())
	const firstOutput = when(() => shows('begin'))
`

// BenchmarkPage measures each row once for each iteration, and reports medians.
func BenchmarkPage(b *testing.B) {
	rows := []struct {
		name string
		run  func(*stopwatch)
	}{
		{"groups", measureGroups},
		{"pipe", func(s *stopwatch) { measureFlood(s, nil, line) }},
		{"errors", func(s *stopwatch) { measureFlood(s, nil, errorLine) }},
		{"pty", func(s *stopwatch) { measureFlood(s, &acpterm.PTYOptions{Attended: true}, line) }},
		{"choose", measureChoosing},
		{"distance", measureDistance},
	}
	for _, row := range rows {
		for _, slowdown := range []float64{1, 4} {
			b.Run(fmt.Sprintf("%s/slowdown=%v", row.name, slowdown), func(b *testing.B) {
				found := make(map[string][]float64)
				for range b.N {
					row.run(&stopwatch{b, slowdown, found})
				}
				for unit, values := range found {
					slices.Sort(values)
					b.ReportMetric(values[len(values)/2], unit)
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// stopwatch collects the values of a row by their units.
type stopwatch struct {
	*testing.B
	slowdown float64
	found    map[string][]float64
}

// record adds a value.
func (s *stopwatch) record(unit string, value float64) { s.found[unit] = append(s.found[unit], value) }

// open opens a page in a new browser, which has cached nothing.
func (s *stopwatch) open(url string) *page {
	setUp := chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		script := cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: watching}
		_, err := cdp.Call(ctx, target, cdppage.AddScriptToEvaluateOnNewDocument, script)
		if err == nil {
			slow := emulation.SetCPUThrottlingRateParams{Rate: s.slowdown}
			_, err = cdp.Call(ctx, target, emulation.SetCPUThrottlingRate, slow)
		}
		return err
	})
	return startBrowser(s.B).open(s.B, url, look("light", 1000, 700, 1), setUp)
}

const (
	line      = "\x1b[32mok\x1b[0m  shop.example/cart  0.031s  coverage: 81.2% of statements"
	errorLine = "src/shop/cart.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'."
)

// measureGroups opens a page with 20,000 groups, in 1 MB of output.
func measureGroups(s *stopwatch) {
	output := strings.Builder{}
	for i := range 20_000 {
		fmt.Fprintf(&output, "::group::Step %d\nline of step %d\n::endgroup::\n", i, i)
	}
	v := serve(s.B, made(s.B, acptermtest.Commands{"ci": acptermtest.Print(output.String()+"the end\n", 0)}), nil)
	p := s.open(v.only(v.createLong(s.B, "ci")))
	s.record("complete-ms", eval[float64](p, `theEnd`))
	s.record("longest-ms", eval[float64](p, `longest`))
	p.close()
}

// measureFlood watches a command that writes 50 MB of one line.
func measureFlood(s *stopwatch, pty *acpterm.PTYOptions, line string) {
	v := serve(s.B, acptermtest.NewManager(s.B, nil), nil)
	start := filepath.Join(s.TempDir(), "start")
	script := `echo begin; until test -e "$0"; do sleep 0.01; done; yes "$1" | head -c 50000000; echo; echo the end`
	terminal, err := v.Create(s.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "sh",
		Args: []string{"-c", script, start, line}}, &acpterm.CommandOptions{PTY: pty})
	require.NoError(s, err)
	p := s.open(v.only(terminal))
	eval[float64](p, `firstOutput`)
	begin := eval[float64](p, `(longest = 0, performance.now())`)
	require.NoError(s, os.WriteFile(start, nil, 0o600))
	s.record("complete-ms", eval[float64](p, `theEnd`)-begin)
	s.record("longest-ms", eval[float64](p, `longest`))
	p.close()
}

// measureChoosing chooses one command after another while both write as fast as the page can show.
func measureChoosing(s *stopwatch) {
	pour := func(letter string) acptermtest.Script {
		block := []byte(strings.Repeat(strings.Repeat(letter, 60)+"\n", 1000))
		return func(p *acptermtest.Process) int {
			for p.Context().Err() == nil {
				if _, err := p.Write(block); err != nil {
					break
				}
				time.Sleep(time.Millisecond)
			}
			return 1
		}
	}
	v := serve(s.B, made(s.B, acptermtest.Commands{"Q": pour("QQ"), "Z": pour("ZZ")}), nil)
	keys := map[string]string{"QQ": v.key(v.create(s.B, "Q")), "ZZ": v.key(v.create(s.B, "Z"))}
	p := s.open(v.url)
	eval[float64](p, `when(() => shows('ZZ') || shows('QQ'))`)
	eval[float64](p, `(longest = 0)`)
	var times []float64
	for i := range 20 {
		letter := []string{"QQ", "ZZ"}[i%2]
		times = append(times, eval[float64](p, fmt.Sprintf(
			`(begin => (location.hash = %q, when(() => shows(%q))).then(end => end - begin))(performance.now())`, keys[letter], letter)))
		eval[bool](p, `new Promise(resolve => setTimeout(() => resolve(true), 200))`)
	}
	slices.Sort(times)
	s.record("median-ms", times[len(times)/2])
	s.record("most-ms", times[len(times)-1])
	s.record("longest-ms", eval[float64](p, `longest`))
	p.close()
}

// measureDistance opens a page through a network that needs 100 ms in each direction, also to connect.
func measureDistance(s *stopwatch) {
	v := serve(s.B, made(s.B, acptermtest.Commands{"make": acptermtest.Print("begin\n", 0)}), nil)
	terminal := v.create(s.B, "make")
	<-terminal.Done()
	address := delayed(s.B, v.server.Listener.Addr().String(), 100*time.Millisecond)
	p := s.open(strings.Replace(v.url, v.server.Listener.Addr().String(), address, 1))
	s.record("first-output-ms", eval[float64](p, `firstOutput`))
	p.close()
}

// delayed returns the address of a proxy that takes some time to pass data on in each direction.
func delayed(b *testing.B, to string, oneWay time.Duration) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	b.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				client.Close()
				continue
			}
			connected := time.Now().Add(2 * oneWay) // the client thinks that it is connected already
			go pass(server, client, oneWay, connected)
			go pass(client, server, oneWay, connected)
		}
	}()
	return listener.Addr().String()
}

// pass copies data, each part a time after it came, or after connected.
func pass(to io.WriteCloser, from io.Reader, after time.Duration, connected time.Time) {
	type part struct {
		data []byte
		at   time.Time
	}
	parts := make(chan part, 10_000)
	go func() {
		defer to.Close()
		for p := range parts {
			time.Sleep(time.Until(p.at))
			to.Write(p.data)
		}
	}()
	defer close(parts)
	for {
		data := make([]byte, 32<<10)
		n, err := from.Read(data)
		at := time.Now()
		if at.Before(connected) {
			at = connected
		}
		parts <- part{data[:n], at.Add(after)}
		if err != nil {
			return
		}
	}
}

package browsertest

// A day of work in a page, in short: what remains in the memory of the page and of the view.

import (
	"context"
	"fmt"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/view"
)

// kindsOfDay returns the commands of the day. "rm" is denied.
func kindsOfDay(waits acptermtest.Script) acptermtest.Commands {
	return acptermtest.Commands{
		"small":    acptermtest.Print("one\ntwo\nthree needle\n", 0),
		"silent":   acptermtest.Print("", 0),
		"fails":    acptermtest.Print("ok\nerror: no such needle\n", 1),
		"large":    acptermtest.Print(strings.Repeat("a line of a build that says what it does, and a needle\n", 15_000), 0),
		"groups":   acptermtest.Print(strings.Repeat("::group::Install\nnpm ci\nadded 3 needles\n::endgroup::\n", 50), 0),
		"progress": acptermtest.Print(strings.Repeat("\r\x1b[2K\x1b[32mneedle\x1b[0m 50 % 🙂 日本", 300)+"\n", 0),
		"long":     acptermtest.Print(strings.Repeat("needle ", 20_000), 3),
		"rm":       acptermtest.Block,
		"waits":    waits,
	}
}

// day is the state of one run.
type day struct {
	b     testing.TB
	p     *page
	v     *viewer
	real  *acpterm.Manager // for commands with a PTY
	pty   *view.Source
	agent *agent
	made  int
}

// work runs a number of commands in sessions of 25, and does what a user does meanwhile.
func (d *day) work(commands int) {
	names := []string{"small", "fails", "small", "groups", "silent", "large", "small", "rm", "progress", "long", "small"}
	for range commands {
		session := acpterm.SessionID(fmt.Sprint("session ", d.made/25))
		if d.made%25 == 0 {
			d.v.view.NameSession(session, fmt.Sprint("Task ", d.made/25))
		}
		terminal, err := d.v.Create(context.Background(), acpterm.CreateTerminalRequest{SessionID: session,
			Command: names[d.made%len(names)], Args: []string{strconv.Itoa(d.made)}}, nil)
		if err == nil {
			<-terminal.Done()
			if d.made%25 == 9 {
				d.show(d.v.key(terminal))
			}
		}
		if d.made++; d.made%25 == 0 {
			d.others(session)
			require.NoError(d.b, d.v.ReleaseSession(context.Background(), session))
		}
	}
}

// show shows a terminal and uses it.
func (d *day) show(key string) {
	eval[string](d.p, "location.hash = "+strconv.Quote(key))
	d.p.until(fmt.Sprintf(`location.hash.includes(%q) && el.row?.key === %[1]q && el.row.ended`, key))
	eval[bool](d.p, `(async () => {
		el.openFind()
		await el.find('needle')
		await el.earlier()
		await el.later()
		part('.first-error').click()
		for (const item of ['.copy', '.fold-all', '.fold-all', '.copy']) part(item).click()
		part('.find button:last-child').click()
		return true
	})()`)
	if d.made%100 == 9 {
		d.v.open.drop()
	}
}

// others shows a terminal of the agent whose output is replaced, and types into a command with a PTY.
func (d *day) others(session acpterm.SessionID) {
	id := acpterm.TerminalID(fmt.Sprint("call ", d.made))
	owned := d.agent.update(session, id, members{"command": "npm test"})
	eval[string](d.p, "location.hash = "+strconv.Quote(d.v.key(owned)))
	for i := range 10 {
		d.agent.update(session, id, snapshot(fmt.Sprintf("again %d\n", i)))
	}
	d.p.until(`el.text === 'again 9\n'`)
	d.agent.update(session, id, members{"exitStatus": members{"exitCode": 0}})
	<-owned.Done()

	typed, err := d.real.Create(context.Background(), acpterm.CreateTerminalRequest{SessionID: session, Command: "sh",
		Args: []string{"-c", `printf '\033[?1049h'; read -r name; printf '\033[?1049l'; echo "<$name>"`}},
		&acpterm.CommandOptions{PTY: &acpterm.PTYOptions{Attended: true}})
	require.NoError(d.b, err)
	path := d.pty.TerminalPath(session, typed.ID())
	eval[string](d.p, "location.hash = "+strconv.Quote(path[strings.LastIndexByte(path, '/')+1:]))
	d.p.until(`(document.activeElement.blur(), el.row?.pty) && part('.typing').textContent === 'Type here'`)
	d.p.focusScreen()
	d.p.press("needle\r")
	d.p.until(`el.text.includes('<needle>') && el.row.ended`)
	require.NoError(d.b, d.real.ReleaseSession(context.Background(), session))
}

// rest returns the memory in use, in megabytes, the nodes and listeners of the page, and the goroutines.
func (d *day) rest(key string) (metrics map[string]float64) {
	eval[string](d.p, "location.hash = "+strconv.Quote(key))
	d.p.until(fmt.Sprintf(`el.row?.key === %q && el.text === 'begin\n'`, key))
	for range 3 {
		_, err := chromedp.Call(d.p.ctx, heapprofiler.CollectGarbage, cdp.Empty{})
		require.NoError(d.b, err)
		goruntime.GC()
	}
	metrics = d.p.metrics()
	metrics["goroutines"] = float64(goruntime.NumGoroutine())
	metrics["JSHeapUsedSize"] /= 1e6
	var memory goruntime.MemStats
	goruntime.ReadMemStats(&memory)
	metrics["go"] = float64(memory.HeapAlloc) / 1e6
	return metrics
}

// measure begins to measure the page. Its times are those of the processor, which do not depend on other processes.
func (p *page) measure() {
	_, err := chromedp.Call(p.ctx, performance.Enable,
		performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	require.NoError(p.t, err)
}

// metrics returns what Chromium measures.
func (p *page) metrics() map[string]float64 {
	result, err := chromedp.Call(p.ctx, performance.GetMetrics, cdp.Empty{})
	require.NoError(p.t, err)
	metrics := make(map[string]float64)
	for _, metric := range result.Metrics {
		metrics[metric.Name] = metric.Value
	}
	return metrics
}

// BenchmarkDay reports, after a quarter, a half and the whole of a day, the heap of the page's scripts and of
// this process in megabytes, the nodes and listeners of the page, and the goroutines of this process. A day has 300
// commands, or 3,000 with ACPTERM_TEST_LONG.
func BenchmarkDay(b *testing.B) {
	browser := startBrowser(b)
	texts := make(chan string, 1)
	texts <- "begin\n"
	m := acptermtest.NewManager(b, &acpterm.Options{Runner: kindsOfDay(steps(texts)), Policy: policyFunc(denyRemovals)})
	v := serve(b, m, &view.Options{Input: true, AllowStop: true})
	real := acptermtest.NewManager(b, nil)
	d := &day{b: b, v: v, real: real, pty: v.view.Add(real, "PTYs"), agent: newAgent(b, m, agentterm.Options{})}
	waits, err := m.Create(b.Context(), acpterm.CreateTerminalRequest{SessionID: "all day", Command: "waits"}, nil)
	require.NoError(b, err)
	d.p = browser.open(b, v.url, look("light", 1000, 700, 1))
	d.p.measure()
	commands := longtest.Times(300, 3000)
	for _, at := range []struct {
		name  string
		until int
	}{{"quarter", commands / 4}, {"half", commands / 2}, {"day", commands}} {
		d.work(at.until - d.made)
		metrics := d.rest(v.key(waits))
		for name, unit := range map[string]string{
			"JSHeapUsedSize": "page-MB", "Nodes": "nodes", "JSEventListeners": "listeners", "go": "go-MB",
			"goroutines": "goroutines",
		} {
			b.ReportMetric(metrics[name], at.name+"-"+unit)
		}
	}
	b.ReportMetric(0, "ns/op")
	close(texts)
}

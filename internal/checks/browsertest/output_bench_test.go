package browsertest

// The longest time between two frames of a page while a command writes much output.

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/view"
)

// outputs are blocks of output: the lines of a build, short lines, long lines without ends, and frames of a program
// that redraws its screen.
var outputs = map[string]string{
	"build": strings.Repeat("\x1b[32mok\x1b[0m  shop.example/cart  0.031s  coverage: 81.2% of statements\r\n", 200),
	"short": strings.Repeat("y\r\n", 5000),
	"long":  strings.Repeat("0123456789abcdefghijklmnopqrstuv", 500),
	"frames": "\x1b[H" + strings.Repeat("\x1b[1;34mcpu\x1b[0m \x1b[42m     \x1b[41m   \x1b[0m 81.2% "+
		"\x1b[38;5;208mthe name of a process\x1b[0m\x1b[K\r\n", 20) + "\x1b[J",
}

// pour waits for a file, and writes this many megabytes of an output.
func pour(file, which, megabytes string) {
	for {
		if _, err := os.Stat(file); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	block, size := outputs[which], must(strconv.Atoi(megabytes))*1_000_000
	for written := 0; written < size; written += len(block) {
		if _, err := os.Stdout.WriteString(block); err != nil {
			return
		}
	}
	os.Stdout.WriteString("\r\nthe end")
}

// BenchmarkOutput reports the longest frame of a page, in milliseconds, while 50 MB arrive (5 MB without
// ACPTERM_TEST_LONG), and until the page shows the end; how long the command takes, and all of it; and the processor
// time that the page uses. idle is the longest frame of another page meanwhile, which only changes a number. The page
// types into a PTY, only shows one, or shows the output of a pipe.
func BenchmarkOutput(b *testing.B) {
	browser := startBrowser(b)
	idle := browser.open(b, "data:text/html,")
	for _, how := range []string{"typing", "reading", "pipe"} {
		for _, which := range []string{"build", "short", "long", "frames"} {
			b.Run(how+"/"+which, func(b *testing.B) {
				m := acptermtest.NewManager(b, nil)
				v := serve(b, m, &view.Options{Input: how == "typing"})
				file := filepath.Join(b.TempDir(), "start")
				options := &acpterm.CommandOptions{}
				if how != "pipe" {
					options.PTY = &acpterm.PTYOptions{Attended: true}
				}
				terminal, err := v.Create(b.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: os.Args[0],
					Args: []string{"child", "pour", file, which, strconv.Itoa(longtest.Times(5, 50))}}, options)
				require.NoError(b, err)
				p := browser.open(b, v.only(terminal), look("light", 1000, 700, 1))
				p.until(`part('.state').textContent.includes('running') && part('.xterm-screen')`)
				if how == "typing" {
					p.focusScreen()
				}
				p.measure()
				for _, p := range []*page{p, idle} {
					eval[bool](p, watchFrames)
				}
				eval[bool](idle, `(document.title ||= setInterval(() => { document.body.textContent = Date.now() }, 16), true)`)
				used := p.metrics()["TaskDuration"]
				began := time.Now()
				require.NoError(b, os.WriteFile(file, nil, 0o600))
				<-terminal.Done()
				command := time.Since(began)
				p.until(`part('.state').textContent === 'done' && part('.xterm-rows').textContent.includes('the end')`)
				b.ReportMetric(eval[float64](p, `longest`), "longest-ms")
				b.ReportMetric(eval[float64](idle, `longest`), "idle-ms")
				b.ReportMetric(1000*(p.metrics()["TaskDuration"]-used), "page-cpu-ms")
				b.ReportMetric(command.Seconds(), "command-s")
				b.ReportMetric(time.Since(began).Seconds(), "done-s")
				b.ReportMetric(0, "ns/op")
				p.close()
			})
		}
	}
}

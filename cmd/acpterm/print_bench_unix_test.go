//go:build unix

package main

// What the printing of output costs, beside following alone.

import (
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
)

func init() {
	parts["lines"] = func(args []string) { // LINE BYTES: each line by a write of its own
		line := []byte(args[0] + "\n")
		for left, _ := strconv.Atoi(args[1]); left > 0; left -= len(line) {
			if _, err := os.Stdout.Write(line); err != nil {
				os.Exit(1)
			}
		}
	}
}

var benchmarkLines = map[string]string{
	"plain":     strings.Repeat("x", 63),
	"coloured":  "\x1b[32m" + strings.Repeat("x", 54) + "\x1b[0m",
	"not ASCII": strings.Repeat("日", 21),
}

// BenchmarkLines prints pieces of output that are already there.
func BenchmarkLines(b *testing.B) {
	for name, line := range benchmarkLines {
		b.Run(name, func(b *testing.B) {
			text := strings.Repeat(line+"\n", 256)
			e, s := newLineEditor(true), newScreen(io.Discard, io.Discard, true, nil)
			began := cpuTime(b)
			for b.Loop() {
				s.printTo(s.out, "[1] | ", e.add(text))
			}
			b.ReportMetric(float64(b.N*len(text))/1e6/(cpuTime(b)-began).Seconds(), "MB/CPU-s")
		})
	}
}

// BenchmarkPrint compares, turn by turn, a follower that drops the output of a command with one that prints it to
// /dev/null. The CPU time is this process's alone.
func BenchmarkPrint(b *testing.B) {
	for name, line := range benchmarkLines {
		b.Run(name, func(b *testing.B) {
			const size = 256 << 20
			var alone, printed cost
			for b.Loop() {
				alone.add(b, line, size, func(_ *screen, t *acpterm.Terminal) {
					for range t.Follow(b.Context(), 0) {
					}
				})
				printed.add(b, line, size, func(s *screen, t *acpterm.Terminal) {
					(&shownTerminal{Terminal: t, screen: s, name: "[1]"}).printOutput()
				})
			}
			total := float64(size) * float64(b.N)
			for what, c := range map[string]cost{"alone": alone, "printed": printed} {
				b.ReportMetric(total/1e6/c.wall.Seconds(), what+"-MB/s")
				b.ReportMetric(c.cpu.Seconds()/total*(1<<30), what+"-CPU-s/GiB")
			}
			b.ReportMetric(printed.cpu.Seconds()/alone.cpu.Seconds(), "CPU-ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// cost is what commands took that were followed.
type cost struct{ wall, cpu time.Duration }

// add has a command print a line until it has printed so many bytes, and read its output.
func (c *cost) add(b *testing.B, line string, size int, read func(*screen, *acpterm.Terminal)) {
	out, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(b, err)
	defer out.Close()
	s := newScreen(out, out, strings.Contains(line, "\x1b"), func(err error) { b.Error(err) })
	m, err := acpterm.NewManager(nil)
	require.NoError(b, err)
	defer m.Close()
	began, used := time.Now(), cpuTime(b)
	t, err := m.Create(b.Context(), createParams("s", part("lines", line, strconv.Itoa(size))...), nil)
	require.NoError(b, err)
	read(s, t)
	c.wall += time.Since(began)
	c.cpu += cpuTime(b) - used
	status, err := t.Wait(b.Context())
	require.NoError(b, err)
	require.Equal(b, "exit code 0", status.String())
}

// cpuTime is what this process has used of the processors.
func cpuTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

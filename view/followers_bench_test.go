package view_test

// The cost of watching a command.

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
	"github.com/stretchr/testify/require"
)

// BenchmarkFollowers runs a command that writes as fast as it can, alternately without pages and with ten. It reports
// how much longer the command runs with pages, as slower-% of the medians. The pages are in the same process, so their
// reading is included. Run it on an idle machine.
func BenchmarkFollowers(b *testing.B) {
	const lines, size = 4 << 20, 4 << 20 * 65
	m := acptermtest.NewManager(b, &acpterm.Options{})
	v := newViewer(b, m, view.Options{})
	dir := b.TempDir()
	var took [2][]time.Duration // without and with pages
	for i := 0; b.Loop(); i++ {
		for _, which := range []int{i % 2, 1 - i%2} {
			file := filepath.Join(dir, fmt.Sprint(i, which))
			terminal := v.start("flood-after", file, fmt.Sprint(lines))
			var pages sync.WaitGroup
			for range which * 10 {
				s := v.open(output(terminal), "")
				s.text(func(string) bool { return true })
				pages.Go(func() { io.Copy(io.Discard, s.lines) })
			}
			for terminal.OutputTotal() == 0 {
				time.Sleep(time.Millisecond)
			}
			start := time.Now()
			require.NoError(b, os.WriteFile(file, nil, 0o600))
			<-terminal.Done()
			took[which] = append(took[which], time.Since(start))
			require.NoError(b, v.Release(b.Context(), "s", terminal.ID()))
			pages.Wait() // reading after the end must not slow the next run
		}
	}
	b.ReportMetric(0, "ns/op")
	without, with := median(took[0]), median(took[1])
	b.ReportMetric(100*(with.Seconds()/without.Seconds()-1), "slower-%")
	b.ReportMetric(size/without.Seconds()/1e6, "MB/s-unwatched")
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

//go:build unix

package main

// The cost of keeping the beginning of an output in addition to its end.

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
)

// BenchmarkHead runs cat on a gigabyte, alternately in a terminal that does not keep a head and in one that keeps 64
// KiB. It reports the median ratio of their rates.
func BenchmarkHead(b *testing.B) {
	const size = 1 << 30
	file := filepath.Join(b.TempDir(), "zeros")
	require.NoError(b, os.WriteFile(file, nil, 0o644))
	require.NoError(b, os.Truncate(file, size)) // a sparse file, so the disk is not measured
	m := newManager(b, nil)
	without := acpterm.CreateTerminalRequest{SessionID: session, Command: "cat", Args: []string{file}}
	with := without
	agent.AskForHead(&with, 64<<10)
	seconds := func(request acpterm.CreateTerminalRequest) float64 {
		began := time.Now()
		require.EqualValues(b, size, runRequest(b, m, request).Written)
		return time.Since(began).Seconds()
	}
	var rates, ratios []float64
	for b.Loop() {
		none := seconds(without)
		rates = append(rates, size/none)
		ratios = append(ratios, none/seconds(with))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(rates)/1e6, "MB/s-without")
	b.ReportMetric(median(ratios), "ratio")
}

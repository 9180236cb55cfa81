package view

// The cost of knowing when output was written.

import (
	"fmt"
	"io"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/stretchr/testify/require"
)

// BenchmarkLooks looks once at all running commands, whose output has grown since the last look, or has not. It reports
// the share of one processor that the looks of a View take.
func BenchmarkLooks(b *testing.B) {
	for _, commands := range []int{1, 1000} {
		for _, grows := range []bool{false, true} {
			b.Run(fmt.Sprintf("commands=%d/grows=%t", commands, grows), func(b *testing.B) {
				m := acptermtest.NewManager(b, &acpterm.Options{MaxTerminals: commands, Runner: acptermtest.Commands{
					"serve": func(p *acptermtest.Process) int {
						io.WriteString(p, "ready\n")
						return acptermtest.Block(p)
					}}})
				var w watch // without its goroutine
				for range commands {
					terminal, err := m.Create(b.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "serve"}, nil)
					require.NoError(b, err)
					for range terminal.Follow(b.Context(), 0) {
						break
					}
					w.running = append(w.running, newTimeline(terminal))
				}
				for b.Loop() {
					for _, l := range w.running {
						l.looked -= lookInterval.Milliseconds()
						if grows {
							l.samples[len(l.samples)-1].offset--
							if len(l.samples) == maxSamples {
								l.samples = l.samples[:1]
							}
						}
					}
					require.True(b, w.lookAtAll())
				}
				perLook := float64(b.Elapsed()) / float64(b.N)
				b.ReportMetric(100*perLook/float64(lookInterval), "processor-%")
			})
		}
	}
}

package main

// Remote commands: the throughput of their output, and the cost of a start. The remote machine is this machine, reached
// through plain pipes to a shell, through OpenSSH on loopback, or through pipes with a delay.

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/sshdtest"
	"github.com/acpterm/acpterm/remote"
)

// plainPipes returns the command line of a shell on this machine.
func plainPipes(*testing.B) []string { return []string{"sh"} }

// openSSH returns the command line of an ssh connection to this machine. It skips the benchmark if sshd is not
// available.
func openSSH(b *testing.B) []string {
	s := sshdtest.Start(b)
	return s.CommandLine(s.User)
}

// newRunner returns a connected Runner. It is closed after the benchmark.
func newRunner(b *testing.B, transport remote.Transport) *remote.Runner {
	helpers := b.TempDir()
	require.NoError(b, remote.Build(b.Context(), "", helpers, runtime.GOOS, runtime.GOARCH))
	r, err := remote.NewRunner(remote.Options{Transport: transport, Helpers: os.DirFS(helpers), Dir: b.TempDir()})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, r.Close()) })
	require.NoError(b, r.Connect(b.Context()))
	return r
}

func newManager(b *testing.B, options *acpterm.Options) *acpterm.Manager {
	m, err := acpterm.NewManager(options)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, m.Close()) })
	return m
}

// runOne creates a terminal, waits for its command and releases it. The command must succeed. runOne returns the
// terminal's information from before the release.
func runOne(b *testing.B, m *acpterm.Manager, line ...string) acpterm.TerminalInfo {
	request := acpterm.CreateTerminalRequest{SessionID: session, Command: line[0], Args: line[1:]}
	t, err := m.Create(b.Context(), request, nil)
	require.NoError(b, err)
	status, err := t.Wait(b.Context())
	require.NoError(b, err)
	require.True(b, status.Success(), status.String())
	info := t.Info()
	require.NoError(b, m.Release(b.Context(), session, t.ID()))
	return info
}

// BenchmarkRemoteFirehose runs cat on a gigabyte, alternately through remote to a terminal, and through the same
// command line alone to a reader that discards the output. It reports the medians of both, and the median ratio of each
// pair. The time of a terminal is from before its create to its exit. The other time excludes the connection: it is
// from the first byte to the last.
func BenchmarkRemoteFirehose(b *testing.B) {
	for _, far := range []struct {
		name string
		line func(*testing.B) []string
	}{{"pipes", plainPipes}, {"ssh", openSSH}} {
		b.Run(far.name, func(b *testing.B) {
			const size = 1 << 28
			line := far.line(b)
			file := filepath.Join(b.TempDir(), "zeros")
			require.NoError(b, os.WriteFile(file, nil, 0o644))
			require.NoError(b, os.Truncate(file, size)) // a sparse file, so the disk is not measured
			m := newManager(b, &acpterm.Options{Runner: newRunner(b, remote.Command{Args: line})})
			if far.name == "pipes" {
				line = []string{"sh", "-c"}
			}
			var ours, theirs, ratios []float64
			for b.Loop() {
				theirs = append(theirs, size/discard(b, append(slices.Clone(line), "cat "+file), size).Seconds())
				began := time.Now()
				require.EqualValues(b, size, runOne(b, m, "cat", file).Written)
				ours = append(ours, size/time.Since(began).Seconds())
				ratios = append(ratios, ours[len(ours)-1]/theirs[len(theirs)-1])
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(ours)/1e6, "MB/s")
			b.ReportMetric(median(theirs)/1e6, "MB/s-alone")
			b.ReportMetric(median(ratios), "ratio")
		})
	}
}

// discard runs a command line, checks the size of its output, and returns the time from the first byte to the last.
func discard(b *testing.B, line []string, size int64) time.Duration {
	cmd := exec.Command(line[0], line[1:]...)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	_, err = io.ReadFull(out, make([]byte, 1))
	require.NoError(b, err)
	began := time.Now()
	n, err := io.CopyBuffer(io.Discard, struct{ io.Reader }{out}, make([]byte, 64<<10))
	took := time.Since(began)
	require.NoError(b, err)
	require.NoError(b, cmd.Wait())
	require.Equal(b, size, n+1)
	return took
}

// delay is the added time in each direction of a delayed connection. A round trip takes twice as long.
const delay = 20 * time.Millisecond

// BenchmarkRemoteCreate measures a command that does nothing, from create to release, alternately local and remote. It
// reports the medians. For the delayed connection, it also reports the difference in round trips.
func BenchmarkRemoteCreate(b *testing.B) {
	for _, far := range []struct {
		name      string
		transport func(*testing.B) remote.Transport
	}{
		{"pipes", func(b *testing.B) remote.Transport { return remote.Command{Args: plainPipes(b)} }},
		{"ssh", func(b *testing.B) remote.Transport { return remote.Command{Args: openSSH(b)} }},
		{"delayed", func(b *testing.B) remote.Transport { return delayed{remote.Command{Args: plainPipes(b)}} }},
	} {
		b.Run(far.name, func(b *testing.B) {
			here, there := newManager(b, nil), newManager(b, &acpterm.Options{Runner: newRunner(b, far.transport(b))})
			var took [2][]float64
			for b.Loop() {
				for i, m := range []*acpterm.Manager{here, there} {
					began := time.Now()
					runOne(b, m, "true")
					took[i] = append(took[i], time.Since(began).Seconds())
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(took[0])*1e3, "ms-here")
			b.ReportMetric(median(took[1])*1e3, "ms-there")
			if far.name == "delayed" {
				b.ReportMetric((median(took[1])-median(took[0]))/(2*delay).Seconds(), "round-trips-more")
			}
		})
	}
}

// BenchmarkRemoteStart measures only a Runner's Start, on the delayed connection.
func BenchmarkRemoteStart(b *testing.B) {
	r := newRunner(b, delayed{remote.Command{Args: plainPipes(b)}})
	dir, env, err := r.Base(b.Context())
	require.NoError(b, err)
	c := acpterm.Command{Args: []string{"true"}, Dir: dir, Env: append(env, "ACPTERM_TERMINAL=term_1")}
	found, err := r.LookPath(b.Context(), c)
	require.NoError(b, err)
	c.Path = found.Path
	for b.Loop() {
		p, err := r.Start(b.Context(), acpterm.StartRequest{
			SessionID: session, TerminalID: "term_1", Command: c, Pin: found.Pin, Output: nopCloser{io.Discard},
		})
		b.StopTimer()
		require.NoError(b, err)
		<-p.Gone()
		require.NoError(b, p.Err())
		p.Close()
		b.StartTimer()
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/(2*delay).Seconds(), "round-trips")
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// delayed is a Transport with added latency but unlimited throughput.
type delayed struct{ remote.Transport }

func (d delayed) Open(ctx context.Context) (io.ReadWriteCloser, error) {
	far, err := d.Transport.Open(ctx)
	if err != nil {
		return nil, err
	}
	c := &delayedConn{far: far}
	var fromFar *io.PipeWriter
	var toFar *io.PipeReader
	c.PipeReader, fromFar = io.Pipe()
	toFar, c.PipeWriter = io.Pipe()
	c.busy.Go(func() { copyLate(fromFar, far) })
	c.busy.Go(func() { copyLate(far, toFar) })
	return c, nil
}

// delayedConn is a connection of a delayed Transport.
type delayedConn struct {
	*io.PipeReader
	*io.PipeWriter
	far  io.Closer
	busy sync.WaitGroup
}

func (c *delayedConn) Close() error {
	err := errors.Join(c.far.Close(), c.PipeReader.Close(), c.PipeWriter.Close())
	c.busy.Wait()
	return err
}

// copyLate writes each piece that it reads after the delay. It closes to at the end.
func copyLate(to io.WriteCloser, from io.Reader) {
	type piece struct {
		text []byte
		due  time.Time
	}
	pieces := make(chan piece, 1<<10)
	go func() {
		defer close(pieces)
		for buffer := make([]byte, 64<<10); ; {
			n, err := from.Read(buffer)
			if err != nil {
				return
			}
			pieces <- piece{slices.Clone(buffer[:n]), time.Now().Add(delay)}
		}
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.due))
		to.Write(p.text) // fails after Close only
	}
	to.Close()
}

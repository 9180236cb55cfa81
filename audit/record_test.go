package audit_test

// Tests of when lines are on disk, and of failing writes.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/audit"
	"github.com/acpterm/acpterm/internal/leaktest"
)

// line has the members of an audit line that tests check.
type line struct{ Msg, Terminal, Verdict, Error string }

func lines(t testing.TB, data []byte) (all []line) {
	t.Helper()
	for text := range bytes.Lines(data) {
		require.Equal(t, byte('\n'), text[len(text)-1], "the last line is not whole")
		var l line
		require.NoError(t, json.Unmarshal(text, &l), "%s", text)
		all = append(all, l)
	}
	return all
}

// disk is a Writer with a Sync that tests can inspect, fill and hold up. The zero value is an empty disk.
type disk struct {
	held   chan struct{} // if not nil, writes wait until it is closed
	writes chan struct{} // if not nil, gets a value when a write begins, if there is room

	mu     sync.Mutex
	data   []byte
	synced int // bytes
	syncs  int
	room   func(size int) int // returns how many bytes of a write fit; if nil, all do
}

// heldDisk returns a disk whose writes wait.
func heldDisk() *disk { return &disk{held: make(chan struct{}), writes: make(chan struct{}, 1)} }

func (d *disk) Write(p []byte) (int, error) {
	select {
	case d.writes <- struct{}{}:
	default:
	}
	if d.held != nil {
		<-d.held
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(p)
	if d.room != nil {
		n = d.room(n)
	}
	d.data = append(d.data, p[:n]...)
	if n < len(p) {
		return n, &os.PathError{Op: "write", Path: "/secret/path", Err: errDiskFull}
	}
	return n, nil
}

func (d *disk) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.synced = len(d.data)
	d.syncs++
	return nil
}

func (d *disk) setRoom(room func(int) int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = room
}

// lines returns the synced lines, each of them whole.
func (d *disk) lines(t testing.TB) []line {
	d.mu.Lock()
	defer d.mu.Unlock()
	return lines(t, bytes.Clone(d.data[:d.synced]))
}

var errDiskFull = errors.New("the test's disk is full")

// commands is a Runner that calls a function before each start.
type commands struct {
	acptermtest.Commands
	started func(acpterm.StartRequest)
}

func (c commands) Start(ctx context.Context, l acpterm.StartRequest) (acpterm.Process, error) {
	c.started(l)
	return c.Commands.Start(ctx, l)
}

func eachStart(started func(acpterm.StartRequest)) commands {
	return commands{acptermtest.Commands{"*": acptermtest.Print("", 0)}, started}
}

var anyCommand = acpterm.CreateTerminalRequest{SessionID: "s", Command: "x"}

// A command starts only after its decision is on disk, and at the end every line is there.
func TestADecisionIsOnDiskBeforeItsCommandRuns(t *testing.T) {
	disk := new(disk)
	log := audit.New(disk)
	m := acptermtest.NewManager(t, &acpterm.Options{Record: log.Record, Runner: eachStart(func(l acpterm.StartRequest) {
		for _, line := range disk.lines(t) {
			if line.Terminal == string(l.TerminalID) && line.Verdict == "allow" {
				return
			}
		}
		t.Error("a command has started whose decision is not on the disk")
	})})
	var creates sync.WaitGroup
	for range 50 {
		creates.Go(func() {
			if _, err := m.Create(t.Context(), anyCommand, nil); err != nil {
				t.Error(err)
			}
		})
	}
	creates.Wait()
	require.NoError(t, m.Close())
	require.NoError(t, log.Close())
	require.ErrorIs(t, log.Close(), os.ErrClosed)
	kinds := make(map[string]int)
	for _, line := range disk.lines(t) {
		kinds[line.Msg+" "+line.Verdict]++
	}
	require.Equal(t, map[string]int{"decision allow": 50, "end ": 50}, kinds)
}

// A command whose decision does not fit on the disk does not run. Once there is room again, the audit is complete: no
// line is missing or in pieces.
func TestFullDisk(t *testing.T) {
	disk := new(disk)
	log := audit.New(disk)
	var started []acpterm.TerminalID
	m := acptermtest.NewManager(t, &acpterm.Options{Record: log.Record, Runner: eachStart(func(l acpterm.StartRequest) {
		started = append(started, l.TerminalID)
	})})
	for _, room := range []func(int) int{func(size int) int { return size / 2 }, func(int) int { return 0 }} {
		disk.setRoom(room)
		_, err := m.Create(t.Context(), anyCommand, nil)
		require.ErrorIs(t, err, acpterm.ErrInternal)
		require.ErrorIs(t, err, errDiskFull)
		require.NotContains(t, err.Error(), "secret")
	}
	disk.setRoom(nil)
	term, err := m.Create(t.Context(), anyCommand, nil)
	require.NoError(t, err)
	require.Equal(t, []acpterm.TerminalID{term.ID()}, started)
	require.NoError(t, m.Close())
	require.NoError(t, log.Close())
	decided, ended := 0, 0
	for _, line := range disk.lines(t) {
		if line.Msg == "decision" {
			decided++
			continue
		}
		ended++
		require.Equal(t, line.Terminal == string(term.ID()), line.Error == "", "%v", line)
	}
	require.Equal(t, []int{3, 3}, []int{decided, ended})
}

var allowed = &acpterm.DecisionEvent{Verdict: acpterm.VerdictAllow}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A Writer that panics, or reports fewer or more bytes than it wrote, counts as failing. Every Record after Close
// fails.
func TestWritersThatFail(t *testing.T) {
	for _, write := range []writerFunc{
		func([]byte) (int, error) { panic("a test's writer panics") },
		func([]byte) (int, error) { return 0, nil },
		func([]byte) (int, error) { return -1, errDiskFull },
		func(p []byte) (int, error) { return len(p) + 1, errDiskFull },
	} {
		log := audit.New(write)
		err := log.Record(t.Context(), allowed)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "a test's")
		log.Close()
	}
	log := audit.New(io.Discard)
	require.NoError(t, log.Close())
	require.ErrorIs(t, log.Record(t.Context(), allowed), os.ErrClosed)
}

// A decision on a pipe is on record once written: a pipe cannot be flushed.
func TestAPipe(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	log := audit.New(w)
	require.NoError(t, log.Record(t.Context(), allowed))
	require.NoError(t, log.Close())
	require.NoError(t, w.Close(), "it is not the Log's")
	data, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Len(t, lines(t, data), 1)
}

// Decisions that arrive while the disk is busy share one write and one flush. A Record ends with its context, and an
// end does not wait for the disk.
func TestDecisionsShareAFlush(t *testing.T) {
	disk := heldDisk()
	log := audit.New(disk)
	first := make(chan error, 1)
	go func() { first <- log.Record(t.Context(), allowed) }()
	<-disk.writes // the others arrive during this write
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		require.ErrorIs(t, log.Record(ended, allowed), context.Canceled)
		require.NoError(t, log.Record(t.Context(), new(acpterm.EndEvent)))
	}
	close(disk.held)
	require.NoError(t, <-first)
	require.NoError(t, log.Close())
	require.Len(t, disk.lines(t), 201)
	// One flush for the first, one for all others, and one for Close, which may share that of the others.
	require.Contains(t, []int{2, 3}, disk.syncs)
}

// Denied commands with long arguments that wait for the disk use bounded memory.
func TestAuditIsBoundedInBytes(t *testing.T) {
	disk := heldDisk()
	log := audit.New(disk)
	denied := &acpterm.DecisionEvent{Subject: acpterm.Subject{Args: []string{strings.Repeat("x", 1<<20)}}}
	require.NoError(t, log.Record(t.Context(), denied))
	<-disk.writes
	before := leaktest.HeapInUse()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var refused int
	for range 521 {
		if err := log.Record(ended, denied); err != nil {
			require.ErrorIs(t, err, context.Canceled)
			refused++
		}
	}
	require.Less(t, leaktest.HeapInUse()-before, int64(100<<20))
	require.Greater(t, refused, 500)
	close(disk.held)
	require.NoError(t, log.Close())
	require.Len(t, disk.lines(t), 522-refused)
}

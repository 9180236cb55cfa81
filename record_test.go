package acpterm_test

// What must be on record before a command runs, and what happens when it cannot be.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/audit"
	"github.com/stretchr/testify/require"
)

// auditLine is what tests look at in a line of the audit.
type auditLine struct {
	Msg, Terminal, Verdict, EndedBy, Error string
	Args                                   []string
}

func auditLines(t testing.TB, data []byte) (lines []auditLine) {
	t.Helper()
	for text := range bytes.Lines(data) {
		require.Equal(t, byte('\n'), text[len(text)-1], "the last line is not whole")
		var l auditLine
		require.NoError(t, json.Unmarshal(text, &l), "%s", text)
		lines = append(lines, l)
	}
	return lines
}

// memoryDisk is a Writer with a Sync that tests can look into, fill and hold up. The zero value is an empty disk.
type memoryDisk struct {
	mu     sync.Mutex
	data   []byte
	synced int // bytes
	syncs  int
	room   func(size int) int // of the bytes that a write adds, how many there is room for; nil: all
	held   chan struct{}      // writes wait until it is closed; nil: they do not
	writes chan struct{}      // gets a value when a write begins, if there is room; nil: it does not
}

func (d *memoryDisk) Write(p []byte) (int, error) {
	d.mu.Lock()
	held, writes := d.held, d.writes
	d.mu.Unlock()
	select {
	case writes <- struct{}{}:
	default:
	}
	if held != nil {
		<-held
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

func (d *memoryDisk) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.synced = len(d.data)
	d.syncs++
	return nil
}

func (d *memoryDisk) setRoom(room func(int) int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = room
}

func (d *memoryDisk) onDisk() []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return bytes.Clone(d.data[:d.synced])
}

var errDiskFull = errors.New("the test's disk is full")

// startHook is a Runner that calls a function before each start.
type startHook struct {
	acptermtest.Commands
	start func(acpterm.Launch)
}

func (r startHook) Start(ctx context.Context, l acpterm.Launch) (acpterm.Process, error) {
	r.start(l)
	return r.Commands.Start(ctx, l)
}

// A command starts when its decision is on the disk, and in the end all is there.
func TestADecisionIsOnDiskBeforeItsCommandRuns(t *testing.T) {
	disk := new(memoryDisk)
	log := audit.New(disk)
	m := newManager(t, &acpterm.Options{
		Record: log.Record,
		Runner: startHook{acptermtest.Commands{"*": acptermtest.Print("x", 0)}, func(l acpterm.Launch) {
			found := false
			for _, line := range auditLines(t, disk.onDisk()) {
				found = found || line.Terminal == string(l.TerminalID) && line.Verdict == "allow"
			}
			if !found {
				t.Error("a command has started whose decision is not on the disk")
			}
		}},
	})
	var creates sync.WaitGroup
	for range 50 {
		creates.Go(func() {
			_, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "x"})
			if err != nil {
				t.Error(err)
			}
		})
	}
	creates.Wait()
	require.NoError(t, m.Close())
	require.NoError(t, log.Close())
	require.ErrorIs(t, log.Close(), os.ErrClosed)
	kinds := make(map[string]int)
	for _, line := range auditLines(t, disk.onDisk()) {
		kinds[line.Msg+" "+line.Verdict]++
	}
	require.Equal(t, map[string]int{"decision allow": 50, "end ": 50}, kinds)
}

// A command whose decision does not fit on the disk does not run. When there is room again, the audit is complete: no
// line is missing or in pieces.
func TestFullDisk(t *testing.T) {
	disk := new(memoryDisk)
	log := audit.New(disk)
	var c ends
	m := newManager(t, &acpterm.Options{Record: log.Record, Events: c.hook})
	ran := filepath.Join(t.TempDir(), "ran")
	touch := childRequest("flood-and-touch", "0", ran)

	disk.setRoom(func(size int) int { return size / 2 })
	_, err := m.Create(t.Context(), touch)
	require.ErrorIs(t, err, acpterm.ErrInternal)
	require.ErrorIs(t, err, errDiskFull)
	require.NotContains(t, err.Error(), "secret")
	disk.setRoom(func(int) int { return 0 })
	a := connect(t, m, nil)
	_, err = a.call(acpterm.MethodCreate, touch)
	a.failed(err, -32603, `{"kind":"internal","reason":"the decision cannot be put on record","sessionId":"s"}`)
	require.NoFileExists(t, ran)

	disk.setRoom(nil)
	_, err = create(t, m, touch).Wait(t.Context())
	require.NoError(t, err)
	require.FileExists(t, ran)
	require.NoError(t, m.Close())
	require.NoError(t, log.Close())
	lines := auditLines(t, disk.onDisk())
	require.Len(t, lines, 6)
	ended := make(map[string]auditLine)
	for _, line := range lines {
		if line.Msg == "end" {
			ended[line.Terminal] = line
		}
	}
	failed := 0
	for _, end := range c.oneEach(t) {
		require.Equal(t, end.Err != nil, ended[string(end.TerminalID)].Error != "")
		if end.Err != nil {
			failed++
		}
	}
	require.Equal(t, 2, failed)
}

// A denial that cannot be put on record is a denial.
func TestFullDiskAndADenial(t *testing.T) {
	m := newManager(t, &acpterm.Options{
		Policy: denyAll,
		Record: func(context.Context, acpterm.Event) error { return errDiskFull },
	})
	_, err := m.Create(t.Context(), childRequest("exit", "0"))
	require.ErrorIs(t, err, acpterm.ErrDenied)
}

func TestAPanickingRecordDenies(t *testing.T) {
	started := false
	var c ends
	m := newManager(t, &acpterm.Options{
		Events: c.hook,
		Record: func(context.Context, acpterm.Event) error { panic("a test's Record panics") },
		Runner: startHook{acptermtest.Commands{"x": acptermtest.Print("", 0)}, func(acpterm.Launch) { started = true }},
	})
	_, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "x"})
	require.ErrorIs(t, err, acpterm.ErrInternal)
	require.NotContains(t, err.Error(), "panics")
	require.NoError(t, m.Close())
	require.False(t, started)
	require.Error(t, c.oneEach(t)[0].Err)
}

// A Writer that panics is one that fails.
func TestAPanickingWriter(t *testing.T) {
	log := audit.New(writerFunc(func([]byte) (int, error) { panic("a test's writer panics") }))
	m := newManager(t, &acpterm.Options{Record: log.Record})
	_, err := m.Create(t.Context(), childRequest("exit", "0"))
	require.ErrorIs(t, err, acpterm.ErrInternal)
	require.NoError(t, m.Close())
	require.Error(t, log.Close())
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// An audit that was closed too early lets nothing run.
func TestAClosedAudit(t *testing.T) {
	log := audit.New(io.Discard)
	m := newManager(t, &acpterm.Options{Record: log.Record})
	require.NoError(t, log.Close())
	_, err := m.Create(t.Context(), childRequest("exit", "0"))
	require.ErrorIs(t, err, acpterm.ErrInternal)
	require.ErrorIs(t, err, os.ErrClosed)
}

// The requests of an agent that wait for a slow disk end with the manager, and a Shutdown whose context has ended does
// not wait for the ends to be on record.
func TestShutdownWithASlowDisk(t *testing.T) {
	waiting := make(chan struct{})
	m := newManager(t, &acpterm.Options{Record: func(ctx context.Context, e acpterm.Event) error {
		if d, ok := e.(*acpterm.DecisionEvent); ok && d.Args[len(d.Args)-1] == "sleep" {
			return nil
		}
		if _, ok := e.(*acpterm.DecisionEvent); ok {
			close(waiting)
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}})
	create(t, m, childRequest("sleep"))
	done := make(chan error, 1)
	go func() {
		_, err := m.Create(t.Context(), childRequest("exit", "0"))
		done <- err
	}()
	<-waiting
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, m.Shutdown(ctx))
	require.ErrorIs(t, <-done, acpterm.ErrClosing)
}

// Creates that come while the disk is busy share one write and one flush.
func TestDecisionsShareAFlush(t *testing.T) {
	disk := &memoryDisk{held: make(chan struct{}), writes: make(chan struct{}, 1)}
	log := audit.New(disk)
	allow := &acpterm.DecisionEvent{Verdict: acpterm.Allow}
	first := make(chan error, 1)
	go func() { first <- log.Record(t.Context(), allow) }()
	<-disk.writes // the rest comes while this is being written
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		require.ErrorIs(t, log.Record(ended, allow), context.Canceled)
	}
	close(disk.held)
	require.NoError(t, <-first)
	require.NoError(t, log.Close())
	require.Len(t, auditLines(t, disk.onDisk()), 101)
	// Of the first, of all others, and of Close, which may share that of the others.
	require.Contains(t, []int{2, 3}, disk.syncs)
}

// Denied commands with long arguments that wait for the disk take bounded memory.
func TestAuditIsBoundedInBytes(t *testing.T) {
	disk := &memoryDisk{held: make(chan struct{}), writes: make(chan struct{}, 1)}
	log := audit.New(disk)
	denied := &acpterm.DecisionEvent{Subject: acpterm.Subject{Args: []string{strings.Repeat("x", 1<<20)}}}
	require.NoError(t, log.Record(t.Context(), denied))
	<-disk.writes
	before := heapInUse()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var refused int
	for range 521 {
		if err := log.Record(ended, denied); err != nil {
			require.ErrorIs(t, err, context.Canceled)
			refused++
		}
	}
	require.Less(t, heapInUse()-before, int64(100<<20))
	require.Greater(t, refused, 500)
	close(disk.held)
	require.NoError(t, log.Close())
	require.Len(t, auditLines(t, disk.onDisk()), 522-refused)
}

package hosttest

// Helpers for more than one package of tests: events, logs, lines of an agent, errors of options.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/racetest"
)

// WriteAll writes lines before it reads anything, as an agent may.
func (p *Peer) WriteAll(n int, line func(i int) string) {
	p.t.Helper()
	var all bytes.Buffer
	for i := range n {
		all.WriteString(line(i) + "\n")
	}
	_, err := p.Writer.Write(all.Bytes())
	require.NoError(p.t, err)
}

// Cancel returns the line that cancels a request.
func Cancel(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%s}}`, id)
}

// Refused checks the answer to a request beyond a quota.
func (p *Peer) Refused(quota string, limit int) {
	p.t.Helper()
	r := p.Read()
	require.NotNil(p.t, r.Error, "%s", r.Result)
	require.EqualValues(p.t, -32800, r.Error.Code)
	var data struct {
		Kind  acpterm.Kind `json:"kind"`
		Quota string       `json:"quota"`
		Limit int          `json:"limit"`
	}
	require.NoError(p.t, json.Unmarshal(*r.Error.Data, &data))
	require.Equal(p.t, acpterm.ErrQuota, data.Kind)
	require.Equal(p.t, quota, data.Quota)
	require.Equal(p.t, limit, data.Limit)
}

// RequireOptionRefused requires an error caused by the host, with a field.
func RequireOptionRefused(t *testing.T, err error, op, field string) {
	t.Helper()
	var refused *acpterm.Error
	require.ErrorAs(t, err, &refused, field)
	require.Equal(t, acpterm.ErrInternal, refused.Kind)
	require.Equal(t, op, refused.Op)
	require.Equal(t, field, refused.Field)
	require.NotEmpty(t, refused.Reason)
}

// Quietly returns options that keep skipped lines out of the log.
func Quietly() *acpterm.HandlerOptions {
	return &acpterm.HandlerOptions{SkippedLines: func([]byte, int64, string) {}}
}

// Rest returns the rest of a connection that a Handler without a Manager serves.
func Rest(t testing.TB, conn io.ReadWriteCloser, options *acpterm.HandlerOptions) io.ReadWriteCloser {
	h := acpterm.NewHandler(nil, options)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h.Filter(t.Context(), conn)
}

// BytesConn is a connection whose peer will not write any more.
type BytesConn struct {
	io.Reader
}

func (BytesConn) Write(p []byte) (int, error) { return len(p), nil }

func (BytesConn) Close() error { return nil }

// RealTempDir returns a temporary directory without symbolic links in its path.
func RealTempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

// Programs creates executable files in a new directory, and returns it.
func Programs(t testing.TB, names ...string) (dir string) {
	t.Helper()
	dir = RealTempDir(t)
	for _, name := range names {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho \"$@\"\n"), 0o700))
	}
	return dir
}

// CaptureLog returns a buffer that receives slog's log during the test.
func CaptureLog(t *testing.T) *racetest.Buffer {
	buffer := new(racetest.Buffer)
	logger, writer, flags := slog.Default(), log.Writer(), log.Flags()
	slog.SetDefault(slog.New(slog.NewTextHandler(buffer, nil)))
	t.Cleanup(func() {
		slog.SetDefault(logger)
		log.SetOutput(writer) // SetDefault has changed it
		log.SetFlags(flags)
	})
	return buffer
}

// Traffic is the updates of an adapter for one tool call, and the terminal expected at the end. The updates follow the
// published code of the adapters, with and without each capability that affects them.
type Traffic struct {
	Name string
	Want *struct { // nil if no terminal is expected
		Text     string
		Ended    bool
		ExitCode *int64
	}
	Updates []json.RawMessage
}

// ReadTraffic reads the files in a directory.
func ReadTraffic(t *testing.T, dir string) (all []Traffic) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var cases []Traffic
		require.NoError(t, json.Unmarshal(text, &cases), file)
		all = append(all, cases...)
	}
	require.NotEmpty(t, all)
	return all
}

// Record returns a hook and the channel it sends events to, except starts. The channel has room for all events of a
// test.
func Record() (hook func(acpterm.Event), events chan acpterm.Event) {
	events = make(chan acpterm.Event, 100)
	return func(e acpterm.Event) {
		if _, ok := e.(*acpterm.StartEvent); !ok {
			events <- e
		}
	}, events
}

// Ended returns the next event, except releases and a decision. It must be an EndEvent.
func Ended(t testing.TB, events chan acpterm.Event) *acpterm.EndEvent {
	t.Helper()
	event := <-events
	for {
		if decision, ok := event.(*acpterm.DecisionEvent); ok {
			require.Equal(t, acpterm.VerdictAllow, decision.Verdict)
		} else if _, ok := event.(*acpterm.ReleaseEvent); !ok {
			break
		}
		event = <-events
	}
	require.IsType(t, &acpterm.EndEvent{}, event)
	return event.(*acpterm.EndEvent)
}

// Ends counts the EndEvents and the allowing DecisionEvents of each terminal.
type Ends struct {
	mu      sync.Mutex
	allowed map[acpterm.TerminalID]bool
	Ended   map[acpterm.TerminalID][]*acpterm.EndEvent
}

func (c *Ends) Hook(e acpterm.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.allowed == nil {
		c.allowed, c.Ended = make(map[acpterm.TerminalID]bool), make(map[acpterm.TerminalID][]*acpterm.EndEvent)
	}
	switch e := e.(type) {
	case *acpterm.DecisionEvent:
		if e.Verdict == acpterm.VerdictAllow {
			c.allowed[e.TerminalID] = true
		}
	case *acpterm.EndEvent:
		c.Ended[e.TerminalID] = append(c.Ended[e.TerminalID], e)
	}
}

// OneEach requires one EndEvent for each allowed command, and returns them.
func (c *Ends) OneEach(t *testing.T) (all []*acpterm.EndEvent) {
	require.Len(t, c.Ended, len(c.allowed))
	for id := range c.allowed {
		require.Len(t, c.Ended[id], 1)
		all = append(all, c.Ended[id][0])
	}
	return all
}

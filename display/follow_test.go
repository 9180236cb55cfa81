package display_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/display"
)

// colours writes a sequence in two pieces, and waits until it is ended.
func colours(p *acptermtest.Process) int {
	fmt.Fprint(p, "\x1b[3")
	p.Sleep(time.Millisecond)
	fmt.Fprint(p, "1mred\n")
	return acptermtest.Block(p)
}

func TestFollow(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		end  func(m *acpterm.Manager, cancel context.CancelFunc)
		w    *failingWriter
		want error
	}{
		"the terminal ends": {end: func(m *acpterm.Manager, _ context.CancelFunc) { m.Close() }, w: new(failingWriter)},
		"ctx ends": {
			end: func(_ *acpterm.Manager, cancel context.CancelFunc) { cancel() },
			w:   new(failingWriter), want: context.Canceled,
		},
		"the writer fails": {end: func(*acpterm.Manager, context.CancelFunc) {}, w: &failingWriter{err: broken}, want: broken},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{"colours": colours}})
				terminal, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "colours"}, nil)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				followed := make(chan error, 1)
				go func() { followed <- display.Follow(ctx, c.w, terminal) }()
				time.Sleep(time.Second) // in the bubble's time: everything is written
				c.end(m, cancel)
				if err := <-followed; !errors.Is(err, c.want) || err != nil && c.want == nil {
					t.Error(err)
				}
				if c.w.err == nil && c.w.String() != "red\n" {
					t.Errorf("%q", c.w.String())
				}
			})
		})
	}
}

type failingWriter struct {
	strings.Builder
	err error
}

func (w *failingWriter) WriteString(text string) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	return w.Builder.WriteString(text)
}

var _ io.StringWriter = (*failingWriter)(nil)

// A sequence cut off by a replacement of the output does not hide the new output.
func TestFollowReplacedOutput(t *testing.T) {
	m := acptermtest.NewManager(t, nil)
	h := acpterm.NewHandler(m, nil)
	terminals := agentterm.New(h, nil)
	snapshot := func(text string) {
		data, _ := json.Marshal([]byte(text))
		if _, err := terminals.Update(fmt.Appendf(nil, `{"sessionId":"s","update":{"sessionUpdate":"terminal_update",
			"terminalId":"t","output":{"data":%s}}}`, data)); err != nil {
			t.Fatal(err)
		}
	}
	snapshot("one\x1b]0;title")
	r, w := io.Pipe()
	followed := make(chan error, 1)
	go func() { followed <- display.Follow(t.Context(), w, m.Terminals()[0]) }()
	read := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(r, got); err != nil || string(got) != want {
			t.Fatalf("%q, %v", got, err)
		}
	}
	read("one")
	snapshot("two")
	read("two")
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-followed; err != nil {
		t.Error(err)
	}
}

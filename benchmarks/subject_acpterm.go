package main

// acpterm as a subject: through its Go API in this process, and as a client in one of its own.

import (
	"context"
	"fmt"
	"io"

	"github.com/acpterm/acpterm"
)

// runner runs a command to its end, keeping the last bytes of its output, and says how many bytes there were.
type runner func(c command, limit int) (written int64, err error)

func runAcpterm(m *acpterm.Manager) runner {
	ctx := context.Background()
	return func(c command, limit int) (int64, error) {
		t, err := m.Create(ctx, c.request(uint64(limit)))
		if err != nil {
			return 0, err
		}
		if status, err := t.Wait(ctx); err != nil || status.ExitCode == nil || *status.ExitCode != 0 {
			return 0, fmt.Errorf("%v, %w", status, err)
		}
		return t.OutputTotal(), m.Release(ctx, t.Session(), t.ID())
	}
}

// manager is one for a subject's turns.
func (s *stage) manager(options *acpterm.Options) *acpterm.Manager {
	m := acpterm.NewManager(options)
	s.after(m.Close)
	return m
}

func serveAcpterm(conn io.ReadWriteCloser) (ended <-chan struct{}, err error) {
	h := acpterm.NewHandler(acpterm.NewManager(nil), nil)
	return h.Connect(context.Background(), acpterm.NewStream(conn)).DisconnectNotify(), nil
}

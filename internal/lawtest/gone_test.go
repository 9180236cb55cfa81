package lawtest

// Terminal.Gone and the other ends of a tree. terminaltest has its test for each kind of machine.

import (
	"context"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/stretchr/testify/require"
)

// The event follows the EndEvent, and exists only if Gone was called.
func TestGoneEvent(t *testing.T) {
	var order []string
	m := hosttest.NewManager(t, nil, func(e acpterm.Event) {
		switch e := e.(type) {
		case *acpterm.EndEvent:
			order = append(order, "end "+string(e.TerminalID))
		case *acpterm.GoneEvent:
			order = append(order, "gone "+string(e.TerminalID))
		case *acpterm.ReleaseEvent:
			order = append(order, "release "+string(e.TerminalID))
		}
	})
	var want []string
	for i := range longtest.Times(20, 200) {
		child := []string{"exit", "sleep"}[i/2%2]
		term := hosttest.Create(t, m, hosttest.ChildRequest(child, "0"))
		if i%2 == 0 {
			term.Gone()
		}
		if i%3 == 0 {
			require.NoError(t, term.Kill(t.Context()))
		} else if child == "exit" {
			hosttest.AwaitExit(t, term)
		}
		require.NoError(t, m.Release(t.Context(), "s", term.ID()))
		want = append(want, "end "+string(term.ID()))
		if i%2 == 0 {
			want = append(want, "gone "+string(term.ID()))
		}
		want = append(want, "release "+string(term.ID()))
	}
	require.NoError(t, m.Close())
	require.Equal(t, want, order)
}

// A kill, a release and Close end a watched tree as any other, and the channel is closed before they return. Nothing of
// the watch is left.
func TestGoneAfterAKill(t *testing.T) {
	leaktest.NeedsEndsInTheMiddle(t)
	for range longtest.Times(3, 50) {
		m := hosttest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Escalation: []acpterm.EscalationStep{}}})
		var watched []*acpterm.Terminal
		for _, end := range []func(*acpterm.Terminal) error{
			func(term *acpterm.Terminal) error { return term.Kill(t.Context()) },
			func(term *acpterm.Terminal) error { return term.Stop(context.Background()) },
			func(term *acpterm.Terminal) error { return m.Release(t.Context(), "s", term.ID()) },
			func(*acpterm.Terminal) error { return m.Close() },
		} {
			var ended []*acpterm.Terminal
			for _, child := range []string{"holder", "stubborn-holder", "sleep", "family"} {
				term := hosttest.Create(t, m, hosttest.ChildRequest(child))
				gone := term.Gone()
				if child == "holder" || child == "stubborn-holder" {
					hosttest.AwaitExit(t, term)
				} else {
					hosttest.AwaitOutput(t, term, "ready")
				}
				require.False(t, latch.IsClosed(gone))
				ended = append(ended, term)
			}
			for _, term := range ended {
				require.NoError(t, end(term))
				require.True(t, latch.IsClosed(term.Gone()))
			}
			watched = append(watched, ended...)
		}
		for _, term := range watched {
			require.True(t, latch.IsClosed(term.Gone()))
		}
	}
}

// The processes of an attached terminal are its owner's, who reports only the exit. A release does not make it known.
func TestGoneOfAnAttachedTerminal(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	h := acpterm.NewHandler(m, nil)
	attach := func(id acpterm.TerminalID) (*acpterm.Attached, *acpterm.Terminal) {
		owner, err := h.Attach(acpterm.TerminalInfo{ID: id, SessionID: "s"}, nil, nil)
		require.NoError(t, err)
		term, err := m.Terminal("s", id)
		require.NoError(t, err)
		require.False(t, latch.IsClosed(term.Gone()))
		return owner, term
	}
	owner, reported := attach("reported")
	owner.Exit(new(int64(1)), nil)
	<-reported.Gone()
	_, given := attach("given up")
	require.NoError(t, m.Release(t.Context(), "s", given.ID()))
	require.False(t, latch.IsClosed(given.Gone()))
	_, orphan := attach("orphan")
	require.NoError(t, h.Close())
	require.False(t, latch.IsClosed(orphan.Gone()))
}

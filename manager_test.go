package acpterm_test

// Laws 4 and 6, and what a manager knows of whom.

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

func inSession(session acpterm.SessionID, req acpterm.CreateTerminalRequest) acpterm.CreateTerminalRequest {
	req.SessionID = session
	return req
}

func TestSessionsDoNotSeeEachOther(t *testing.T) {
	m := newManager(t, nil)
	a := create(t, m, inSession("a", childRequest("sleep")))
	b := create(t, m, inSession("b", childRequest("sleep")))
	b2 := create(t, m, inSession("b", childRequest("sleep")))
	require.Equal(t, []*acpterm.Terminal{a, b, b2}, m.Terminals())
	require.Equal(t, []*acpterm.Terminal{b, b2}, m.SessionTerminals("b"))
	require.Empty(t, m.SessionTerminals("c"))
	_, err := m.Terminal("a", b.ID())
	require.ErrorIs(t, err, acpterm.ErrTerminalNotFound)
	require.ErrorIs(t, m.Release(t.Context(), "a", b.ID()), acpterm.ErrTerminalNotFound)

	require.NoError(t, m.ReleaseSession(t.Context(), "b"))
	require.Equal(t, acpterm.EndedByRelease, b.EndedBy())
	require.Equal(t, acpterm.EndedByRelease, b2.EndedBy())
	require.Equal(t, acpterm.StateRunning, a.State())
	require.Equal(t, []*acpterm.Terminal{a}, m.Terminals())
	require.NoError(t, m.ReleaseSession(t.Context(), "never heard of"))
}

// Twenty commands each end only once all twenty have got SIGTERM, and the grace is an hour: one after another,
// this would not come to an end.
func TestShutdownEndsAllAtOnce(t *testing.T) {
	needsAsking(t)
	m := newManager(t, &acpterm.Options{Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: time.Hour}}})
	dir := t.TempDir()
	var terms []*acpterm.Terminal
	for i := range 20 {
		terms = append(terms, create(t, m, inSession(acpterm.SessionID(fmt.Sprint(i)), childRequest("together", dir, "20"))))
	}
	for _, term := range terms {
		awaitOutput(t, term, "ready")
	}
	require.NoError(t, m.Shutdown(t.Context()))
	for _, term := range terms {
		require.True(t, term.Output().ExitStatus.Success())
		require.Equal(t, acpterm.EndedByClose, term.EndedBy())
	}
	_, err := m.Create(t.Context(), childRequest("sleep"), nil)
	require.ErrorIs(t, err, acpterm.ErrClosing)
	require.NoError(t, m.Close(), "a second time")
}

// The grace is an hour: Shutdown returns when its context ends, and only Close ends what runs then.
func TestCloseEndsAtOnceWhatAShutdownWaitsFor(t *testing.T) {
	needsAsking(t)
	m := newManager(t, &acpterm.Options{Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: time.Hour}}})
	term := createReady(t, m, childRequest("stubborn"))
	earlier := createReady(t, m, childRequest("stubborn"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, m.Release(ctx, "s", earlier.ID()), acpterm.ErrCancelled, "which goes on for an hour")
	patient := make(chan error, 1)
	go func() { patient <- m.Shutdown(t.Context()) }()
	err := m.Shutdown(ctx)
	require.ErrorIs(t, err, acpterm.ErrCancelled)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, acpterm.StateRunning, term.State())
	require.NoError(t, m.Close())
	require.NoError(t, <-patient)
	require.NoError(t, m.Shutdown(ctx), "nothing is left to wait for")
	require.Equal(t, acpterm.EndedByClose, term.EndedBy())
	require.Equal(t, acpterm.EndedByRelease, earlier.EndedBy())
}

func TestSessionsAreOpenedAndClosed(t *testing.T) {
	m := newManager(t, nil)
	require.NoError(t, m.OpenSession("s", nil))
	require.ErrorIs(t, m.OpenSession("s", nil), acpterm.ErrInvalidParams)
	require.ErrorIs(t, m.OpenSession("", nil), acpterm.ErrInvalidParams)
	term := create(t, m, childRequest("sleep"))
	require.NoError(t, m.CloseSession(t.Context(), "s"))
	require.Equal(t, acpterm.EndedByRelease, term.EndedBy())
	require.NoError(t, m.CloseSession(t.Context(), "s"), "a second time")
	require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Timeout: time.Hour}))
}

// Creates, kills, releases, waits and a Close, all at once: nothing hangs, and the checks of newManager find
// nothing left.
func TestEverythingAtOnce(t *testing.T) {
	needsEndsInTheMiddle(t)
	m := newManager(t, nil)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 10 {
				term, err := m.Create(context.Background(), childRequest([]string{"sleep", "exit", "holder"}[(i+j)%3], "0"), nil)
				if err != nil {
					return // it is closed
				}
				wg.Go(func() { term.Wait(context.Background()) })
				wg.Go(func() {
					for range term.Follow(context.Background(), 0) {
					}
				})
				switch j % 4 {
				case 0:
					term.Kill(context.Background())
				case 1:
					go m.Release(context.Background(), "s", term.ID())
				case 2:
					wg.Go(func() { term.Kill(context.Background()) })
					m.Release(context.Background(), "s", term.ID())
				}
				term.Output()
				m.Terminals()
			}
		})
	}
	runtime.Gosched()
	require.NoError(t, m.Close())
	wg.Wait()
}

// Law 6, at the very moment when Close returns.
func TestCloseLeavesNothing(t *testing.T) {
	needsEndsInTheMiddle(t)
	for range 20 {
		mark := fmt.Sprintf("%s=close-%d-%d", markVariable, os.Getpid(), marks.Add(1))
		before := openDescriptors()
		m := must(acpterm.NewManager(&acpterm.Options{Env: append(os.Environ(), mark)}))
		for _, child := range []string{"sleep", "exit", "holder", "stubborn-holder", "polite"} {
			create(t, m, childRequest(child, "0"), &acpterm.TerminalOptions{
				Timeout:    time.Hour,
				Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: time.Millisecond}},
			})
		}
		require.NoError(t, m.Close())
		require.Equal(t, before, openDescriptors())
		require.Empty(t, markedProcesses(mark))
		require.Empty(t, libraryGoroutines())
	}
}

// Law 4: while one terminal's kill waits for its grace, everything else goes on.
func TestAKillThatWaitsBlocksNobody(t *testing.T) {
	needsAsking(t)
	m := newManager(t, &acpterm.Options{Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: time.Hour}}})
	stubborn := createReady(t, m, childRequest("stubborn"))
	killed := make(chan error, 1)
	go func() { killed <- stubborn.Kill(context.Background()) }()

	other := createReady(t, m, childRequest("polite"))
	require.NoError(t, m.Release(t.Context(), "s", other.ID()))
	require.Equal(t, "ready\n", stubborn.Output().Output)
	require.Len(t, m.Terminals(), 1)
	require.Empty(t, killed)
	require.NoError(t, stubborn.Kill(t.Context()))
	require.NoError(t, <-killed)
}

// Law 4: a follower that never reads on does not hold up the command.
func TestASlowFollowerBlocksNobody(t *testing.T) {
	m := newManager(t, nil)
	term := create(t, m, childRequest("flood", "10000000", "65536"))
	for range term.Follow(t.Context(), 0) {
		awaitExit(t, term) // in the middle of the loop
		break
	}
	require.Equal(t, int64(10_000_000), term.OutputTotal())
}

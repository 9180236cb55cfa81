package terminaltest

// Sessions, quotas, releases and the end of a Manager.

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

func managerTests() []test {
	return []test{
		{"SessionsDoNotSeeEachOther", TestSessionsDoNotSeeEachOther},
		{"ShutdownEndsAllAtOnce", TestShutdownEndsAllAtOnce},
		{"CloseEndsAtOnceWhatAShutdownWaitsFor", TestCloseEndsAtOnceWhatAShutdownWaitsFor},
		{"SessionsAreOpenedAndClosed", TestSessionsAreOpenedAndClosed},
		{"EverythingAtOnce", TestEverythingAtOnce},
		{"AKillThatWaitsBlocksNobody", TestAKillThatWaitsBlocksNobody},
		{"ASlowFollowerBlocksNobody", TestASlowFollowerBlocksNobody},
	}
}

func TestSessionsDoNotSeeEachOther(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	a := Create(t, m, InSession("a", p.Child("sleep")))
	b := Create(t, m, InSession("b", p.Child("sleep")))
	b2 := Create(t, m, InSession("b", p.Child("sleep")))
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

// Each of the twenty commands ends only after all twenty have received SIGTERM, and the grace period is an hour. If
// they were ended one after another, this would not finish.
func TestShutdownEndsAllAtOnce(t *testing.T, p Place) {
	p.needsAsking(t)
	m := p.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Escalation: askFor(time.Hour)}})
	dir := p.TempDir(t)
	var terms []*acpterm.Terminal
	for i := range 20 {
		terms = append(terms, Create(t, m, InSession(acpterm.SessionID(fmt.Sprint(i)), p.Child("together", dir, "20"))))
	}
	for _, term := range terms {
		AwaitOutput(t, term, "ready")
	}
	require.NoError(t, m.Shutdown(t.Context()))
	for _, term := range terms {
		require.True(t, term.Output().ExitStatus.Success())
		require.Equal(t, acpterm.EndedByRelease, term.EndedBy())
	}
	_, err := m.Create(t.Context(), p.Child("sleep"), nil)
	require.ErrorIs(t, err, acpterm.ErrClosing)
	require.NoError(t, m.Close(), "a second time")
}

// The grace period is an hour: Shutdown returns when its context ends, and only Close ends the running commands then.
func TestCloseEndsAtOnceWhatAShutdownWaitsFor(t *testing.T, p Place) {
	p.needsAsking(t)
	m := p.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Escalation: askFor(time.Hour)}})
	term := CreateReady(t, m, p.Child("stubborn"))
	earlier := CreateReady(t, m, p.Child("stubborn"))
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
	require.Equal(t, acpterm.EndedByRelease, term.EndedBy())
	require.Equal(t, acpterm.EndedByRelease, earlier.EndedBy())
}

func TestSessionsAreOpenedAndClosed(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	require.NoError(t, m.OpenSession("s", nil))
	require.ErrorIs(t, m.OpenSession("s", nil), acpterm.ErrInvalidParams)
	require.ErrorIs(t, m.OpenSession("", nil), acpterm.ErrInvalidParams)
	term := Create(t, m, p.Child("sleep"))
	require.NoError(t, m.CloseSession(t.Context(), "s"))
	require.Equal(t, acpterm.EndedByRelease, term.EndedBy())
	require.NoError(t, m.CloseSession(t.Context(), "s"), "a second time")
	require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{
		Commands: acpterm.CommandOptions{Timeout: time.Hour},
	}))
}

// Creates, kills, releases, waits and a Close run concurrently. Nothing hangs, and the checks of NewManager find
// nothing left.
func TestEverythingAtOnce(t *testing.T, p Place) {
	p.needsEndsInTheMiddle(t)
	m := p.NewManager(t, nil)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 10 {
				child := p.Child([]string{"sleep", "exit", "holder"}[(i+j)%3], "0")
				term, err := m.Create(context.Background(), child, nil)
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

// Law 4: while the kill of one terminal waits for its grace period, everything else goes on.
func TestAKillThatWaitsBlocksNobody(t *testing.T, p Place) {
	p.needsAsking(t)
	m := p.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Escalation: askFor(time.Hour)}})
	stubborn := CreateReady(t, m, p.Child("stubborn"))
	killed := make(chan error, 1)
	go func() { killed <- stubborn.Kill(context.Background()) }()

	other := CreateReady(t, m, p.Child("polite"))
	require.NoError(t, m.Release(t.Context(), "s", other.ID()))
	require.Equal(t, "ready\n", stubborn.Output().Output)
	require.Len(t, m.Terminals(), 1)
	require.Empty(t, killed)
	require.NoError(t, stubborn.Kill(t.Context()))
	require.NoError(t, <-killed)
}

// Law 4: a follower that stops reading does not block the command.
func TestASlowFollowerBlocksNobody(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	term := Create(t, m, p.Child("flood", "10000000", "65536"))
	for range term.Follow(t.Context(), 0) {
		AwaitExit(t, term) // in the middle of the loop
		break
	}
	require.Equal(t, int64(10_000_000), term.OutputTotal())
}

package embedtest

// Events that must be recorded before a command runs, and failures to record them: Options.Record. The tests of package
// audit are about files.

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/stretchr/testify/require"
)

var errDiskFull = errors.New("the test's disk is full")

// A command without a recorded decision does not run, and its end says so.
func TestACommandThatIsNotOnRecordDoesNotRun(t *testing.T) {
	var c hosttest.Ends
	fails := true
	m := hosttest.NewManager(t, &acpterm.Options{Record: func(_ context.Context, e acpterm.Event) error {
		if _, ok := e.(*acpterm.DecisionEvent); ok && fails {
			return errDiskFull
		}
		return nil
	}}, c.Hook)
	ran := filepath.Join(t.TempDir(), "ran")
	touch := hosttest.ChildRequest("flood-and-touch", "0", ran)
	_, err := m.Create(t.Context(), touch, nil)
	require.ErrorIs(t, err, acpterm.ErrInternal)
	require.ErrorIs(t, err, errDiskFull)
	a := hosttest.Connect(t, m, nil)
	_, err = a.Do(acpterm.MethodCreate, touch)
	a.Failed(err, -32603, `{"kind":"internal","reason":"the decision cannot be recorded","sessionId":"s"}`)
	require.NoFileExists(t, ran)

	fails = false
	hosttest.Run(t, m, touch)
	require.FileExists(t, ran)
	require.NoError(t, m.Close())
	failed := 0
	for _, end := range c.OneEach(t) {
		if end.Err != nil {
			failed++
		}
	}
	require.Equal(t, 2, failed)
}

// A denial that cannot be recorded is still a denial.
func TestFullDiskAndADenial(t *testing.T) {
	m := hosttest.NewManager(t, &acpterm.Options{
		Policy: denyAll,
		Record: func(context.Context, acpterm.Event) error { return errDiskFull },
	})
	_, err := m.Create(t.Context(), hosttest.ChildRequest("exit", "0"), nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
}

func TestAPanickingRecordDenies(t *testing.T) {
	var c hosttest.Ends
	m := hosttest.NewManager(t, &acpterm.Options{
		Record: func(context.Context, acpterm.Event) error { panic("a test's Record panics") },
	}, c.Hook)
	ran := filepath.Join(t.TempDir(), "ran")
	_, err := m.Create(t.Context(), hosttest.ChildRequest("flood-and-touch", "0", ran), nil)
	require.ErrorIs(t, err, acpterm.ErrInternal)
	require.NotContains(t, err.Error(), "panics")
	require.NoError(t, m.Close())
	require.NoFileExists(t, ran)
	require.Error(t, c.OneEach(t)[0].Err)
}

// While decisions are being recorded, only their creates wait. Running terminals can be read, killed and released, and
// a cancel ends the wait. Nothing runs before its decision is recorded.
func TestSlowDisk(t *testing.T) {
	recording, free := make(chan struct{}), make(chan struct{})
	slowly := false // set before the creates
	m := hosttest.NewManager(t, &acpterm.Options{Record: func(ctx context.Context, e acpterm.Event) error {
		if _, ok := e.(*acpterm.DecisionEvent); !ok || !slowly {
			return nil
		}
		recording <- struct{}{}
		select {
		case <-free:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}})
	running := hosttest.Create(t, m, hosttest.ChildRequest("sleep"))
	hosttest.AwaitOutput(t, running, "ready")
	slowly = true
	dir := t.TempDir()
	begin := func(ctx context.Context, name string) (file string, done chan error) {
		file, done = filepath.Join(dir, name), make(chan error, 1)
		go func() {
			_, err := m.Create(ctx, hosttest.ChildRequest("flood-and-touch", "0", file), nil)
			done <- err
		}()
		<-recording
		return file, done
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancelled, cancelledDone := begin(ctx, "cancelled")
	slow, slowDone := begin(t.Context(), "slow")

	require.Contains(t, running.Output().Output, "ready")
	require.NoError(t, running.Kill(t.Context()))
	require.NoError(t, m.Release(t.Context(), "s", running.ID()))
	cancel()
	require.ErrorIs(t, <-cancelledDone, acpterm.ErrCancelled)
	require.NoFileExists(t, slow)
	select {
	case err := <-slowDone:
		require.FailNow(t, "a create has not waited for its record", "%v", err)
	default:
	}
	close(free)
	require.NoError(t, <-slowDone)
	for _, term := range m.Terminals() {
		_, err := term.Wait(t.Context())
		require.NoError(t, err)
	}
	require.FileExists(t, slow)
	require.NoFileExists(t, cancelled)
}

// An agent's requests that wait for a slow disk end with the manager. After a Shutdown whose context has ended, Close
// does not wait until the ends are recorded.
func TestShutdownWithASlowDisk(t *testing.T) {
	waiting := make(chan struct{})
	m := hosttest.NewManager(t, &acpterm.Options{Record: func(ctx context.Context, e acpterm.Event) error {
		if d, ok := e.(*acpterm.DecisionEvent); ok && d.Args[len(d.Args)-1] == "sleep" {
			return nil
		}
		if _, ok := e.(*acpterm.DecisionEvent); ok {
			close(waiting)
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}})
	hosttest.Create(t, m, hosttest.ChildRequest("sleep"))
	done := make(chan error, 1)
	go func() {
		_, err := m.Create(t.Context(), hosttest.ChildRequest("exit", "0"), nil)
		done <- err
	}()
	<-waiting
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, m.Shutdown(ctx), acpterm.ErrCancelled)
	require.NoError(t, m.Close())
	require.ErrorIs(t, <-done, acpterm.ErrClosing)
}

package embedtest

// Facts about terminals, also about those that an embedder attached, and texts of their owner.

import (
	"errors"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/stretchr/testify/require"
)

func TestTerminalInfo(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	req := hosttest.ChildRequest("sleep")
	req.OutputByteLimit = new(uint64(3))
	term := hosttest.CreateReady(t, m, req)
	running := term.Info()
	require.Equal(t, term.ID(), running.ID)
	require.Equal(t, acpterm.SessionID("s"), running.SessionID)
	require.Equal(t, term.Command(), running.Command)
	require.Positive(t, running.PID)
	require.False(t, running.Remote)
	require.Equal(t, acpterm.StateRunning, running.State)
	require.Nil(t, running.ExitStatus)
	require.Empty(t, running.EndedBy)
	require.False(t, running.Started.Before(running.Created))
	require.Zero(t, running.Ended)
	require.EqualValues(t, len("ready\n"), running.Written)
	require.EqualValues(t, 3, running.Kept)
	require.EqualValues(t, 3, running.OutputByteLimit)
	require.Nil(t, term.ExitStatus())

	require.NoError(t, term.Kill(t.Context()))
	ended := term.Info()
	require.Equal(t, acpterm.StateEnded, ended.State)
	require.Equal(t, acpterm.EndedByKill, ended.EndedBy)
	require.Equal(t, term.ExitStatus(), ended.ExitStatus)
	require.False(t, ended.Ended.Before(ended.Started))
	require.Equal(t, running.PID, ended.PID)
}

// Terminals return copies: changing them does not change the terminal.
func TestWhatATerminalReturnsIsACopy(t *testing.T) {
	term := hosttest.Finish(t, hosttest.NewManager(t, nil), hosttest.ChildRequest("exit", "3"))
	info, status := term.Info(), term.ExitStatus()
	waited, err := term.Wait(t.Context())
	require.NoError(t, err)
	for _, s := range []*acpterm.TerminalExitStatus{info.ExitStatus, status, &waited, term.Output().ExitStatus} {
		*s.ExitCode = 99
		s.Meta["acpterm"][0] = 'x'
		clear(s.Meta)
	}
	info.Command.Args[0] = "other"
	require.Equal(t, "exit code 3", term.ExitStatus().String())
	require.Equal(t, hosttest.EndedBy(acpterm.EndedByItself), term.ExitStatus().Meta)
	require.NotEqual(t, "other", term.Info().Command.Args[0])
}

// A snapshot with the state ended has the exit status, the time of the end and the size of the whole output.
func TestTerminalInfoIsConsistent(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	for range longtest.Times(10, 50) {
		term := hosttest.Create(t, m, hosttest.ChildRequest("print", "all of it"))
		for {
			info := term.Info()
			over := info.State == acpterm.StateEnded
			require.Equal(t, over, info.ExitStatus != nil)
			require.Equal(t, over, info.EndedBy != "")
			require.Equal(t, over, !info.Ended.IsZero())
			if over {
				require.EqualValues(t, len("all of it"), info.Written)
				break
			}
		}
	}
}

func TestReleased(t *testing.T) {
	events := make(chan acpterm.Event, 100)
	m := hosttest.NewManager(t, nil, func(e acpterm.Event) { events <- e })
	term := hosttest.CreateReady(t, m, hosttest.ChildRequest("sleep"))
	select {
	case <-term.Released():
		t.Fatal("it is not released")
	default:
	}
	require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	<-term.Released()
	for event := range events {
		if released, ok := event.(*acpterm.ReleaseEvent); ok {
			require.Equal(t, term.ID(), released.TerminalID)
			require.Equal(t, term.Info().PID, released.PID)
			require.NoError(t, released.Err)
			require.WithinRange(t, released.Time, term.Info().Ended, time.Now())
			break
		}
	}
	_, err := m.Create(t.Context(), hosttest.CommandRequest("no-such-program"), nil)
	require.True(t, errors.Is(err, acpterm.ErrCommandNotFound))
	require.Empty(t, events, "a command that was not started is not released")
}

func TestManagerStats(t *testing.T) {
	m := hosttest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{OutputByteLimit: 1 << 20}})
	require.Equal(t, acpterm.Stats{}, m.Stats())
	hosttest.CreateReady(t, m, hosttest.ChildRequest("sleep"))
	ended := hosttest.Finish(t, m, hosttest.InSession("other", hosttest.ChildRequest("print", "four")))
	stats := m.Stats()
	require.Equal(t, 2, stats.Terminals)
	require.Equal(t, 1, stats.Running)
	require.Equal(t, 2, stats.Sessions)
	require.EqualValues(t, len("ready\n")+len("four"), stats.KeptBytes)
	require.GreaterOrEqual(t, stats.ReservedBytes, int64(2<<20))
	require.NoError(t, m.Release(t.Context(), "other", ended.ID()))
	require.Equal(t, 1, m.Stats().Terminals)
	require.NoError(t, m.Close())
	require.Equal(t, acpterm.Stats{}, m.Stats())
}

// slowJournal records nothing, and blocks until the test allows it to continue.
type slowJournal struct{ goOn chan struct{} }

func (slowJournal) Begin(acpterm.TerminalInfo) error { return nil }
func (slowJournal) End(acpterm.TerminalID) error     { return nil }

func (j slowJournal) Started(acpterm.TerminalID, int, func() bool) error {
	<-j.goOn
	return nil
}

// A running terminal describes its command, even before its create has returned.
func TestInfoOfAStartEvent(t *testing.T) {
	seen := make(chan acpterm.TerminalInfo, 1)
	journal := slowJournal{make(chan struct{})}
	m := hosttest.NewManager(t, &acpterm.Options{Journal: journal}, func(e acpterm.Event) {
		if started, ok := e.(*acpterm.StartEvent); ok {
			seen <- started.Terminal.Info()
			close(journal.goOn)
		}
	})
	term := hosttest.Create(t, m, hosttest.ChildRequest("sleep"))
	info := <-seen
	require.Equal(t, acpterm.StateRunning, info.State)
	require.Equal(t, term.Info().PID, info.PID)
	require.Equal(t, term.Command(), info.Command)
}

func TestCommandForPeople(t *testing.T) {
	c := acpterm.Command{Args: []string{"go", "test", "-run", "a b", "./..."}}
	require.Equal(t, `go test -run "a b" ./...`, c.String())
	require.Equal(t, `x ""`, acpterm.Command{Args: []string{"x", ""}}.String())
}

// The owner of a terminal cannot choose an empty id, or one that the Manager has assigned in any session.
func TestIDsThatCannotBeAttached(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	h := acpterm.NewHandler(m, nil)
	assigned := hosttest.Create(t, m, hosttest.ChildRequest("sleep")).ID()
	require.NoError(t, m.Release(t.Context(), "s", assigned))
	for name, c := range map[string]struct {
		session acpterm.SessionID
		id      acpterm.TerminalID
		field   string
	}{
		"no session":          {"", "mine", "sessionId"},
		"no id":               {"s", "", "terminalId"},
		"the Manager's":       {"s", assigned, "terminalId"},
		"in another session":  {"other", assigned, "terminalId"},
		"in use":              {"s", "used", "terminalId"},
		"in use, not another": {"other", "used", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if c.id == "used" {
				h.Attach(acpterm.TerminalInfo{SessionID: "s", ID: "used"}, nil, nil)
			}
			_, err := h.Attach(acpterm.TerminalInfo{SessionID: c.session, ID: c.id}, nil, nil)
			if c.field == "" {
				require.NoError(t, err)
				return
			}
			refused, ok := errors.AsType[*acpterm.Error](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, acpterm.ErrInvalidParams, refused.Kind)
			require.Equal(t, c.field, refused.Field)
		})
	}
}

// An exit status can be printed, whoever has made it.
func TestExitStatusesArePrintable(t *testing.T) {
	for signal, want := range map[string]string{
		"SIGTERM": "signal SIGTERM", "SIGRTMIN+3": "signal SIGRTMIN+3", "": `signal ""`,
		"X\x1b[2J\x1b]52;c;RVZJTA==\a\r[1] $ rm -rf ~": `signal "X\x1b[2J\x1b]52;c;RVZJTA==\a\r[1] $ rm -"`,
		"SIG\u202eTERM\u009b\xff":                      `signal "SIG\u202eTERM\u009b\xff"`,
	} {
		require.Equal(t, want, acpterm.TerminalExitStatus{Signal: &signal}.String())
	}
}

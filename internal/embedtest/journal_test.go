package embedtest

// An embedder's Journal: when and how its methods are called, and the effect of their errors. The tests of package
// journal cover that package itself.

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/stretchr/testify/require"
)

// fakeJournal records its calls.
type fakeJournal struct {
	mu    sync.Mutex
	calls []string // in order: "Begin ID", "Started ID", "End ID"
	begun acpterm.TerminalInfo
	alive bool // the last report of unreaped
	fail  func(method string) error
}

func (j *fakeJournal) called(method string, id acpterm.TerminalID) error {
	j.calls = append(j.calls, method+" "+string(id))
	if j.fail != nil {
		return j.fail(method)
	}
	return nil
}

func (j *fakeJournal) Begin(r acpterm.TerminalInfo) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.begun = r
	return j.called("Begin", r.ID)
}

func (j *fakeJournal) Started(id acpterm.TerminalID, pid int, unreaped func() bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.alive = pid > 0 && unreaped()
	return j.called("Started", id)
}

func (j *fakeJournal) End(id acpterm.TerminalID) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.called("End", id)
}

// take returns the calls up to now, and forgets them.
func (j *fakeJournal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	calls := j.calls
	j.calls = nil
	return calls
}

func TestTheJournalHasWhatRuns(t *testing.T) {
	j := new(fakeJournal)
	m := hosttest.NewManager(t, &acpterm.Options{Journal: j})
	req := hosttest.ChildRequest("sleep")
	req.Env = []acpterm.EnvVariable{{Name: "TOKEN", Value: "secret"}}
	term := hosttest.Create(t, m, req)
	require.Equal(t, []string{"Begin " + string(term.ID()), "Started " + string(term.ID())}, j.take())
	require.True(t, j.alive)
	command := term.Command()
	command.Env = nil
	require.Equal(t, acpterm.TerminalInfo{
		ID: term.ID(), SessionID: "s", Command: command, Created: term.Info().Created, OutputByteLimit: 1 << 20,
	}, j.begun)
}

func TestTheJournalForgets(t *testing.T) {
	j := new(fakeJournal)
	m := hosttest.NewManager(t, &acpterm.Options{
		Journal:  j,
		Commands: acpterm.CommandOptions{Escalation: []acpterm.EscalationStep{}},
	})
	term := hosttest.Finish(t, m, hosttest.ChildRequest("holder"))
	require.Len(t, j.take(), 2, "what it started runs on")
	end := []string{"End " + string(term.ID())}
	require.NoError(t, term.Kill(t.Context()))
	require.Equal(t, end, j.take())
	require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	require.Empty(t, j.take(), "there is no record any more")

	term = hosttest.Create(t, m, hosttest.ChildRequest("sleep"))
	require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	require.Equal(t, "End "+string(term.ID()), j.take()[2])

	first, second := hosttest.Create(t, m, hosttest.ChildRequest("sleep")), hosttest.Create(t, m, hosttest.ChildRequest("sleep"))
	j.take()
	require.NoError(t, m.Close())
	require.ElementsMatch(t, []string{"End " + string(first.ID()), "End " + string(second.ID())}, j.take())
}

// The cgroup is recorded before it is created, because a command may start in it from then on.
func TestTheJournalForgetsWhatDidNotStart(t *testing.T) {
	j := new(fakeJournal)
	missing := filepath.Join(t.TempDir(), "missing")
	m := hosttest.NewManager(t, &acpterm.Options{Journal: j, Cgroup: missing})
	_, err := m.Create(t.Context(), hosttest.ChildRequest("sleep"), nil)
	require.Error(t, err)
	id := string(j.begun.ID)
	require.Equal(t, filepath.Join(missing, id), j.begun.Cgroup)
	require.Equal(t, []string{"Begin " + id, "End " + id}, j.take())
	require.Empty(t, m.Terminals())
}

// A record that cannot be created, completed or removed fails the operation, and no command keeps running because of
// it.
func TestAJournalThatFails(t *testing.T) {
	broken := &os.PathError{Op: "write", Path: "journal", Err: errors.New("no space")}
	for method, calls := range map[string]string{
		"Begin":   "Begin End ",
		"Started": "Begin Started End ",
		"End":     "Begin Started End End ", // of the kill, and of the release
	} {
		for _, panics := range []bool{false, true} {
			name := method + " fails"
			if panics {
				name = method + " panics"
			}
			t.Run(name, func(t *testing.T) {
				log := hosttest.CaptureLog(t)
				j := &fakeJournal{fail: func(called string) error {
					switch {
					case called != method:
						return nil
					case panics:
						panic("secret")
					}
					return broken
				}}
				m := hosttest.NewManager(t, &acpterm.Options{
					Journal:  j,
					Commands: acpterm.CommandOptions{Escalation: []acpterm.EscalationStep{}},
				})
				term, err := m.Create(t.Context(), hosttest.ChildRequest("sleep"), nil) // NewManager looks for leaks
				if method == "End" {
					require.NoError(t, err)
					require.NoError(t, term.Kill(t.Context()), "the tree is gone")
					err = m.Release(t.Context(), "s", term.ID())
				}
				require.ErrorIs(t, err, acpterm.ErrInternal)
				require.ErrorContains(t, err, "the journal cannot be written")
				require.Equal(t, !panics, errors.Is(err, broken))
				require.NotContains(t, err.Error(), "secret")
				require.Equal(t, panics, log.String() != "")
				require.Empty(t, m.Terminals())
				id := string(j.begun.ID)
				require.Equal(t, strings.ReplaceAll(calls, " ", " "+id+"\n"), strings.Join(j.take(), "\n")+"\n")
			})
		}
	}
}

package wiretest

// Terminals that outlive their connection: HandlerOptions.KeepOnClose and Handler.TakeOver.

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agent"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

// loader is an agent that reads its terminals while it loads a session, before it responds.
type loader struct{ terminals []acpterm.TerminalID }

func (l loader) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	go func() {
		client := agent.NewClient(conn, acpterm.ClientCapabilities{Terminal: true}, nil)
		var outputs []string
		for _, id := range l.terminals {
			out, err := client.Terminal("s", id).Output(ctx)
			outputs = append(outputs, fmt.Sprint(out.Output, out.ExitStatus, err))
		}
		conn.Reply(ctx, req.ID, outputs)
	}()
}

// kept returns options that keep terminals for longer than any test takes.
func kept() *acpterm.HandlerOptions { return &acpterm.HandlerOptions{KeepOnClose: time.Hour} }

// Ids, output, exits, waits and kills continue on the next connection. Until then, no agent reaches the terminals.
func TestTerminalsContinueOnTheNextConnection(t *testing.T) {
	for _, way := range []string{"Filter", "Handle"} {
		t.Run(way, func(t *testing.T) {
			m := hosttest.NewManager(t, nil)
			reconnect := func(agent jsonrpc2.Handler) (*hosttest.Agent, *jsonrpc2.Conn) {
				ours, theirs := hosttest.PipePair(t)
				h := acpterm.NewHandler(m, kept())
				if way == "Filter" {
					ours = h.Filter(t.Context(), ours)
				}
				conn := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(ours), h)
				a := &hosttest.Agent{T: t, Handler: h}
				a.Conn = jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(theirs), agent)
				t.Cleanup(func() { a.Close(); <-conn.DisconnectNotify() })
				return a, conn
			}
			next := filepath.Join(t.TempDir(), "next")
			a, conn := reconnect(hosttest.NoHandler{})
			ended, lives, stays := a.Create("exit", "3"), a.Create("pieces", next, `"one "`, `"two"`), a.Create("sleep")
			a.MustDo(acpterm.MethodWaitForExit, hosttest.Of(ended))
			a.Poll(lives, "one ")
			a.Poll(stays, "ready")
			before := m.SessionTerminals("s")
			followed := make(chan string) // as a pane or the live page
			go func() {
				var shown string
				for chunk := range before[1].Follow(t.Context(), 0) {
					shown += chunk.Text
				}
				followed <- shown
			}()
			a.Close()
			<-conn.DisconnectNotify()
			require.NoError(t, a.Handler.Close())
			require.Equal(t, before, m.SessionTerminals("s"))

			stranger := hosttest.Connect(t, m, nil) // in the same session
			for _, method := range []string{
				acpterm.MethodOutput, acpterm.MethodWaitForExit, acpterm.MethodKill, acpterm.MethodRelease,
			} {
				_, err := stranger.Do(method, hosttest.Of(lives))
				stranger.Failed(err, -32002, fmt.Sprintf(`{"kind":"terminal_not_found","sessionId":"s","terminalId":%q}`, lives))
			}

			a, conn = reconnect(loader{[]acpterm.TerminalID{ended, lives, stays}})
			require.Equal(t, before, a.Handler.TakeOver("s"))
			require.Empty(t, a.Handler.TakeOver("s"), "only once")
			var loaded []string
			require.NoError(t, conn.Call(t.Context(), "session/load", hosttest.Object{"sessionId": "s"}, &loaded))
			require.Len(t, loaded, 3)
			require.Regexp(t, `^exit code 3 <nil>$`, loaded[0])
			require.Equal(t, "one <nil> <nil>", loaded[1])
			wait := a.Begin(acpterm.MethodWaitForExit, hosttest.Of(lives))
			require.NoError(t, os.WriteFile(next+".0", nil, 0o600))
			require.NoError(t, wait.Wait(t.Context(), nil))
			require.Equal(t, "one two", a.Output(lives).Output)
			require.Equal(t, "one two", <-followed)
			a.MustDo(acpterm.MethodKill, hosttest.Of(stays))
			require.Equal(t, acpterm.EndedByKill, before[2].EndedBy())
			a.MustDo(acpterm.MethodRelease, hosttest.Of(stays))
			require.Len(t, m.Terminals(), 2)
			a.Close()
			require.NoError(t, a.Handler.Close(), "keeps them again")
			require.Equal(t, before[:2], acpterm.NewHandler(m, nil).TakeOver("s"))
		})
	}
}

// bubble runs a test in a synctest bubble, with a Manager of scripted commands and a function that makes handlers.
func bubble(
	t *testing.T, o acpterm.Options,
	test func(t *testing.T, m *acpterm.Manager, connect func(prefix string) *keeper),
) {
	synctest.Test(t, func(t *testing.T) {
		o.Runner = acptermtest.Commands{"block": acptermtest.Block, "print": acptermtest.Print("x", 0)}
		m := acptermtest.NewManager(t, &o)
		test(t, m, func(prefix string) *keeper {
			return &keeper{t, acpterm.NewHandler(m, &acpterm.HandlerOptions{
				KeepOnClose: time.Minute, SessionPrefix: acpterm.SessionID(prefix),
			})}
		})
	})
}

// keeper is a Handler that keeps its terminals.
type keeper struct {
	t *testing.T
	*acpterm.Handler
}

func (k *keeper) do(method string, params any) (any, error) {
	k.t.Helper()
	encoded, err := json.Marshal(params)
	require.NoError(k.t, err)
	return k.Dispatch(k.t.Context(), method, encoded)
}

func (k *keeper) create(session acpterm.SessionID, command string) acpterm.TerminalID {
	k.t.Helper()
	created, err := k.do(acpterm.MethodCreate, acpterm.CreateTerminalRequest{SessionID: session, Command: command})
	require.NoError(k.t, err)
	return created.(acpterm.CreateTerminalResponse).TerminalID
}

func (k *keeper) close() {
	k.t.Helper()
	require.NoError(k.t, k.Close())
}

// Kept terminals are released when their time is over, when the host says so, and with the Manager. No timer is left.
func TestHowKeptTerminalsEnd(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, m *acpterm.Manager, kept *acpterm.Terminal) error{
		"time": func(*testing.T, *acpterm.Manager, *acpterm.Terminal) error {
			time.Sleep(time.Minute)
			synctest.Wait()
			return nil
		},
		"Release": func(t *testing.T, m *acpterm.Manager, kept *acpterm.Terminal) error {
			return m.Release(t.Context(), "s", kept.ID())
		},
		"CloseSession": func(t *testing.T, m *acpterm.Manager, _ *acpterm.Terminal) error {
			return m.CloseSession(t.Context(), "s")
		},
		"Close": func(_ *testing.T, m *acpterm.Manager, _ *acpterm.Terminal) error { return m.Close() },
		"Shutdown": func(t *testing.T, m *acpterm.Manager, _ *acpterm.Terminal) error {
			return m.Shutdown(t.Context())
		},
	} {
		bubble(t, acpterm.Options{}, func(t *testing.T, m *acpterm.Manager, connect func(string) *keeper) {
			first := connect("")
			term, err := m.Terminal("s", first.create("s", "block"))
			require.NoError(t, err)
			for range 3 { // each take-over gives it a full minute later
				first.close()
				time.Sleep(time.Minute - 1)
				synctest.Wait()
				require.Equal(t, acpterm.StateRunning, term.State(), name)
				first = connect("")
				require.Equal(t, []*acpterm.Terminal{term}, first.TakeOver("s"), name)
				time.Sleep(time.Hour)
			}
			first.close()
			require.NoError(t, end(t, m, term), name)
			<-term.Released()
			require.Equal(t, acpterm.EndedByRelease, term.EndedBy(), name)
			require.Empty(t, connect("").TakeOver("s"), name)
			require.Empty(t, m.Terminals(), name)
		})
	}
}

// The terminals of exactly one session are taken over, and never by a closed Handler or without the prefix.
func TestWhatIsTakenOver(t *testing.T) {
	bubble(t, acpterm.Options{}, func(t *testing.T, m *acpterm.Manager, connect func(string) *keeper) {
		a := connect("a/")
		id := a.create("s", "block")
		a.create("other", "block")
		live := connect("a/")
		live.create("s", "block")
		a.close()
		closed := connect("a/")
		closed.close()
		require.Empty(t, closed.TakeOver("s"))
		for _, wrong := range []struct{ prefix, session string }{{"", "s"}, {"b/", "s"}, {"a/", ""}, {"", ""}, {"a/", "a/s"}} {
			require.Empty(t, connect(wrong.prefix).TakeOver(acpterm.SessionID(wrong.session)), wrong)
		}
		require.Empty(t, acpterm.NewHandler(nil, nil).TakeOver("s"))
		next := connect("")
		taken := next.TakeOver("a/s")
		require.Len(t, taken, 1)
		require.Equal(t, id, taken[0].ID())
		next.close()
	})
}

// Zero and negative times release terminals immediately, and so does Close for those that it cannot keep.
func TestWhatIsNotKept(t *testing.T) {
	bubble(t, acpterm.Options{}, func(t *testing.T, m *acpterm.Manager, connect func(string) *keeper) {
		for _, d := range []time.Duration{0, -1} {
			k := &keeper{t, acpterm.NewHandler(m, &acpterm.HandlerOptions{KeepOnClose: d})}
			k.create("s", "block")
			k.close()
			require.Empty(t, m.Terminals())
		}
		k := connect("")
		_, err := k.Attach(acpterm.TerminalInfo{ID: "own", SessionID: "s"}, nil, nil)
		require.NoError(t, err)
		k.close()
		require.Empty(t, m.Terminals(), "an attached terminal belongs to the connection")

		var h *acpterm.Handler
		h = acpterm.NewHandler(m, &acpterm.HandlerOptions{
			KeepOnClose: time.Minute, Created: func(*acpterm.Terminal) { h.Close() },
		})
		_, err = (&keeper{t, h}).do(acpterm.MethodCreate, acpterm.CreateTerminalRequest{SessionID: "s", Command: "block"})
		require.NoError(t, err)
		require.Empty(t, m.Terminals(), "the agent did not have the id yet")
	})
}

// Pending waits do not wait for a terminal that is kept.
func TestWaitsEndAtClose(t *testing.T) {
	bubble(t, acpterm.Options{}, func(t *testing.T, m *acpterm.Manager, connect func(string) *keeper) {
		k := connect("")
		id := k.create("s", "block")
		waited := make(chan error)
		go func() {
			_, err := k.do(acpterm.MethodWaitForExit, hosttest.Of(id))
			waited <- err
		}()
		synctest.Wait()
		k.close()
		err := <-waited
		require.ErrorIs(t, err, acpterm.ErrCancelled)
		require.ErrorIs(t, err, acpterm.ErrClosing)
		require.Len(t, m.Terminals(), 1)
	})
}

// An agent that connects again and again, each time in a new session, does not fill the Manager.
func TestKeptTerminalsAreBounded(t *testing.T) {
	reserve := int64(1000)
	for name, c := range map[string]struct {
		options acpterm.Options
		most    int
	}{
		"MaxKept":          {acpterm.Options{MaxKept: 3}, 3},
		"default":          {acpterm.Options{}, 64},
		"MaxTerminals":     {acpterm.Options{MaxTerminals: 10}, 5},
		"MaxReservedBytes": {acpterm.Options{MaxReservedBytes: 9 * reserve}, 4},
	} {
		c.options.Commands = acpterm.CommandOptions{OutputByteLimit: reserve, FollowBytes: 1}
		bubble(t, c.options, func(t *testing.T, m *acpterm.Manager, connect func(string) *keeper) {
			for i := range 70 {
				k := connect("")
				session := acpterm.SessionID(fmt.Sprint(i))
				k.create(session, "block")
				k.create(session, "block")
				k.close()
				synctest.Wait() // until the hooks have the events, which also count
				require.LessOrEqual(t, len(m.Terminals()), c.most, name)
			}
			require.Len(t, m.Terminals(), c.most, name)
			first := connect("").TakeOver("0")
			require.Len(t, first, 2, "others do not displace them")
			require.NoError(t, m.ReleaseSession(t.Context(), "0"))
			k := connect("")
			k.create("new", "block")
			k.close()
			require.Len(t, m.Terminals(), c.most-1, name+": there is room again")
		})
	}
	bubble(t, acpterm.Options{MaxKept: 3}, func(t *testing.T, m *acpterm.Manager, connect func(string) *keeper) {
		k := connect("")
		var ids []acpterm.TerminalID
		for _, command := range []string{"block", "print", "print", "block"} {
			ids = append(ids, k.create("s", command))
		}
		synctest.Wait()
		k.close()
		var left []acpterm.TerminalID
		for _, term := range m.Terminals() {
			left = append(left, term.ID())
		}
		require.Equal(t, []acpterm.TerminalID{ids[0], ids[2], ids[3]}, left, "the running ones, and the newest")
	})
}

// Kept terminals count towards the quotas, and so do those taken over.
func TestQuotasContinue(t *testing.T) {
	options := acpterm.Options{MaxSessionTerminals: 2}
	bubble(t, options, func(t *testing.T, m *acpterm.Manager, connect func(string) *keeper) {
		full := func(k *keeper) {
			_, err := k.do(acpterm.MethodCreate, acpterm.CreateTerminalRequest{SessionID: "s", Command: "block"})
			require.ErrorIs(t, err, acpterm.ErrQuota)
		}
		k := connect("")
		id := k.create("s", "block")
		k.create("s", "print")
		k.close()
		k = connect("")
		full(k)
		require.Len(t, k.TakeOver("s"), 2)
		full(k)
		_, err := k.do(acpterm.MethodRelease, hosttest.Of(id))
		require.NoError(t, err)
		k.create("s", "block")
		full(k)
		k.close()
	})
}

// A terminal that lives on keeps no Handler that has passed it on.
func TestClosedHandlersAreNotRetained(t *testing.T) {
	m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{"block": acptermtest.Block}})
	k := &keeper{t, acpterm.NewHandler(m, kept())}
	k.create("s", "block")
	for range 2 {
		closed := weak.Make(k.Handler)
		k.close()
		k = &keeper{t, acpterm.NewHandler(m, kept())}
		require.Len(t, k.TakeOver("s"), 1)
		for closed.Value() != nil { // otherwise the test does not end
			runtime.GC()
		}
	}
	k.close()
}

// At the moment when its time ends, a terminal is either taken over and lives, or is not and is released.
func TestTakeOverAtTheLastMoment(t *testing.T) {
	bubble(t, acpterm.Options{}, func(t *testing.T, m *acpterm.Manager, connect func(string) *keeper) {
		taken := 0
		for range 1000 {
			first, next := connect(""), connect("")
			id := first.create("s", "block")
			term, err := m.Terminal("s", id)
			require.NoError(t, err)
			first.close()
			time.Sleep(time.Minute)
			took := len(next.TakeOver("s"))
			taken += took
			synctest.Wait()
			require.Equal(t, took == 0, isReleased(term))
			require.Len(t, m.Terminals(), took)
			require.NoError(t, m.ReleaseSession(t.Context(), "s"))
		}
		t.Log(taken)
	})
}

// Take-overs race with kills, releases and closes. Each terminal is taken over and can be used, or is not and is
// released.
func TestTakeOverRaces(t *testing.T) {
	m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{"block": acptermtest.Block}})
	counts := make(map[string]int)
	for i := range 1000 {
		random := rand.New(rand.NewPCG(uint64(i), 54))
		session := acpterm.SessionID(fmt.Sprint(i))
		own := m
		if i%4 == 3 {
			own = hosttest.Must(acpterm.NewManager(&acpterm.Options{Runner: acptermtest.Commands{"block": acptermtest.Block}}))
		}
		k := &keeper{t, acpterm.NewHandler(own, kept())}
		id := k.create(session, "block")
		term, err := own.Terminal(session, id)
		require.NoError(t, err)
		next := &keeper{t, acpterm.NewHandler(own, nil)}
		params := hosttest.Object{"sessionId": session, "terminalId": id}
		var racing sync.WaitGroup
		var released error
		race := func(f func()) {
			early := random.IntN(40_000)
			racing.Go(func() { spin(early); f() })
		}
		if i%4 == 0 { // the last request of the agent
			race(func() { _, released = k.do(acpterm.MethodRelease, params) })
			spin(random.IntN(60_000))
		}
		k.close()
		switch i % 4 {
		case 1:
			race(func() { term.Kill(t.Context()) })
		case 2:
			race(func() { own.CloseSession(t.Context(), session) })
		case 3:
			race(func() { own.Close() })
		}
		spin(random.IntN(60_000))
		taken := next.TakeOver(session)
		racing.Wait()
		counts[fmt.Sprint(i%4, len(taken))]++
		_, err = next.do(acpterm.MethodOutput, params)
		switch {
		case len(taken) == 0:
			<-term.Released()
			require.ErrorIs(t, err, acpterm.ErrTerminalNotFound)
		case i%4 >= 2: // released, but not by a timer
			<-term.Released()
		default:
			require.NoError(t, err)
			require.Equal(t, i%4 == 1, term.State() == acpterm.StateEnded)
			if i%4 == 0 {
				require.Error(t, released)
			}
		}
		next.close()
		require.True(t, isReleased(term), "Close releases what was taken over")
		if i%4 == 3 {
			require.NoError(t, own.Close())
		}
	}
	t.Log(counts) // the kind of race and the number taken over
	acptermtest.AllReleased(t, m)
}

// spin lets other goroutines come first, or not.
func spin(nanoseconds int) {
	for until := time.Now().Add(time.Duration(nanoseconds)); time.Now().Before(until); {
		runtime.Gosched()
	}
}

func isReleased(t *acpterm.Terminal) bool {
	select {
	case <-t.Released():
		return true
	default:
		return false
	}
}

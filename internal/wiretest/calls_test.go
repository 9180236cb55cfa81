package wiretest

// Many requests at once, agents that do not read, and quotas.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agent"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/longtest"
)

func TestPipelinedPollsAreAllAnswered(t *testing.T) {
	polls := longtest.Times(250, 1000)
	m := hosttest.NewManager(t, nil)
	p := hosttest.ConnectPeer(t, m, nil)
	for _, child := range []acpterm.CreateTerminalRequest{hosttest.ChildRequest("sleep"), hosttest.ChildRequest("flood", "20000", "1000")} {
		term := hosttest.Create(t, m, child)
		p.Write(hosttest.Request(`"wait"`, acpterm.MethodWaitForExit, hosttest.Of(term.ID())))
		if child.Args[1] == "sleep" {
			p.WriteAll(polls, func(i int) string {
				return hosttest.Request(fmt.Sprint(i), acpterm.MethodOutput, hosttest.Of(term.ID()))
			})
		} else {
			go p.WriteAll(polls, func(i int) string {
				return hosttest.Request(fmt.Sprint(i), acpterm.MethodOutput, hosttest.Of(term.ID()))
			})
		}
		waited := false
		for next := 0; next < polls || !waited; {
			r := p.Read()
			if string(r.ID) == `"wait"` {
				waited = true
				continue
			}
			require.Equal(t, fmt.Sprint(next), string(r.ID), "in the order of the requests")
			require.Nil(t, r.Error)
			if next++; next == polls && !waited {
				require.NoError(t, term.Kill(t.Context()))
			}
		}
	}
}

func TestEachOfManyCancelledWaitsIsAnsweredOnce(t *testing.T) {
	waits := longtest.Times(2000, 10_000)
	m := hosttest.NewManager(t, nil)
	p := hosttest.ConnectPeer(t, m, nil)
	term := hosttest.Create(t, m, hosttest.ChildRequest("sleep"))
	p.Works()
	before := runtime.NumGoroutine()
	p.WriteAll(waits, func(i int) string {
		return hosttest.Request(fmt.Sprint(i), acpterm.MethodWaitForExit, hosttest.Of(term.ID()))
	})
	p.Works() // so all have been read
	require.Less(t, runtime.NumGoroutine(), before+20, "a wait that is pending has no goroutine")
	go p.WriteAll(waits, func(i int) string { return hosttest.Cancel(fmt.Sprint(i)) })
	answered := make(map[string]int)
	for range waits {
		r := p.Read()
		require.EqualValues(t, -32800, r.Error.Code)
		answered[string(r.ID)]++
	}
	require.Len(t, answered, waits)
	p.Works()
	require.Equal(t, acpterm.StateRunning, term.State())
}

// A cancel that follows its request on the wire finds it. A cancel of an answered or unknown request changes nothing.
func TestCancelFollowsItsRequest(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	next := &recorder{}
	p := hosttest.ConnectPeer(t, m, &acpterm.HandlerOptions{Next: next})
	term := hosttest.Create(t, m, hosttest.ChildRequest("sleep"))
	const rounds = 200
	p.WriteAll(rounds, func(i int) string {
		id := fmt.Sprint(i)
		return hosttest.Request(id, acpterm.MethodWaitForExit, hosttest.Of(term.ID())) + "\n" + hosttest.Cancel(id)
	})
	for range rounds {
		require.EqualValues(t, -32800, p.Read().Error.Code)
	}
	for _, id := range []string{`0`, `"unknown"`, `null`, `{}`} {
		p.Write(hosttest.Cancel(id))
	}
	p.Write(`{"jsonrpc":"2.0","method":"$/cancel_request"}`)
	p.Write(hosttest.Request(`"mine"`, "session/prompt", hosttest.Object{}))
	p.Write(hosttest.Cancel(`"mine"`))
	require.Equal(t, `"from next"`, string(p.Read().Result))
	p.Works()
	require.Len(t, next.seen, 7, "those that are not ours are the embedder's: %v", next.seen)
	require.Equal(t, acpterm.StateRunning, term.State())
}

func TestQuotas(t *testing.T) {
	limit := uint64(1000)
	small := hosttest.ChildRequest("sleep")
	small.OutputByteLimit = &limit
	inOther := small
	inOther.SessionID = "other"
	withHead := small
	agent.AskForHead(&withHead, 1500)
	for _, quota := range []struct {
		name    string
		options acpterm.Options
		handler acpterm.HandlerOptions
		limit   int
		fill    []acpterm.CreateTerminalRequest
		beyond  acpterm.CreateTerminalRequest
	}{
		{"terminals", acpterm.Options{MaxTerminals: 2}, acpterm.HandlerOptions{}, 2,
			[]acpterm.CreateTerminalRequest{small, inOther}, small},
		{"session_terminals", acpterm.Options{MaxSessionTerminals: 2}, acpterm.HandlerOptions{}, 2,
			[]acpterm.CreateTerminalRequest{small, inOther, small}, small},
		{"reserved_bytes", acpterm.Options{
			MaxReservedBytes: 5000,
			Commands:         acpterm.CommandOptions{FollowBytes: 1},
		}, acpterm.HandlerOptions{}, 5000,
			[]acpterm.CreateTerminalRequest{small, inOther, small, small, small}, small},
		{"reserved_bytes", acpterm.Options{
			MaxReservedBytes: 5000,
			Commands:         acpterm.CommandOptions{FollowBytes: 1},
		}, acpterm.HandlerOptions{}, 5000,
			[]acpterm.CreateTerminalRequest{withHead, small, small}, small},
		{"create_bytes", acpterm.Options{}, acpterm.HandlerOptions{}, 4 << 20,
			nil, acpterm.CreateTerminalRequest{SessionID: "s", Command: "x", Args: []string{strings.Repeat("x", 4<<20)}}},
	} {
		t.Run(string(quota.name), func(t *testing.T) {
			m := hosttest.NewManager(t, &quota.options)
			p := hosttest.ConnectPeer(t, m, &quota.handler)
			for _, req := range quota.fill {
				require.Nil(t, p.Ask(`1`, acpterm.MethodCreate, req).Error)
			}
			for range 3 {
				p.Write(hosttest.Request(`2`, acpterm.MethodCreate, quota.beyond))
				p.Refused(quota.name, quota.limit)
			}
			p.Works()
			require.Len(t, m.Terminals(), len(quota.fill), "nothing is left of what was refused")
			if len(quota.fill) == 0 {
				return
			}
			_, err := m.Create(t.Context(), quota.beyond, nil)
			require.ErrorIs(t, err, acpterm.ErrQuota)
			require.ErrorContains(t, err, fmt.Sprint(quota.limit))
			require.NoError(t, m.Release(t.Context(), "s", m.SessionTerminals("s")[0].ID()))
			require.Nil(t, p.Ask(`3`, acpterm.MethodCreate, quota.beyond).Error, "a release makes room")
		})
	}
}

// 256 terminals with the highest limit are within the default quota for output, in one session.
func TestDefaultQuotasLetHonestAgentsAlone(t *testing.T) {
	m := hosttest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{"x": acptermtest.Print("", 0)}})
	req := acpterm.CreateTerminalRequest{SessionID: "s", Command: "x", OutputByteLimit: new(uint64(1 << 62))}
	for range 256 {
		hosttest.Create(t, m, req)
	}
	_, err := m.Create(t.Context(), req, nil)
	require.ErrorIs(t, err, acpterm.ErrQuota)
}

// A terminal counts until its release is complete. Otherwise a quota would not be a bound.
func TestTerminalsCountUntilTheirTreeIsGone(t *testing.T) {
	leaktest.NeedsAsking(t)
	m := hosttest.NewManager(t, &acpterm.Options{MaxTerminals: 1})
	term := hosttest.CreateReady(t, m, hosttest.ChildRequest("stubborn"))
	p := hosttest.ConnectPeer(t, m, nil)
	p.Write(hosttest.Request(`1`, acpterm.MethodRelease, hosttest.Of(term.ID())))
	p.Works()
	_, err := m.Create(t.Context(), hosttest.ChildRequest("sleep"), nil)
	require.ErrorIs(t, err, acpterm.ErrQuota)
	require.NoError(t, term.Kill(t.Context())) // a second time, so by force
	require.Nil(t, p.Read().Error)
	hosttest.Create(t, m, hosttest.ChildRequest("sleep"))
}

func TestASessionHasAQuotaOfItsOwn(t *testing.T) {
	m := hosttest.NewManager(t, &acpterm.Options{MaxSessionTerminals: 1})
	require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{MaxTerminals: 2}))
	hosttest.Create(t, m, hosttest.ChildRequest("sleep"))
	hosttest.Create(t, m, hosttest.ChildRequest("sleep"))
	_, err := m.Create(t.Context(), hosttest.ChildRequest("sleep"), nil)
	require.ErrorIs(t, err, acpterm.ErrQuota)
}

// waitingPolicy returns options with a policy that takes its verdicts from a channel.
func waitingPolicy() (*acpterm.Options, chan acpterm.Verdict) {
	verdicts := make(chan acpterm.Verdict)
	policy := func(ctx context.Context, _ acpterm.Proposal) acpterm.Decision {
		select {
		case verdict := <-verdicts:
			return acpterm.Decision{Verdict: verdict}
		case <-ctx.Done():
			return acpterm.Decision{Verdict: acpterm.VerdictDeny}
		}
	}
	return &acpterm.Options{Policy: acpterm.PolicyFunc(policy)}, verdicts
}

// sized returns a create whose params have that many bytes.
func sized(bytes int) acpterm.CreateTerminalRequest {
	req := hosttest.ChildRequest("print", "")
	encoded, err := json.Marshal(req)
	if err != nil {
		panic(err)
	}
	req.Args[2] = strings.Repeat("x", bytes-len(encoded))
	return req
}

// Pending creates are bounded by their total size in bytes.
func TestPendingCreatesAreBounded(t *testing.T) {
	const limit, size = 4 << 20, 256 << 10
	create := sized(size - 3*16) // 16 bytes more for each argument
	options, verdicts := waitingPolicy()
	p := hosttest.ConnectPeer(t, hosttest.NewManager(t, options), &acpterm.HandlerOptions{LineLimit: 1 << 20})
	for i := range limit / size {
		p.Write(hosttest.Request(fmt.Sprint(i), acpterm.MethodCreate, create))
	}
	for range 3 {
		p.Write(hosttest.Request(`"beyond"`, acpterm.MethodCreate, create))
		p.Refused("pending_create_bytes", limit)
	}
	p.Works()
	verdicts <- acpterm.VerdictDeny
	require.EqualValues(t, -32602, p.Read().Error.Code)
	for range 3 {
		p.Write(hosttest.Request(`"room again"`, acpterm.MethodCreate, create))
		p.Write(hosttest.Request(`"beyond"`, acpterm.MethodCreate, create))
		p.Refused("pending_create_bytes", limit)
		p.Write(hosttest.Cancel(`"room again"`))
		require.EqualValues(t, -32800, p.Read().Error.Code)
	}
	p.Works()
}

// After reading the answer to a create, an agent may send one of the same size again.
func TestRoomForACreateIsFreeBeforeTheAnswer(t *testing.T) {
	deny := acpterm.PolicyFunc(func(ctx context.Context, p acpterm.Proposal) acpterm.Decision {
		if p.Requested.SessionID == "pending" {
			<-ctx.Done()
		}
		return acpterm.Decision{Verdict: acpterm.VerdictDeny}
	})
	p := hosttest.ConnectPeer(t, hosttest.NewManager(t, &acpterm.Options{
		Policy: deny,
	}), &acpterm.HandlerOptions{LineLimit: 1 << 20})
	pending := sized(256<<10 - 100)
	pending.SessionID = "pending"
	for i := range 15 { // leave room for one more
		p.Write(hosttest.Request(fmt.Sprintf(`"pending %d"`, i), acpterm.MethodCreate, pending))
	}
	line := hosttest.Request(`1`, acpterm.MethodCreate, sized(200<<10))
	for range longtest.Times(40, 1000) {
		p.Write(line)
		require.EqualValues(t, -32602, p.Read().Error.Code)
	}
}

// With another JSON-RPC library, too. An argument counts, however short it is.
func TestDispatchedCreatesAreBounded(t *testing.T) {
	options, verdicts := waitingPolicy()
	m := hosttest.NewManager(t, options)
	h := acpterm.NewHandler(m, &acpterm.HandlerOptions{LineLimit: -1})
	dispatch := func(req acpterm.CreateTerminalRequest) error {
		params, err := json.Marshal(req)
		require.NoError(t, err)
		_, err = h.Dispatch(t.Context(), acpterm.MethodCreate, params)
		return err
	}
	many := hosttest.ChildRequest("print", make([]string, 80_000)...) // 240 kB of JSON, 1280 kB more for the arguments
	for range 2 {
		failed := make(chan error, 3)
		for range cap(failed) {
			go func() { failed <- dispatch(many) }()
		}
		require.ErrorIs(t, <-failed, acpterm.ErrQuota)
		for range 2 {
			verdicts <- acpterm.VerdictDeny
			require.ErrorIs(t, <-failed, acpterm.ErrDenied)
		}
	}
	require.NoError(t, h.Close())
}

// An agent that reads nothing delays only its own answers.
func TestAPeerThatDoesNotRead(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	p := hosttest.ConnectPeer(t, m, hosttest.Quietly())
	limit := uint64(100_000)
	req := hosttest.ChildRequest("flood", "3000000", "3000000")
	req.OutputByteLimit = &limit
	term := hosttest.Create(t, m, req)
	sleeper := hosttest.Create(t, m, hosttest.ChildRequest("sleep"))
	p.WriteAll(500, func(i int) string {
		return hosttest.Request(fmt.Sprint(i), acpterm.MethodOutput, hosttest.Of(term.ID())) + "\n" +
			hosttest.Request(fmt.Sprint(i+1000), acpterm.MethodWaitForExit, hosttest.Of(sleeper.ID())) + "\ngarbage"
	})
	require.True(t, hosttest.AwaitExit(t, term).Success(), "the command has written it all")
	require.Len(t, term.Output().Output, int(limit))
	require.NoError(t, sleeper.Kill(t.Context()), "from the embedder's side")
	other := hosttest.ConnectPeer(t, m, hosttest.Quietly())
	other.Works()
	require.NoError(t, p.Conn.Close())
	<-p.Conn.DisconnectNotify()
}

// The connection of an agent that dies in the middle of a line ends, together with its terminals.
func TestAPeerThatDiesInMidLine(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	p := hosttest.ConnectPeer(t, m, hosttest.Quietly())
	require.Nil(t, p.Ask(`1`, acpterm.MethodCreate, hosttest.ChildRequest("sleep")).Error)
	term := m.Terminals()[0]
	io.WriteString(p.Writer, `{"jsonrpc":"2.0","id":2,"meth`)
	p.Close()
	<-p.Conn.DisconnectNotify()
	<-term.Done()
	require.Equal(t, acpterm.EndedByRelease, term.EndedBy())
}

// Cancelled polls keep their place.
func TestCancelledPollsKeepTheirPlace(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	p := hosttest.ConnectPeer(t, m, nil)
	term := hosttest.Finish(t, m, hosttest.ChildRequest("flood", "1000000", "1000"))
	const polls = 50
	go p.WriteAll(polls, func(i int) string {
		return hosttest.Request(fmt.Sprint(i), acpterm.MethodOutput, hosttest.Of(term.ID())) + "\n" +
			hosttest.Cancel(fmt.Sprint(i))
	})
	cancelled := 0
	for i := range polls {
		r := p.Read()
		require.Equal(t, fmt.Sprint(i), string(r.ID))
		if r.Error != nil {
			require.EqualValues(t, -32800, r.Error.Code)
			cancelled++
		}
	}
	t.Logf("%d of %d were cancelled in time", cancelled, polls)
}

// After reading an answer, an agent has a free place again, however few there are.
func TestAPlaceIsFreeBeforeTheAnswer(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	p := hosttest.ConnectPeer(t, m, &acpterm.HandlerOptions{MaxPending: 1})
	for i := range longtest.Times(20, 100) {
		created := p.Ask(fmt.Sprint(i), acpterm.MethodCreate, hosttest.ChildRequest("print", "x"))
		require.Nil(t, created.Error)
		var answer acpterm.CreateTerminalResponse
		require.NoError(t, json.Unmarshal(created.Result, &answer))
		for _, method := range []string{acpterm.MethodWaitForExit, acpterm.MethodKill, acpterm.MethodOutput, acpterm.MethodRelease} {
			require.Nil(t, p.Ask(`"`+method+`"`, method, hosttest.Of(answer.TerminalID)).Error, method)
		}
	}
}

// An agent that waits reads that the user has stopped the command.
func TestAUsersStopIsTold(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	p := hosttest.ConnectPeer(t, m, nil)
	term := hosttest.CreateReady(t, m, hosttest.ChildRequest("sleep"))
	p.Write(hosttest.Request(`1`, acpterm.MethodWaitForExit, hosttest.Of(term.ID())))
	p.Works()
	require.NoError(t, term.Stop(t.Context()))
	var status acpterm.TerminalExitStatus
	require.NoError(t, json.Unmarshal(p.Read().Result, &status))
	require.Equal(t, hosttest.EndedBy(acpterm.EndedByUser), status.Meta)
	require.Equal(t, hosttest.KilledBy(), *status.Signal)
}

// MoveToBackground answers the pending waits of agents, and no other calls. Later waits are answered at the exit.
func TestMovedToTheBackground(t *testing.T) {
	hook, events := hosttest.Record()
	m := hosttest.NewManager(t, nil, hook)
	p := hosttest.ConnectPeer(t, m, nil)
	req := hosttest.ChildRequest("sleep")
	req.Meta = knowsBackground()
	term := hosttest.CreateReady(t, m, req)
	wait := func(id string) {
		p.Write(hosttest.Request(id, acpterm.MethodWaitForExit, hosttest.Of(term.ID())))
		p.Works() // it has been read
	}
	read := func() (status acpterm.TerminalExitStatus) {
		require.NoError(t, json.Unmarshal(p.Read().Result, &status))
		return status
	}
	ended := make(chan error)
	go func() {
		_, err := term.Wait(t.Context())
		ended <- err
	}()
	require.False(t, term.Info().Backgrounded)
	for range 2 {
		moved := term.Backgrounded()
		wait(`1`)
		wait(`2`)
		require.True(t, term.MoveToBackground())
		<-moved
		for range 2 {
			status := read()
			require.True(t, agent.Backgrounded(status))
			require.Nil(t, status.ExitCode)
			require.Nil(t, status.Signal)
		}
	}
	require.True(t, term.Info().Backgrounded)
	require.Equal(t, acpterm.StateRunning, term.State())
	wait(`3`)
	p.Write(hosttest.Cancel(`3`))
	require.EqualValues(t, -32800, p.Read().Error.Code)
	wait(`4`)
	require.NoError(t, term.Kill(t.Context()))
	status := read()
	require.False(t, agent.Backgrounded(status))
	require.Equal(t, hosttest.KilledBy(), *status.Signal)
	require.NoError(t, <-ended)
	require.False(t, term.MoveToBackground(), "it has ended")
	require.NoError(t, m.Close())
	moves := 0
	for len(events) > 0 {
		if _, ok := (<-events).(*acpterm.BackgroundEvent); ok {
			moves++
		}
	}
	require.Equal(t, 2, moves)
}

// Waits, moves and the exit at the same moment: each wait gets one answer.
func TestMovesDuringTheExit(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	p := hosttest.ConnectPeer(t, m, nil)
	for range longtest.Times(10, 200) {
		req := hosttest.ChildRequest("sleep")
		req.Meta = knowsBackground()
		term := hosttest.CreateReady(t, m, req)
		const waits = 20
		go p.WriteAll(waits, func(i int) string {
			return hosttest.Request(fmt.Sprint(i), acpterm.MethodWaitForExit, hosttest.Of(term.ID()))
		})
		killed := make(chan error)
		go func() { killed <- term.Kill(t.Context()) }()
		for term.MoveToBackground() {
		}
		answered := make(map[string]bool)
		for range waits {
			r := p.Read()
			require.Nil(t, r.Error)
			answered[string(r.ID)] = true
		}
		require.Len(t, answered, waits)
		require.NoError(t, <-killed)
	}
}

// knowsBackground is the _meta of an agent that knows the answer to a wait for a command in the background.
func knowsBackground() acpterm.Meta {
	return acpterm.Meta{"acpterm": json.RawMessage(`{"background":true}`)}
}

// An agent that does not know the answer keeps waiting, as it would take the answer for a success.
func TestNothingIsMovedWithoutTheAgentsKnowledge(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	p := hosttest.ConnectPeer(t, m, nil)
	for i, meta := range []string{"", `{}`, `{"background":"yes"}`, `{"background":null}`, `{"background":false}`} {
		req := hosttest.ChildRequest("sleep")
		if meta != "" {
			req.Meta = acpterm.Meta{"acpterm": json.RawMessage(meta)}
		}
		term := hosttest.CreateReady(t, m, req)
		p.Write(hosttest.Request(fmt.Sprint(i), acpterm.MethodWaitForExit, hosttest.Of(term.ID())))
		p.Works()
		require.False(t, term.MoveToBackground(), meta)
		term.Backgrounded()                            // a call of an MCP tool
		require.True(t, term.MoveToBackground(), meta) // is answered alone
		require.NoError(t, term.Kill(t.Context()))
		var status acpterm.TerminalExitStatus
		require.NoError(t, json.Unmarshal(p.Read().Result, &status))
		require.Equal(t, hosttest.KilledBy(), *status.Signal)
	}
}

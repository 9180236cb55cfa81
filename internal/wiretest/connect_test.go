package wiretest

// Connections through Filter and Handle, and how they end.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

// An id also comes back unchanged through another stream, if jsonrpc2 supports it, and polls are answered.
func TestAnotherStreamWorksAsWell(t *testing.T) {
	a, b := net.Pipe()
	m := hosttest.NewManager(t, nil)
	term := hosttest.Finish(t, m, hosttest.ChildRequest("print", "<é\x1b>"))
	h := acpterm.NewHandler(m, nil)
	conn := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(a), h)
	agentEnd := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(b), hosttest.NoHandler{})
	for range 3 {
		var out acpterm.TerminalOutputResponse
		require.NoError(t, agentEnd.Call(t.Context(), acpterm.MethodOutput, hosttest.Of(term.ID()), &out))
		require.Equal(t, term.Output(), out)
	}
	agentEnd.Close()
	<-conn.DisconnectNotify()
	require.NoError(t, h.Close())
}

// With Handle, jsonrpc2 receives every request unchanged and sends every reply. With Filter, its hooks see nothing of
// terminal/*. Nothing else passes through it.
func TestWhatHooksOfJSONRPC2See(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	term := hosttest.Create(t, m, hosttest.ChildRequest("exit", "0"))
	for name, filtered := range map[string]bool{"Handle": false, "Filter": true} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var seen []string
			onSend := jsonrpc2.OnSend(func(req *jsonrpc2.Request, res *jsonrpc2.Response) {
				mu.Lock()
				defer mu.Unlock()
				if req != nil {
					seen = append(seen, req.Method)
				} else {
					seen = append(seen, "reply to "+res.ID.String())
				}
			})
			var extra []jsonrpc2.RequestField
			onRecv := jsonrpc2.OnRecv(func(req *jsonrpc2.Request, _ *jsonrpc2.Response) {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, req.Method)
				extra = append(extra, req.ExtraFields...)
			})
			ours, theirs := hosttest.PipePair(t)
			h := acpterm.NewHandler(m, nil)
			if filtered {
				ours = h.Filter(t.Context(), ours)
			}
			conn := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(ours), h, onSend, onRecv)
			agent := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(theirs), hosttest.NoHandler{})
			var want []string
			for i, method := range []string{acpterm.MethodOutput, acpterm.MethodWaitForExit, acpterm.MethodOutput} {
				require.NoError(t, agent.Call(t.Context(), method, hosttest.Of(term.ID()), nil))
				if !filtered {
					want = append(want, method, fmt.Sprintf("reply to %d", i))
				}
			}
			agent.Close()
			<-conn.DisconnectNotify()
			require.NoError(t, h.Close())
			mu.Lock()
			defer mu.Unlock()
			require.Equal(t, want, seen)
			require.Empty(t, extra)
		})
	}
}

// The end of a connection's context ends the connection and its terminals. Policies see the context's values.
func TestConnectHasItsContext(t *testing.T) {
	type key struct{}
	seen := make(chan any, 1)
	policy := acpterm.PolicyFunc(func(ctx context.Context, _ acpterm.Proposal) acpterm.Decision {
		seen <- ctx.Value(key{})
		return acpterm.Decision{Verdict: acpterm.VerdictAllow}
	})
	m := hosttest.NewManager(t, &acpterm.Options{Policy: policy})
	ours, theirs := hosttest.PipePair(t)
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	h := acpterm.NewHandler(m, nil)
	conn := jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(h.Filter(ctx, ours)), h)
	agent := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(theirs), hosttest.NoHandler{})
	defer agent.Close()
	var created acpterm.CreateTerminalResponse
	require.NoError(t, agent.Call(t.Context(), acpterm.MethodCreate, hosttest.ChildRequest("sleep"), &created))
	require.Equal(t, "value", <-seen)
	term, err := m.Terminal("s", created.TerminalID)
	require.NoError(t, err)
	cancel()
	<-conn.DisconnectNotify()
	<-term.Done()
	require.NoError(t, h.Close())
	require.Empty(t, m.Terminals())
}

// Without an answer, an agent could not learn their result.
func TestNotificationsOfTerminalMethodsAreDropped(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	p := hosttest.ConnectPeer(t, m, hosttest.Quietly())
	params, err := json.Marshal(hosttest.ChildRequest("sleep"))
	require.NoError(t, err)
	p.Write(`{"jsonrpc":"2.0","method":"terminal/create","params":` + string(params) + `}`)
	p.Write(`{"jsonrpc":"2.0","method":"terminal/output"}`)
	p.Works()
	require.Zero(t, p.Reader.Buffered())
	require.Empty(t, m.Terminals())
}

// Requests for terminals and all others may come in any order and in pieces. Each is answered, and Next gets its own in
// order.
func TestRequestsOfAllKindsInPieces(t *testing.T) {
	var others []string
	next := jsonrpc2.HandlerWithError(func(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
		others = append(others, req.ID.Str)
		return "other", nil
	})
	p := hosttest.ConnectPeer(t, hosttest.NewManager(t, nil), &acpterm.HandlerOptions{Next: next})
	const lines = 120
	long := strings.Repeat("long ", 20<<10)
	kinds := []func(id string) string{
		func(id string) string { return hosttest.Request(id, acpterm.MethodOutput, hosttest.Of("none")) },
		func(id string) string { return hosttest.Request(id, acpterm.MethodOutput, hosttest.Of("none")) },
		func(id string) string { return hosttest.Request(id, "other", nil) },
		func(id string) string { return hosttest.Request(id, acpterm.MethodWaitForExit, hosttest.Of("none")) },
		func(id string) string {
			return hosttest.Request(id, acpterm.MethodOutput, hosttest.Of(acpterm.TerminalID(long[:60<<10])))
		},
		func(id string) string { return hosttest.Request(id, "other", long) },
	}
	answers := make(chan hosttest.Response, lines)
	go func() {
		defer close(answers)
		for decoder := json.NewDecoder(p.Reader); ; {
			var r hosttest.Response
			if decoder.Decode(&r) != nil {
				return
			}
			answers <- r
		}
	}()
	random := rand.New(rand.NewPCG(1, 2))
	waiting := make(map[string]bool)
	var wantOthers []string
	for n := range lines {
		kind, id := random.IntN(len(kinds)), fmt.Sprintf("%q", fmt.Sprint(n))
		waiting[id] = kind == 2 || kind == 5
		if waiting[id] {
			wantOthers = append(wantOthers, fmt.Sprint(n))
		}
		for line := kinds[kind](id) + "\n"; len(line) > 0; {
			piece := min(len(line), 1+random.IntN(40<<10))
			_, err := io.WriteString(p.Writer, line[:piece])
			require.NoError(t, err)
			line = line[piece:]
		}
		for n == lines-1 && len(waiting) > 0 || len(waiting) > random.IntN(6) { // all, after the last line
			r := <-answers
			other, ok := waiting[string(r.ID)]
			require.True(t, ok, "%s", r.ID)
			delete(waiting, string(r.ID))
			if other {
				require.Equal(t, `"other"`, string(r.Result))
			} else {
				require.EqualValues(t, -32002, r.Error.Code)
			}
		}
	}
	p.Close()
	<-p.Conn.DisconnectNotify()
	for range answers {
		t.Error("an answer to no request")
	}
	require.Equal(t, wantOthers, others)
}

// A connection continues after its manager is closed.
func TestAConnectionOutlivesItsManager(t *testing.T) {
	next := jsonrpc2.HandlerWithError(func(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) (any, error) {
		return "other", nil
	})
	m := hosttest.NewManager(t, nil)
	p := hosttest.ConnectPeer(t, m, &acpterm.HandlerOptions{Next: next})
	p.Works()
	require.NoError(t, m.Close())
	for range 3 {
		require.EqualValues(t, -32800, p.Ask("1", acpterm.MethodCreate, hosttest.ChildRequest("cat")).Error.Code)
		p.Works()
		require.Equal(t, `"other"`, string(p.Ask("2", "other", nil).Result))
	}
}

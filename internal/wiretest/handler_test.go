package wiretest

// The wire contract: an agent at the other end of a real jsonrpc2 connection over real pipes.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/acpterm/acpterm/internal/leaktest"
)

func TestMain(m *testing.M) { hosttest.RunTests(m, map[string]func([]string){"agent": runAgent}) }

// exit returns an exit status on the wire, which always has both keys, and the cause of the command's end.
func exit(code, signal, by string) string {
	return fmt.Sprintf(`{"exitCode":%s,"signal":%s,"_meta":{"acpterm":{"endedBy":%q}}}`, code, signal, by)
}

// Polls show the same as Terminal.Output, even for long output.
func TestWireOutputIsThatOfTheTerminal(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	a := hosttest.Connect(t, m, nil)
	for _, limit := range []uint64{1000, 20_000, 1 << 20} {
		req := hosttest.ChildRequest("alternate", "10000")
		req.OutputByteLimit = &limit
		id := a.CreateRequest(req)
		a.Poll(id, "99\n")
		a.MustDo(acpterm.MethodWaitForExit, hosttest.Of(id))
		term, err := m.Terminal("s", id)
		require.NoError(t, err)
		require.Equal(t, term.Output(), a.Output(id))
		require.Equal(t, term.Output(), a.Output(id), "once more")
	}
}

// Dispatch, Handle and Filter send all fields of TerminalOutputResponse. A field left empty in this test is not set by
// Terminal.Output.
func TestWireOutputHasEveryField(t *testing.T) {
	ways := map[string]func(*testing.T, *acpterm.Handler, io.ReadWriteCloser){
		"Handle": func(t *testing.T, h *acpterm.Handler, conn io.ReadWriteCloser) {
			jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(conn), h)
		},
		"Filter": func(t *testing.T, h *acpterm.Handler, conn io.ReadWriteCloser) {
			go io.Copy(io.Discard, h.Filter(t.Context(), conn))
		},
	}
	m := hosttest.NewManager(t, nil)
	for name, size := range map[string]int{"short": 100, "long": 10_000} {
		req := hosttest.ChildRequest("print", strings.Repeat("x", size))
		req.OutputByteLimit = new(uint64(size - 1))
		agent.AskForHead(&req, 10)
		term := hosttest.Finish(t, m, req)
		out := term.Output()
		for _, field := range reflect.VisibleFields(reflect.TypeOf(out)) {
			require.NotZero(t, reflect.ValueOf(out).FieldByIndex(field.Index).Interface(), field.Name)
		}
		want, err := json.Marshal(out)
		require.NoError(t, err)
		params, err := json.Marshal(hosttest.Of(term.ID()))
		require.NoError(t, err)

		dispatched, err := acpterm.NewHandler(m, nil).Dispatch(t.Context(), acpterm.MethodOutput, params)
		require.NoError(t, err)
		require.Equal(t, out, dispatched)
		for way, serve := range ways {
			t.Run(name+" by "+way, func(t *testing.T) {
				client, agentEnd := hosttest.PipePair(t)
				defer agentEnd.Close()
				serve(t, acpterm.NewHandler(m, nil), client)
				_, err := io.WriteString(agentEnd, hosttest.Request("1", acpterm.MethodOutput, hosttest.Of(term.ID()))+"\n")
				require.NoError(t, err)
				var got hosttest.Response
				require.NoError(t, json.NewDecoder(agentEnd).Decode(&got))
				require.JSONEq(t, string(want), string(got.Result))
			})
		}
	}
}

// Keeping the beginning of an output does not change a byte of a poll's answer, unless the agent has asked for it.
func TestWireOutputWithItsHead(t *testing.T) {
	printed := strings.Repeat("(é)\x01\n", 1500)
	limits := []uint64{0, 10, 100, 5000, 20_000} // lengths escaped for each poll, and lengths escaped only once
	polled := func(a *hosttest.Agent, limit uint64, ask int64) (acpterm.TerminalID, string) {
		req := hosttest.ChildRequest("print", printed)
		req.OutputByteLimit = &limit
		if ask > 0 {
			agent.AskForHead(&req, ask)
		}
		id := a.CreateRequest(req)
		a.MustDo(acpterm.MethodWaitForExit, hosttest.Of(id))
		return id, string(a.MustDo(acpterm.MethodOutput, hosttest.Of(id)))
	}
	var want []string
	t.Run("without", func(t *testing.T) {
		a := hosttest.Connect(t, hosttest.NewManager(t, nil), nil)
		for _, limit := range limits {
			_, reply := polled(a, limit, 0)
			want = append(want, reply)
		}
	})
	m := hosttest.NewManager(t, nil)
	a := hosttest.Connect(t, m, nil)
	for i, limit := range limits {
		_, reply := polled(a, limit, 0)
		require.Equal(t, want[i], reply)

		id, reply := polled(a, limit, 4)
		out := a.Output(id)
		term, err := m.Terminal("s", id)
		require.NoError(t, err)
		require.Equal(t, term.Output(), out)
		start := int64(len(printed) - len(out.Output))
		require.Equal(t, &agent.Head{Text: "(é)", End: 4, OutputStart: start}, agent.ReadHead(out))
		meta := fmt.Sprintf(`,"_meta":{"acpterm":{"head":"(é)","headEnd":4,"outputStart":%d}}}`, start)
		require.Equal(t, strings.TrimSuffix(want[i], "}")+meta, reply, "nothing else is added")
	}
}

// A missing or malformed head in a response is ignored.
func TestHeadOfResponses(t *testing.T) {
	for _, meta := range []string{
		`{}`, `{"acpterm":null}`, `{"acpterm":[]}`, `{"acpterm":{"headEnd":3}}`, `{"acpterm":{"head":7}}`,
		`{"acpterm":{"head":"x","headEnd":"y"}}`, `{"acpterm":{"head":null,"headEnd":3,"outputStart":9}}`,
	} {
		var out acpterm.TerminalOutputResponse
		require.NoError(t, json.Unmarshal([]byte(`{"output":"","truncated":false,"_meta":`+meta+`}`), &out))
		require.Nil(t, agent.ReadHead(out), meta)
	}
	req := acpterm.CreateTerminalRequest{Meta: acpterm.Meta{"x": json.RawMessage("1")}}
	asking := req
	agent.AskForHead(&asking, 7)
	require.Len(t, req.Meta, 1, "a copy of the request is another one")
	require.Equal(t, acpterm.Meta{"x": json.RawMessage("1"), "acpterm": json.RawMessage(`{"headBytes":7}`)}, asking.Meta)
}

// A pending wait blocks neither outputs nor other terminals nor the kill that ends it.
func TestWireKillEndsAPendingWait(t *testing.T) {
	a := hosttest.Connect(t, hosttest.NewManager(t, nil), nil)
	id := a.Create("sleep")
	require.Regexp(t, `^term_[0-9A-HJKMNP-TV-Z]{26}$`, id)
	waited := make(chan string, 20)
	for range 20 {
		wait := a.Begin(acpterm.MethodWaitForExit, hosttest.Of(id))
		go func() {
			var result json.RawMessage
			wait.Wait(context.Background(), &result)
			waited <- string(result)
		}()
	}
	a.Poll(id, "ready\n")
	require.JSONEq(t, `{"output":"ready\n","truncated":false}`, string(a.MustDo(acpterm.MethodOutput, hosttest.Of(id))))
	other := a.Create("exit", "3")
	require.JSONEq(t, exit("3", "null", "finished"), string(a.MustDo(acpterm.MethodWaitForExit, hosttest.Of(other))))
	require.Empty(t, waited)
	require.JSONEq(t, `{}`, string(a.MustDo(acpterm.MethodKill, hosttest.Of(id))))
	for range 20 {
		require.JSONEq(t, exit("null", `"`+hosttest.KilledBy()+`"`, "killed"), <-waited)
	}
	require.Equal(t, "ready\n", a.Output(id).Output, "the id stays valid")
}

// Agents may release while their kill is pending. Both are answered, and the command still has its grace period.
func TestWireReleaseWhileAKillIsPending(t *testing.T) {
	leaktest.NeedsAsking(t)
	m := hosttest.NewManager(t, nil)
	a := hosttest.Connect(t, m, nil)
	id := a.CreateReady("polite")
	term, err := m.Terminal("s", id)
	require.NoError(t, err)
	kill := a.Begin(acpterm.MethodKill, hosttest.Of(id))
	require.JSONEq(t, `{}`, string(a.MustDo(acpterm.MethodRelease, hosttest.Of(id))))
	require.NoError(t, ignoreNotFound(kill.Wait(t.Context(), nil)))
	require.Equal(t, "ready\nbye\n", term.Output().Output)
}

// ignoreNotFound accepts a kill served after the release.
func ignoreNotFound(err error) error {
	if e, ok := errors.AsType[*jsonrpc2.Error](err); ok && e.Code == -32002 {
		return nil
	}
	return err
}

// recorder is an embedder's handler.
type recorder struct {
	mu   sync.Mutex
	seen []string
}

func (r *recorder) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, req.Method)
	if !req.Notif {
		go conn.Reply(ctx, req.ID, "from next")
	}
}

// Created is called with each terminal. A panic in it fails that create, leaves nothing of it, and is logged with its
// stack.
func TestWireCreatedThatPanics(t *testing.T) {
	log := hosttest.CaptureLog(t)
	m := hosttest.NewManager(t, nil)
	var created []*acpterm.Terminal
	options := &acpterm.HandlerOptions{Created: func(term *acpterm.Terminal) {
		created = append(created, term)
		if term.Request().Args[1] == "stubborn" {
			panic("a mistake of the host's")
		}
	}}
	a := hosttest.Connect(t, m, options)
	_, err := a.Do(acpterm.MethodCreate, hosttest.ChildRequest("stubborn"))
	a.Failed(err, -32603, `{"kind":"internal","reason":"the host's Created function panicked","sessionId":"s"}`)
	require.Contains(t, log.String(), "a mistake of the host's")
	require.Contains(t, log.String(), "TestWireCreatedThatPanics")
	params, err := json.Marshal(hosttest.ChildRequest("stubborn"))
	require.NoError(t, err)
	_, err = a.Handler.Dispatch(t.Context(), acpterm.MethodCreate, params)
	require.ErrorIs(t, err, acpterm.ErrInternal)
	require.Empty(t, m.Terminals())
	require.Len(t, created, 2)
	for _, term := range created {
		require.Equal(t, acpterm.EndedByRelease, term.EndedBy())
	}
	require.Equal(t, a.Create("sleep"), created[2].ID())
}

// dispatch sends a request with its own id, and returns functions that cancel it and get its answer.
func dispatch(a *hosttest.Agent, id, method string, params any) (cancel func(), answer func() error) {
	a.T.Helper()
	call, err := a.DispatchCall(a.T.Context(), method, params, jsonrpc2.PickID(jsonrpc2.ID{Str: id, IsString: true}))
	require.NoError(a.T, err)
	return func() {
		require.NoError(a.T, a.Notify(a.T.Context(), "$/cancel_request", hosttest.Object{"requestId": id}))
	}, func() error { return call.Wait(a.T.Context(), nil) }
}

// A create cancelled before its reply leaves nothing running. Created blocks it until the cancel has been read.
func TestWireCancelledCreateLeavesNothing(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	created, goOn := make(chan *acpterm.Terminal), make(chan struct{})
	a := hosttest.Connect(t, m, &acpterm.HandlerOptions{Created: func(term *acpterm.Terminal) { created <- term; <-goOn }})
	cancel, answer := dispatch(a, "c1", acpterm.MethodCreate, hosttest.ChildRequest("stubborn"))
	term := <-created
	cancel()
	_, err := a.Do("no/such", nil) // answered, so the cancel before it was read
	require.Error(t, err)
	close(goOn)
	a.Failed(answer(), -32800, `{"kind":"cancelled"}`)
	require.Empty(t, m.Terminals())
	require.Equal(t, acpterm.EndedByRelease, term.EndedBy())
}

// Law 5 for a connection: terminals created through it end with it, and nothing else does.
func TestWireDisconnectReleasesWhatCameThroughIt(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	mine := hosttest.Create(t, m, hosttest.ChildRequest("sleep"))
	a, b := hosttest.Connect(t, m, nil), hosttest.Connect(t, m, nil)
	gone, stays := a.Create("sleep"), b.Create("sleep")
	b.Poll(gone, "ready") // the same session on another connection
	term, err := m.Terminal("s", gone)
	require.NoError(t, err)
	wait := a.Begin(acpterm.MethodWaitForExit, hosttest.Of(gone))

	a.Close()
	<-term.Done()
	require.ErrorIs(t, wait.Wait(t.Context(), nil), jsonrpc2.ErrClosed)
	require.NoError(t, a.Handler.Close(), "waits for the releases that the disconnect began")
	require.Equal(t, acpterm.EndedByRelease, term.EndedBy())
	_, err = b.Do(acpterm.MethodOutput, hosttest.Of(gone))
	b.Failed(err, -32002, fmt.Sprintf(`{"kind":"terminal_not_found","sessionId":"s","terminalId":%q}`, gone))
	b.Poll(stays, "ready")
	require.Equal(t, acpterm.StateRunning, mine.State())
}

// A handler around this one may give each request a context that ends when Handle returns. The context's values count,
// but not its end. The connection's end does.
func TestWireRequestsWithContextsOfTheirOwn(t *testing.T) {
	type key struct{}
	asked := make(chan any, 2)
	policy := func(ctx context.Context, _ acpterm.Proposal) acpterm.Decision {
		asked <- ctx.Value(key{})
		if err := ctx.Err(); err != nil {
			return acpterm.Decision{Reason: err.Error()}
		}
		return acpterm.Decision{Verdict: acpterm.VerdictAllow}
	}
	m := hosttest.NewManager(t, &acpterm.Options{Policy: acpterm.PolicyFunc(policy)})
	h := acpterm.NewHandler(m, nil)
	ours, theirs := hosttest.PipePair(t)
	conn := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(ours), handlerFunc(
		func(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
			ctx, cancel := context.WithCancel(context.WithValue(ctx, key{}, req.Method))
			defer cancel()
			h.Handle(ctx, conn, req)
		}))
	a := &hosttest.Agent{T: t, Handler: h, Conn: jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(theirs), hosttest.NoHandler{})}
	first, second := a.Create("sleep"), a.Create("sleep")
	for range 2 {
		require.Equal(t, acpterm.MethodCreate, <-asked)
	}
	for _, id := range []acpterm.TerminalID{first, second} {
		a.Poll(id, "ready")
	}
	_, answer := dispatch(a, "wait", acpterm.MethodWaitForExit, hosttest.Of(first))
	a.MustDo(acpterm.MethodKill, hosttest.Of(first))
	require.NoError(t, answer())
	term, err := m.Terminal("s", second)
	require.NoError(t, err)
	require.Equal(t, acpterm.StateRunning, term.State())
	a.Close()
	<-conn.DisconnectNotify()
	<-term.Done()
	require.NoError(t, h.Close())
	require.Empty(t, m.Terminals())
}

// handlerFunc is a jsonrpc2.Handler.
type handlerFunc func(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request)

func (f handlerFunc) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	f(ctx, conn, req)
}

func TestWireClosingManager(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	a := hosttest.Connect(t, m, nil)
	id := a.Create("sleep")
	wait := a.Begin(acpterm.MethodWaitForExit, hosttest.Of(id))
	a.Poll(id, "ready")
	require.NoError(t, m.Shutdown(t.Context()))
	var result json.RawMessage
	require.NoError(t, wait.Wait(t.Context(), &result))
	require.JSONEq(t, exit("null", `"`+hosttest.KilledBy()+`"`, "released"), string(result))
	_, err := a.Do(acpterm.MethodCreate, hosttest.ChildRequest("sleep"))
	a.Failed(err, -32800, `{"kind":"closing","sessionId":"s"}`)
}

// With another JSON-RPC library, Dispatch does the work and ResponseError converts the errors.
func TestDispatch(t *testing.T) {
	hook, events := hosttest.Record()
	h := acpterm.NewHandler(hosttest.NewManager(t, nil, hook), nil)
	createParams, err := json.Marshal(hosttest.ChildRequest("print", "x"))
	require.NoError(t, err)
	params := createParams
	result, err := h.Dispatch(t.Context(), acpterm.MethodCreate, params)
	require.NoError(t, err)
	created := result.(acpterm.CreateTerminalResponse)
	params, err = json.Marshal(hosttest.Of(created.TerminalID))
	require.NoError(t, err)
	result, err = h.Dispatch(t.Context(), acpterm.MethodWaitForExit, params)
	require.NoError(t, err)
	require.Equal(t, acpterm.TerminalExitStatus{ExitCode: new(uint32), Meta: hosttest.EndedBy("finished")}, result)

	_, err = h.Dispatch(t.Context(), "session/new", nil)
	require.ErrorIs(t, err, acpterm.ErrMethodNotFound)
	require.Equal(t, int64(-32601), acpterm.ResponseError(err).Code)
	require.Equal(t, int64(-32603), acpterm.ResponseError(io.ErrUnexpectedEOF).Code)
	require.Nil(t, acpterm.ResponseError(nil))
	require.NoError(t, h.Close())
	hosttest.Ended(t, events)
	require.IsType(t, &acpterm.ReleaseEvent{}, <-events)
	_, err = h.Dispatch(t.Context(), acpterm.MethodCreate, createParams)
	require.ErrorIs(t, err, acpterm.ErrClosing)
	require.Empty(t, events, "nothing was even decided on")
}

// FuzzHandlerParams checks that any params get an answer, without a panic, and that an error has one of the codes.
func FuzzHandlerParams(f *testing.F) {
	for _, seed := range []string{
		`null`, `{}`, `[]`, `{"sessionId":"s","terminalId":"term_x"}`, `{"sessionId":"s","command":"/no/such"}`,
		`{"sessionId":"s","command":"no such","args":["x"],"env":[{"name":"A","value":"1"}],"cwd":"/","outputByteLimit":1e3,"_meta":{"a":[1]}}`,
		`{"sessionId":"s","command":"x","cwd":"\u0000","env":[{"name":"=","value":null}]}`,
	} {
		for method := range 5 {
			f.Add(uint8(method), []byte(seed))
		}
	}
	// Without PATH and a shell, no invented command runs.
	m := hosttest.NewManager(f, &acpterm.Options{
		Commands: acpterm.CommandOptions{Env: []string{}, ShellLines: acpterm.ShellNever, Dir: f.TempDir()},
	})
	h := acpterm.NewHandler(m, nil)
	methods := []string{acpterm.MethodCreate, acpterm.MethodOutput, acpterm.MethodWaitForExit, acpterm.MethodKill, acpterm.MethodRelease}
	f.Fuzz(func(t *testing.T, method uint8, params []byte) {
		var req acpterm.CreateTerminalRequest
		if json.Unmarshal(params, &req) == nil && strings.Contains(req.Command, "/") {
			t.Skip("a path could name a program")
		}
		_, err := h.Dispatch(t.Context(), methods[int(method)%len(methods)], params)
		require.Error(t, err)
		e := acpterm.ResponseError(err)
		require.Contains(t, []int64{-32602, -32002}, e.Code, e.Message)
		require.True(t, json.Valid(*e.Data))
	})
}

// After Close, each way to a Handler refuses every method with the same error, even the release of a terminal that
// Close has released.
func TestAClosedHandlerRefusesEveryMethod(t *testing.T) {
	for _, way := range []string{"Filter", "Handle"} {
		t.Run(way, func(t *testing.T) {
			client, agentEnd := hosttest.PipePair(t)
			h := acpterm.NewHandler(hosttest.NewManager(t, nil), nil)
			if way == "Filter" {
				client = h.Filter(t.Context(), client)
			}
			conn := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(client), h)
			agent := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(agentEnd), hosttest.NoHandler{})
			t.Cleanup(func() {
				agent.Close()
				<-conn.DisconnectNotify()
			})
			var created acpterm.CreateTerminalResponse
			require.NoError(t, agent.Call(t.Context(), acpterm.MethodCreate, hosttest.ChildRequest("exit", "0"), &created))
			require.NoError(t, h.Close())
			for method, params := range map[string]any{
				acpterm.MethodCreate:      hosttest.ChildRequest("exit", "0"),
				acpterm.MethodOutput:      hosttest.Of(created.TerminalID),
				acpterm.MethodWaitForExit: hosttest.Of(created.TerminalID),
				acpterm.MethodKill:        hosttest.Of(created.TerminalID),
				acpterm.MethodRelease:     hosttest.Of(created.TerminalID),
			} {
				encoded, err := json.Marshal(params)
				require.NoError(t, err)
				_, err = h.Dispatch(t.Context(), method, encoded)
				require.ErrorIs(t, err, acpterm.ErrClosing, method)
				dispatched := acpterm.ResponseError(err)
				require.EqualValues(t, -32800, dispatched.Code, method)
				var answered *jsonrpc2.Error
				require.ErrorAs(t, agent.Call(t.Context(), method, params, nil), &answered, method)
				require.Equal(t, dispatched, answered, method)
			}
		})
	}
}

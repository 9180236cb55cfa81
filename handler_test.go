package acpterm_test

// The wire contract: an agent at the other end of a real jsonrpc2 connection over real pipes.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

// exit is an exit status on the wire: both keys always there, and what ended the command.
func exit(code, signal, by string) string {
	return fmt.Sprintf(`{"exitCode":%s,"signal":%s,"_meta":{"acpterm":{"endedBy":%q}}}`, code, signal, by)
}

func endedBy(by acpterm.EndedBy) acpterm.Meta {
	return acpterm.Meta{"acpterm": json.RawMessage(fmt.Sprintf(`{"endedBy":%q}`, by))}
}

func TestWireLifeOfATerminal(t *testing.T) {
	a := connect(t, newManager(t, nil), nil)
	result := a.mustCall(acpterm.MethodCreate, childRequest("print", "one é\n"))
	var created map[string]acpterm.TerminalID
	require.NoError(t, json.Unmarshal(result, &created))
	id := created["terminalId"]
	require.Len(t, created, 1)
	require.Regexp(t, `^term_[0-9A-HJKMNP-TV-Z]{26}$`, id)

	require.JSONEq(t, exit("0", "null", "finished"), string(a.mustCall(acpterm.MethodWaitForExit, of(id))))
	require.JSONEq(t, `{"output":"one é\n","truncated":false,"exitStatus":`+exit("0", "null", "finished")+`}`,
		string(a.mustCall(acpterm.MethodOutput, of(id))))
	require.JSONEq(t, `{}`, string(a.mustCall(acpterm.MethodKill, of(id))), "killing what has ended")
	require.JSONEq(t, `{}`, string(a.mustCall(acpterm.MethodRelease, of(id))))
	require.JSONEq(t, `{}`, string(a.mustCall(acpterm.MethodRelease, of(id))), "a second time")
	for _, method := range []string{acpterm.MethodOutput, acpterm.MethodWaitForExit, acpterm.MethodKill} {
		_, err := a.call(method, of(id))
		a.failed(err, -32002, fmt.Sprintf(`{"kind":"terminal_not_found","sessionId":"s","terminalId":%q}`, id))
	}
}

// Polls show what Terminal.Output does, of long output, too.
func TestWireOutputIsThatOfTheTerminal(t *testing.T) {
	m := newManager(t, nil)
	a := connect(t, m, nil)
	for _, limit := range []uint64{1000, 20_000, 1 << 20} {
		req := childRequest("alternate", "10000")
		req.OutputByteLimit = &limit
		id := a.createRequest(req)
		a.poll(id, "99\n")
		a.mustCall(acpterm.MethodWaitForExit, of(id))
		term, err := m.Terminal("s", id)
		require.NoError(t, err)
		require.Equal(t, term.Output(), a.output(id))
		require.Equal(t, term.Output(), a.output(id), "once more")
	}
}

// Every way to answer a poll sends all fields of TerminalOutputResponse. A field that this test finds empty is one that
// Terminal.Output does not set.
func TestWireOutputHasEveryField(t *testing.T) {
	ways := map[string]func(*testing.T, *acpterm.Handler, io.ReadWriteCloser){
		"Handle": func(t *testing.T, h *acpterm.Handler, conn io.ReadWriteCloser) {
			jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(conn), h)
		},
		"Filter": func(t *testing.T, h *acpterm.Handler, conn io.ReadWriteCloser) {
			go io.Copy(io.Discard, h.Filter(t.Context(), conn))
		},
	}
	m := newManager(t, nil)
	for name, size := range map[string]int{"short": 100, "long": 10_000} {
		req := childRequest("print", strings.Repeat("x", size))
		req.OutputByteLimit = new(uint64(size - 1))
		req.AskForHead(10)
		term := finish(t, m, req)
		out := term.Output()
		for _, field := range reflect.VisibleFields(reflect.TypeOf(out)) {
			require.NotZero(t, reflect.ValueOf(out).FieldByIndex(field.Index).Interface(), field.Name)
		}
		want, err := json.Marshal(out)
		require.NoError(t, err)
		params, err := json.Marshal(of(term.ID()))
		require.NoError(t, err)

		dispatched, err := acpterm.NewHandler(m, nil).Dispatch(t.Context(), acpterm.MethodOutput, params)
		require.NoError(t, err)
		require.Equal(t, out, dispatched)
		for way, serve := range ways {
			t.Run(name+" by "+way, func(t *testing.T) {
				client, agentEnd := pipePair(t)
				defer agentEnd.Close()
				serve(t, acpterm.NewHandler(m, nil), client)
				_, err := io.WriteString(agentEnd, request("1", acpterm.MethodOutput, of(term.ID()))+"\n")
				require.NoError(t, err)
				var got response
				require.NoError(t, json.NewDecoder(agentEnd).Decode(&got))
				require.JSONEq(t, string(want), string(got.Result))
			})
		}
	}
}

// What is kept of an output's beginning changes no byte of a poll's answer, unless the agent has asked for it.
func TestWireOutputWithItsHead(t *testing.T) {
	printed := strings.Repeat("(é)\x01\n", 1500)
	limits := []uint64{0, 10, 100, 5000, 20_000} // shorter and longer than what is escaped once
	polled := func(a *agent, limit uint64, ask int64) (acpterm.TerminalID, string) {
		req := childRequest("print", printed)
		req.OutputByteLimit = &limit
		if ask > 0 {
			req.AskForHead(ask)
		}
		id := a.createRequest(req)
		a.mustCall(acpterm.MethodWaitForExit, of(id))
		return id, string(a.mustCall(acpterm.MethodOutput, of(id)))
	}
	var want []string
	t.Run("without", func(t *testing.T) {
		a := connect(t, newManager(t, nil), nil)
		for _, limit := range limits {
			_, reply := polled(a, limit, 0)
			want = append(want, reply)
		}
	})
	m := newManager(t, &acpterm.Options{HeadBytes: 5000})
	a := connect(t, m, nil)
	for i, limit := range limits {
		_, reply := polled(a, limit, 0)
		require.Equal(t, want[i], reply)

		id, reply := polled(a, limit, 4)
		out := a.output(id)
		term, err := m.Terminal("s", id)
		require.NoError(t, err)
		require.Equal(t, term.Output(), out)
		start := int64(len(printed) - len(out.Output))
		require.Equal(t, &acpterm.OutputHead{Text: "(é)", End: 4, OutputStart: start}, out.Head())
		meta := fmt.Sprintf(`,"_meta":{"acpterm":{"head":"(é)","headEnd":4,"outputStart":%d}}}`, start)
		require.Equal(t, strings.TrimSuffix(want[i], "}")+meta, reply, "nothing else is added")
	}
}

// A head that a response has not, or has as something else, is none.
func TestHeadOfResponses(t *testing.T) {
	for _, meta := range []string{
		`{}`, `{"acpterm":null}`, `{"acpterm":[]}`, `{"acpterm":{"headEnd":3}}`, `{"acpterm":{"head":7}}`,
		`{"acpterm":{"head":"x","headEnd":"y"}}`, `{"acpterm":{"head":null,"headEnd":3,"outputStart":9}}`,
	} {
		var out acpterm.TerminalOutputResponse
		require.NoError(t, json.Unmarshal([]byte(`{"output":"","truncated":false,"_meta":`+meta+`}`), &out))
		require.Nil(t, out.Head(), meta)
	}
	req := acpterm.CreateTerminalRequest{Meta: acpterm.Meta{"x": json.RawMessage("1")}}
	asking := req
	asking.AskForHead(7)
	require.Len(t, req.Meta, 1, "a copy of the request is another one")
	require.Equal(t, acpterm.Meta{"x": json.RawMessage("1"), "acpterm": json.RawMessage(`{"headBytes":7}`)}, asking.Meta)
}

// A pending wait blocks neither outputs nor other terminals nor the kill that ends it.
func TestWireKillEndsAPendingWait(t *testing.T) {
	a := connect(t, newManager(t, nil), nil)
	id := a.create("sleep")
	waited := make(chan string, 20)
	for range 20 {
		wait := a.begin(acpterm.MethodWaitForExit, of(id))
		go func() {
			var result json.RawMessage
			wait.Wait(context.Background(), &result)
			waited <- string(result)
		}()
	}
	a.poll(id, "ready\n")
	require.JSONEq(t, `{"output":"ready\n","truncated":false}`, string(a.mustCall(acpterm.MethodOutput, of(id))))
	other := a.create("exit", "3")
	require.JSONEq(t, exit("3", "null", "finished"), string(a.mustCall(acpterm.MethodWaitForExit, of(other))))
	require.Empty(t, waited)
	require.JSONEq(t, `{}`, string(a.mustCall(acpterm.MethodKill, of(id))))
	for range 20 {
		require.JSONEq(t, exit("null", `"`+killedBy()+`"`, "killed"), <-waited)
	}
	require.Equal(t, "ready\n", a.output(id).Output, "the id stays valid")
}

func TestWireReleaseEndsAPendingWait(t *testing.T) {
	a := connect(t, newManager(t, nil), nil)
	id := a.createReady("sleep")
	wait := a.begin(acpterm.MethodWaitForExit, of(id))
	require.JSONEq(t, `{}`, string(a.mustCall(acpterm.MethodRelease, of(id))))
	var result json.RawMessage
	require.NoError(t, wait.Wait(t.Context(), &result))
	require.JSONEq(t, exit("null", `"`+killedBy()+`"`, "released"), string(result))
}

// Agents release while their kill is pending. Both are answered, and the command has its grace all the same.
func TestWireReleaseWhileAKillIsPending(t *testing.T) {
	leaktest.NeedsAsking(t)
	m := newManager(t, nil)
	a := connect(t, m, nil)
	id := a.createReady("polite")
	term, err := m.Terminal("s", id)
	require.NoError(t, err)
	kill := a.begin(acpterm.MethodKill, of(id))
	require.JSONEq(t, `{}`, string(a.mustCall(acpterm.MethodRelease, of(id))))
	require.NoError(t, ignoreNotFound(kill.Wait(t.Context(), nil)))
	require.Equal(t, "ready\nbye\n", term.Output().Output)
}

// ignoreNotFound lets a kill pass that was served after the release.
func ignoreNotFound(err error) error {
	if e, ok := errors.AsType[*jsonrpc2.Error](err); ok && e.Code == acpterm.CodeResourceNotFound {
		return nil
	}
	return err
}

func TestWireSecondKillForces(t *testing.T) {
	m := newManager(t, &acpterm.Options{Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: time.Hour}}})
	a := connect(t, m, nil)
	id := a.createReady("stubborn")
	first := a.begin(acpterm.MethodKill, of(id))
	require.JSONEq(t, `{}`, string(a.mustCall(acpterm.MethodKill, of(id))))
	require.NoError(t, first.Wait(t.Context(), nil))
	require.Equal(t, "SIGKILL", *a.output(id).ExitStatus.Signal)
}

func TestWireParamsOfCreate(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	m := newManager(t, &acpterm.Options{Env: []string{"KEPT=base", "CHANGED=base", "GORACE=atexit_sleep_ms=0"}, Dir: dir})
	a := connect(t, m, nil)
	argv := childArgs("environ")
	id := a.createRequest(object{
		"sessionId": "s", "command": argv[0], "args": argv[1:], "cwd": dir, "outputByteLimit": nil, "_meta": object{"x": 1},
		"env": []object{{"name": "CHANGED", "value": "1"}, {"name": "NEW", "value": "a=b"}, {"name": "CHANGED", "value": "2"}},
	})
	a.mustCall(acpterm.MethodWaitForExit, of(id))
	lines := strings.Split(a.output(id).Output, "\n")
	require.Subset(t, lines, []string{"KEPT=base", "CHANGED=2", "NEW=a=b"})
	if runtime.GOOS != "windows" {
		require.Contains(t, lines, "PWD="+dir)
	}
	require.NotContains(t, lines, "CHANGED=1")
	require.NotContains(t, lines, "CHANGED=base")

	argv = childArgs("pwd")
	for _, params := range []object{
		{"sessionId": "s", "command": argv[0], "args": argv[1:], "cwd": dir},
		{"sessionId": "s", "command": argv[0], "args": argv[1:], "cwd": nil, "env": nil}, // Options.Dir
	} {
		id = a.createRequest(params)
		a.mustCall(acpterm.MethodWaitForExit, of(id))
		require.Equal(t, dir+"\n", a.output(id).Output)
	}

	for limit, want := range map[string]string{"0": "", "3": "✓", "18446744073709551615": "é✓", "null": "é✓"} {
		argv = childArgs("print", "é✓")
		id = a.createRequest(object{"sessionId": "s", "command": argv[0], "args": argv[1:], "outputByteLimit": json.RawMessage(limit)})
		a.mustCall(acpterm.MethodWaitForExit, of(id))
		out := a.output(id)
		require.Equal(t, want, out.Output, "limit %s", limit)
		require.Equal(t, want != "é✓", out.Truncated, "limit %s", limit)
	}
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

func TestWireNextGetsEverythingElse(t *testing.T) {
	next := &recorder{}
	a := connect(t, newManager(t, nil), &acpterm.HandlerOptions{Next: next})
	require.NoError(t, a.Notify(t.Context(), "session/update", object{}))
	require.NoError(t, a.Notify(t.Context(), acpterm.MethodCancelRequest, object{"requestId": 4711}), "not one of ours")
	require.NoError(t, a.Notify(t.Context(), acpterm.MethodCreate, childRequest("sleep")), "nobody could use it")
	require.Equal(t, `"from next"`, string(a.mustCall("fs/read_text_file", object{})))
	require.Equal(t, []string{"session/update", acpterm.MethodCancelRequest, "fs/read_text_file"}, next.seen)
	a.mustCall(acpterm.MethodRelease, of(a.create("sleep")))
}

// Created is called with each terminal. A panic in it fails that create, leaves nothing of it, and is logged with its
// stack.
func TestWireCreatedThatPanics(t *testing.T) {
	log := captureLog(t)
	m := newManager(t, nil)
	var created []*acpterm.Terminal
	options := &acpterm.HandlerOptions{Created: func(term *acpterm.Terminal) {
		created = append(created, term)
		if term.Request().Args[1] == "stubborn" {
			panic("a mistake of the host's")
		}
	}}
	a := connect(t, m, options)
	_, err := a.call(acpterm.MethodCreate, childRequest("stubborn"))
	a.failed(err, -32603, `{"kind":"internal","reason":"the host's Created function panicked","sessionId":"s"}`)
	require.Contains(t, log.String(), "a mistake of the host's")
	require.Contains(t, log.String(), "TestWireCreatedThatPanics")
	params, err := json.Marshal(childRequest("stubborn"))
	require.NoError(t, err)
	_, err = a.handler.Dispatch(t.Context(), acpterm.MethodCreate, params)
	require.ErrorIs(t, err, acpterm.ErrInternal)
	require.Empty(t, m.Terminals())
	require.Len(t, created, 2)
	for _, term := range created {
		require.Equal(t, acpterm.EndedByRelease, term.EndedBy())
	}
	require.Equal(t, a.create("sleep"), created[2].ID())
}

// dispatch sends a request with an id of its own, and returns how to cancel it and how to get its answer.
func (a *agent) dispatch(id, method string, params any) (cancel func(), answer func() error) {
	a.t.Helper()
	call, err := a.DispatchCall(a.t.Context(), method, params, jsonrpc2.PickID(jsonrpc2.ID{Str: id, IsString: true}))
	require.NoError(a.t, err)
	return func() {
		require.NoError(a.t, a.Notify(a.t.Context(), acpterm.MethodCancelRequest, object{"requestId": id}))
	}, func() error { return call.Wait(a.t.Context(), nil) }
}

func TestWireCancelledWaitLeavesTheTerminalAlone(t *testing.T) {
	a := connect(t, newManager(t, nil), nil)
	id := a.createReady("polite")
	cancel, answer := a.dispatch("w1", acpterm.MethodWaitForExit, of(id))
	_, other := a.dispatch("w2", acpterm.MethodWaitForExit, of(id))
	cancel()
	a.failed(answer(), -32800, `{"kind":"cancelled"}`)
	cancel() // of what is answered: ignored
	require.Nil(t, a.output(id).ExitStatus)
	a.mustCall(acpterm.MethodKill, of(id))
	require.NoError(t, other())
}

// A create that is cancelled before its reply leaves nothing running. Created holds it up until the cancel
// has been read.
func TestWireCancelledCreateLeavesNothing(t *testing.T) {
	m := newManager(t, nil)
	created, goOn := make(chan *acpterm.Terminal), make(chan struct{})
	a := connect(t, m, &acpterm.HandlerOptions{Created: func(term *acpterm.Terminal) { created <- term; <-goOn }})
	cancel, answer := a.dispatch("c1", acpterm.MethodCreate, childRequest("stubborn"))
	term := <-created
	cancel()
	_, err := a.call("no/such", nil) // answered, so the cancel before it was read
	require.Error(t, err)
	close(goOn)
	a.failed(answer(), -32800, `{"kind":"cancelled"}`)
	require.Empty(t, m.Terminals())
	require.Equal(t, acpterm.EndedByRelease, term.EndedBy())
}

// Law 5 for a connection: what came through it goes with it, and nothing else does.
func TestWireDisconnectReleasesWhatCameThroughIt(t *testing.T) {
	m := newManager(t, nil)
	mine := create(t, m, childRequest("sleep"))
	a, b := connect(t, m, nil), connect(t, m, nil)
	gone, stays := a.create("sleep"), b.create("sleep")
	b.poll(gone, "ready") // the same session on another connection
	term, err := m.Terminal("s", gone)
	require.NoError(t, err)
	wait := a.begin(acpterm.MethodWaitForExit, of(gone))

	a.Close()
	<-term.Done()
	require.ErrorIs(t, wait.Wait(t.Context(), nil), jsonrpc2.ErrClosed)
	require.NoError(t, a.handler.Close(), "waits for the releases that the disconnect began")
	require.Equal(t, acpterm.EndedByRelease, term.EndedBy())
	_, err = b.call(acpterm.MethodOutput, of(gone))
	b.failed(err, -32002, fmt.Sprintf(`{"kind":"terminal_not_found","sessionId":"s","terminalId":%q}`, gone))
	b.poll(stays, "ready")
	require.Equal(t, acpterm.StateRunning, mine.State())
}

// A handler around this one may give each request a context that ends when Handle returns. The values count; its end
// does not, and the connection's does.
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
	m := newManager(t, &acpterm.Options{Policy: acpterm.PolicyFunc(policy)})
	h := acpterm.NewHandler(m, nil)
	ours, theirs := pipePair(t)
	conn := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(ours), handlerFunc(
		func(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
			ctx, cancel := context.WithCancel(context.WithValue(ctx, key{}, req.Method))
			defer cancel()
			h.Handle(ctx, conn, req)
		}))
	a := &agent{t: t, handler: h, Conn: jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(theirs), noHandler{})}
	first, second := a.create("sleep"), a.create("sleep")
	for range 2 {
		require.Equal(t, acpterm.MethodCreate, <-asked)
	}
	for _, id := range []acpterm.TerminalID{first, second} {
		a.poll(id, "ready")
	}
	_, answer := a.dispatch("wait", acpterm.MethodWaitForExit, of(first))
	a.mustCall(acpterm.MethodKill, of(first))
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
	m := newManager(t, nil)
	a := connect(t, m, nil)
	id := a.create("sleep")
	wait := a.begin(acpterm.MethodWaitForExit, of(id))
	a.poll(id, "ready")
	require.NoError(t, m.Shutdown(t.Context()))
	var result json.RawMessage
	require.NoError(t, wait.Wait(t.Context(), &result))
	require.JSONEq(t, exit("null", `"`+killedBy()+`"`, "closing"), string(result))
	_, err := a.call(acpterm.MethodCreate, childRequest("sleep"))
	a.failed(err, -32800, `{"kind":"closing","sessionId":"s"}`)
}

// With another JSON-RPC library, Dispatch does the work and ResponseError names the errors.
func TestDispatch(t *testing.T) {
	hook, events := record()
	h := acpterm.NewHandler(newManager(t, &acpterm.Options{Events: hook}), nil)
	createParams, err := json.Marshal(childRequest("print", "x"))
	require.NoError(t, err)
	params := createParams
	result, err := h.Dispatch(t.Context(), acpterm.MethodCreate, params)
	require.NoError(t, err)
	created := result.(acpterm.CreateTerminalResponse)
	params, err = json.Marshal(of(created.TerminalID))
	require.NoError(t, err)
	result, err = h.Dispatch(t.Context(), acpterm.MethodWaitForExit, params)
	require.NoError(t, err)
	require.Equal(t, acpterm.TerminalExitStatus{ExitCode: new(uint32), Meta: endedBy("finished")}, result)

	_, err = h.Dispatch(t.Context(), "session/new", nil)
	require.ErrorIs(t, err, acpterm.ErrMethodNotFound)
	require.Equal(t, int64(-32601), acpterm.ResponseError(err).Code)
	require.Equal(t, int64(-32603), acpterm.ResponseError(io.ErrUnexpectedEOF).Code)
	require.Nil(t, acpterm.ResponseError(nil))
	require.NoError(t, h.Close())
	_, err = h.Dispatch(t.Context(), acpterm.MethodOutput, params)
	require.ErrorIs(t, err, acpterm.ErrTerminalNotFound, "Close released it")
	ended(t, events)
	require.IsType(t, &acpterm.ReleaseEvent{}, <-events)
	_, err = h.Dispatch(t.Context(), acpterm.MethodCreate, createParams)
	require.ErrorIs(t, err, acpterm.ErrClosing)
	require.Empty(t, events, "nothing was even decided on")
}

// FuzzHandlerParams: whatever the params are, there is an answer, no panic, and an error has one of the codes.
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
	// No PATH and no shell: nothing that is made up here runs.
	m := newManager(f, &acpterm.Options{Env: []string{}, ShellLines: acpterm.ShellNever, Dir: f.TempDir()})
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

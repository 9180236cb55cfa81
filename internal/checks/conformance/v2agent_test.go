package conformance

// The agent of testdata/tsagent/v2agent.mjs, made from the official TypeScript SDK's ACP v2. It reports its own
// terminals, and each update says which state a client must then hold. All messages about terminals are checked against
// the schema, in both directions.

import (
	"context"
	"encoding/json"
	"regexp"
	"sync"
	"testing"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/internal/leaktest"
)

// step is a session/update, with the state that acpterm must hold after it.
type step struct {
	Update json.RawMessage
	Meta   struct {
		Step string
		Want map[acpterm.TerminalID]held
	} `json:"_meta"`

	infos   map[acpterm.TerminalID]acpterm.TerminalInfo
	outputs map[acpterm.TerminalID]string
}

// v2Agent is a client with the agent.
type v2Agent struct {
	t       *testing.T
	manager *acpterm.Manager
	conn    *jsonrpc2.Conn
	steps   chan step
	ends    map[acpterm.TerminalID]heldExit // the first known exit of each terminal

	mu             sync.Mutex
	created        []*acpterm.Terminal
	sent, received []message // by the client

	cancels chan message // sent terminal/cancel requests
	answers chan message // the received answers to them
}

// startV2Agent starts the agent and initializes it. At the end of the test it checks the exit of the process and all
// messages.
func startV2Agent(t *testing.T) *v2Agent {
	t.Helper()
	a := &v2Agent{
		t: t, steps: make(chan step, 4096), ends: make(map[acpterm.TerminalID]heldExit),
		cancels: make(chan message, 16), answers: make(chan message, 16),
	}
	a.manager = must(acpterm.NewManager(nil))
	t.Cleanup(func() {
		require.NoError(t, a.manager.Close())
		code := regexp.MustCompile(`acpterm/acpterm\.|sourcegraph/jsonrpc2\.`)
		require.Empty(t, leaktest.Stacks(code.MatchString), "goroutines are left")
		a.requireValid()
	})
	h := acpterm.NewHandler(a.manager, &acpterm.HandlerOptions{
		Created: func(term *acpterm.Terminal) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.created = append(a.created, term)
		},
	})
	next := agentterm.New(h, nil).Handler(jsonrpc2.HandlerWithError(a.next))
	a.conn = serveProgram(t, h, next, a.take, a.give, "v2agent.mjs")
	initializeV2(t, a.conn)
	var session struct{ SessionID string }
	require.NoError(t, a.conn.Call(t.Context(), "session/new", map[string]any{"cwd": t.TempDir()}, &session))
	require.Equal(t, "s1", session.SessionID)
	return a
}

// initializeV2 requests version 2 as ACP v2 does, without mentioning terminals.
func initializeV2(t *testing.T, conn *jsonrpc2.Conn) {
	t.Helper()
	var answer struct{ ProtocolVersion int }
	require.NoError(t, conn.Call(t.Context(), "initialize", map[string]any{
		"protocolVersion": 2, "info": map[string]string{"name": "acpterm", "version": "0"}, "capabilities": struct{}{},
	}, &answer))
	require.Equal(t, 2, answer.ProtocolVersion)
}

// next handles the messages that acpterm does not answer. It runs when acpterm has applied an update.
func (a *v2Agent) next(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	var s step
	if err := json.Unmarshal(*req.Params, &s); err != nil {
		return nil, err
	}
	s.infos, s.outputs = map[acpterm.TerminalID]acpterm.TerminalInfo{}, map[acpterm.TerminalID]string{}
	for _, term := range a.manager.Terminals() {
		s.infos[term.ID()], s.outputs[term.ID()] = term.Info(), term.Output().Output
	}
	a.steps <- s
	return nil, nil
}

func (a *v2Agent) give(m message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sent = append(a.sent, m); m.Method == "terminal/cancel" {
		a.cancels <- m
	}
}

func (a *v2Agent) take(m message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.received = append(a.received, m)
	for _, request := range a.sent {
		if m.Method == "" && request.Method == "terminal/cancel" && string(request.ID) == string(m.ID) {
			a.answers <- m
		}
	}
}

// requireValid checks all messages about terminals against the schema.
func (a *v2Agent) requireValid() {
	s := loadSchemaFile(a.t, "terminal.v2.json")
	a.mu.Lock()
	defer a.mu.Unlock()
	cancels := map[string]bool{}
	for _, m := range a.sent {
		require.Equal(a.t, "2.0", m.JSONRPC)
		if m.Method == "terminal/cancel" {
			cancels[string(m.ID)] = true
			require.NoError(a.t, s.validate(a.t, "RequestId", m.ID))
			require.NoError(a.t, s.validate(a.t, "CancelTerminalRequest", m.Params), "%s", m.raw)
			members := keys(parse(a.t, m.raw).(map[string]any))
			require.ElementsMatch(a.t, []string{"jsonrpc", "id", "method", "params"}, members)
		}
	}
	updates := 0
	for _, m := range a.received {
		switch {
		case m.Method == "session/update":
			updates++
			require.NoError(a.t, s.validate(a.t, "UpdateSessionNotification", m.Params), "%s", m.raw)
		case cancels[string(m.ID)] && m.Error != nil:
			require.NoError(a.t, s.validate(a.t, "Error", m.Error), "%s", m.raw)
		case cancels[string(m.ID)]:
			require.NoError(a.t, s.validate(a.t, "CancelTerminalResponse", m.Result), "%s", m.raw)
		}
	}
	a.t.Logf("validated: %d session/update, %d terminal/cancel", updates, len(cancels))
}

// play makes the agent play a scenario, compares each of its steps with acpterm's state, and returns the steps.
func (a *v2Agent) play(scenario string) map[string]step {
	a.t.Helper()
	require.NoError(a.t, a.conn.Call(a.t.Context(), "session/prompt", map[string]any{
		"sessionId": "s1", "prompt": []any{map[string]string{"type": "text", "text": scenario}},
	}, nil))
	all := map[string]step{}
	for s := a.step(); s.Meta.Step != "over"; s = a.step() {
		all[s.Meta.Step] = s
	}
	require.Greater(a.t, len(all), 5)
	return all
}

// step returns the next step after checking it.
func (a *v2Agent) step() (s step) {
	a.t.Helper()
	select {
	case s = <-a.steps:
	case <-a.conn.DisconnectNotify():
		require.Fail(a.t, "the agent is gone")
	}
	require.Len(a.t, s.infos, len(s.Meta.Want), s.Meta.Step)
	for id, want := range s.Meta.Want {
		if end, ended := a.ends[id]; ended { // the SDK keeps the last exit, and acpterm the first known one
			want.ExitStatus = &end
		} else if end := want.ExitStatus; end != nil && *end != (heldExit{}) {
			a.ends[id] = *end
		}
		requireHeld(a.t, want, s.infos[id], s.outputs[id], s.Meta.Step+": "+string(s.Update))
	}
	return s
}

// call calls one of the agent's own methods.
func (a *v2Agent) call(method string, result any) {
	a.t.Helper()
	require.NoError(a.t, a.conn.Call(a.t.Context(), method, struct{}{}, result))
}

// methods returns the methods of the requests received by the agent, except its own methods.
func (a *v2Agent) methods() (methods []string) {
	a.t.Helper()
	var all struct{ Received []message }
	a.call("_acpterm/received", &all)
	for _, m := range all.Received {
		if m.Method != "_acpterm/received" {
			methods = append(methods, m.Method)
		}
	}
	return methods
}

func TestV2AgentReportsTerminals(t *testing.T) {
	for scenario, shown := range map[string]map[string]map[acpterm.TerminalID]string{
		"fields": {"output 0": {"t": "one"}, "output absent after 0": {"t": "one"}, "output null": {"t": ""}},
		"ends":   {"runs 3": {"e3": ""}, "output after 3": {"e3": "late"}},
		"emoji": {
			"byte 0": {"t": ""}, "byte 2": {"t": ""}, "byte 3": {"t": "😀"}, "half": {"t": "😀"},
			"no half": {"t": "😀\uFFFD\uFFFDx\uFFFD"}, "end": {"t": "😀\uFFFD\uFFFDx\uFFFD\uFFFD\uFFFD"},
		},
		"snapshots": {
			"that goes on": {"t": "one\ntwo\n"}, "that is shorter": {"t": "two\n"}, "chunk after it": {"t": "two\nthree\n"},
			"within a character": {"t": "a"}, "the rest of the character": {"t": "a✓"}, "cleared": {"t": ""},
			"chunk after null": {"t": "four"}, "empty": {"t": ""}, "with all else": {"t": "six"},
			"after the end": {"t": "seven"},
		},
		"references":       {"still writes": {"a": "a", "b": "b"}},
		"several":          {"end b": {"a": pieces("a"), "b": pieces("b")}, "c goes on": {"c": pieces("c") + "on"}},
		"random 1 400":     nil,
		"random 20261 400": nil,
	} {
		t.Run(scenario, func(t *testing.T) {
			a := startV2Agent(t)
			steps := a.play(scenario)
			for name, texts := range shown {
				require.Contains(t, steps, name)
				for id, text := range texts {
					require.Equal(t, text, steps[name].outputs[id], name)
				}
			}
			require.Len(t, a.created, len(a.manager.Terminals()), "each was told once")
			require.Equal(t, []string{"initialize", "session/new", "session/prompt"}, a.methods())
		})
	}
}

func pieces(id string) (text string) {
	for n := range 10 {
		text += id + string(rune('0'+n)) + "\n"
	}
	return text
}

func TestV2AgentCancels(t *testing.T) {
	a := startV2Agent(t)
	a.play("cancels")
	kill := func(id acpterm.TerminalID) error {
		return must(a.manager.Terminal("s1", id)).Kill(t.Context())
	}
	state := func(id acpterm.TerminalID) acpterm.State { return must(a.manager.Terminal("s1", id)).State() }

	// Nothing is sent for a terminal that cannot be cancelled.
	for _, id := range []acpterm.TerminalID{"plain", "offered"} {
		require.ErrorIs(t, kill(id), acpterm.ErrNotCancellable)
		require.Equal(t, acpterm.StateRunning, state(id))
	}
	require.Equal(t, []string{"initialize", "session/new", "session/prompt"}, a.methods())

	// The answer is not the end: Kill waits for the end.
	killed := make(chan error, 1)
	go func() { killed <- kill("held") }()
	require.JSONEq(t, `{"sessionId":"s1","terminalId":"held"}`, string((<-a.cancels).Params))
	require.JSONEq(t, `{}`, string((<-a.answers).Result))
	require.Contains(t, a.methods(), "terminal/cancel") // its answer is read after that of the cancel
	require.Empty(t, killed)
	require.Equal(t, acpterm.StateRunning, state("held"))
	a.call("_acpterm/end", nil)
	require.NoError(t, <-killed)
	require.Equal(t, acpterm.EndedByKill, must(a.manager.Terminal("s1", "held")).EndedBy())
	require.Equal(t, "signal SIGTERM", must(a.manager.Terminal("s1", "held")).ExitStatus().String())

	// The end may come before the answer, whatever the answer is.
	require.NoError(t, kill("ends before the answer"))
	require.NotNil(t, (<-a.answers).Result)
	require.NoError(t, kill("ends by itself"))
	require.Contains(t, string((<-a.answers).Error), "-32602")
	require.Equal(t, "exit code 0", must(a.manager.Terminal("s1", "ends by itself")).ExitStatus().String())

	err := kill("refused")
	require.ErrorIs(t, err, acpterm.ErrNotCancellable)
	var refused *jsonrpc2.Error
	require.ErrorAs(t, err, &refused)
	require.EqualValues(t, jsonrpc2.CodeInvalidParams, refused.Code)
	require.Equal(t, acpterm.StateRunning, state("refused"))
	require.Len(t, a.methods(), 3+4+1) // four cancels, and the requested end
}

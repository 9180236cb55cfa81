package acpsdk_test

// Tests of Options.AgentTerminals: the updates of real adapters, over a connection of the SDK.

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acpsdk"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/signin"
	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
)

// open makes the agent open a session, and send updates together with the answer.
func (a *rawAgent) open(session string, updates ...json.RawMessage) {
	a.t.Helper()
	id, done := a.newSession("/")
	a.write(append([]string{sessionLine(id, session)}, updateLines(session, updates...)...)...)
	require.NoError(a.t, <-done)
}

func updateLines(session string, updates ...json.RawMessage) (lines []string) {
	for _, update := range updates {
		lines = append(lines, fmt.Sprintf(
			`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":%s}}`, session, update))
	}
	return lines
}

// pass returns when the client has read all earlier lines.
func (a *rawAgent) pass() {
	a.t.Helper()
	a.write(`{"jsonrpc":"2.0","id":"pass","method":"_pass"}`)
	require.JSONEq(a.t, `"pass"`, string(a.read().ID))
}

// connectOwner connects a client that shows the agent's terminals.
func connectOwner(t *testing.T, options acpsdk.Options) *rawAgent {
	var a *rawAgent
	options.AgentTerminals = true
	options.NewSession = func(s acpsdk.Session) { a.manager.OpenSession(s.ID, nil) }
	a = connectRaw(t, &options)
	return a
}

func TestAdaptersTraffic(t *testing.T) {
	created := make(chan *acpterm.Terminal, 9)
	a := connectOwner(t, acpsdk.Options{Created: func(term *acpterm.Terminal) { created <- term }})
	for _, c := range hosttest.ReadTraffic(t, "../agentterm/testdata/updates") {
		a.open(c.Name, c.Updates...)
		a.pass()
		for _, sent := range c.Updates { // the SDK receives all of them, in order
			got, err := json.Marshal(<-a.client.updated)
			require.NoError(t, err)
			var want, is struct{ SessionUpdate, ToolCallID string }
			require.NoError(t, json.Unmarshal(sent, &want))
			require.NoError(t, json.Unmarshal(got, &is))
			require.Equal(t, want, is, c.Name)
		}
		if c.Want == nil {
			require.Empty(t, a.manager.SessionTerminals(acpterm.SessionID(c.Name)), c.Name)
			continue
		}
		require.Len(t, created, 1, c.Name)
		term := <-created
		require.Equal(t, acpterm.SessionID(c.Name), term.SessionID())
		require.True(t, term.Attached())
	}
	require.Empty(t, a.client.updated)
	require.Empty(t, created)
}

// The SDK misinterprets unknown updates, so it does not receive v2's terminal updates.
func TestTerminalsOfV2(t *testing.T) {
	a := connectOwner(t, acpsdk.Options{})
	chunk := json.RawMessage(`{"sessionUpdate":"terminal_output_chunk","terminalId":"t1","data":"b25lCg=="}`)
	a.open("s", json.RawMessage(`{"sessionUpdate":"terminal_update","terminalId":"t1","command":"make",`+
		`"capabilities":{"cancel":{}}}`), chunk,
		json.RawMessage(`{"sessionUpdate":"terminal_output_chunk","terminalId":"t1","data":"%"}`), // has no effect
		chunk,
		json.RawMessage(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"made"}}`))
	a.pass()
	term, err := a.manager.Terminal("s", "t1")
	require.NoError(t, err)
	require.Equal(t, "make", term.Command().String())
	require.Equal(t, "one\none\n", term.Output().Output)
	require.Equal(t, "made", (<-a.client.updated).AgentMessageChunk.Content.Text.Text)
	require.Empty(t, a.client.updated)
	require.ErrorIs(t, term.Kill(t.Context()), acpterm.ErrNotCancellable)

	_, err = a.client.TerminalOutput(t.Context(), acp.TerminalOutputRequest{SessionId: "s", TerminalId: "t1"})
	require.Equal(t, acpterm.ErrTerminalNotFound, requireError(t, err, -32002).Kind)
	require.NoError(t, a.client.CloseTerminals(t.Context()))
	require.Empty(t, a.manager.Terminals())
}

// If a client did not ask for the agent's terminals, it does not get any, and the SDK reads all updates.
func TestWithoutAgentTerminals(t *testing.T) {
	var a *rawAgent
	a = connectRaw(t, &acpsdk.Options{NewSession: func(s acpsdk.Session) { a.manager.OpenSession(s.ID, nil) }})
	a.open("s", json.RawMessage(`{"sessionUpdate":"tool_call","toolCallId":"c1","title":"make",`+
		`"_meta":{"terminal_info":{"terminal_id":"c1"}}}`),
		json.RawMessage(`{"sessionUpdate":"terminal_update","terminalId":"t1"}`))
	a.pass()
	require.NotNil(t, (<-a.client.updated).ToolCall)
	<-a.client.updated
	require.Empty(t, a.manager.Terminals())
}

func TestCapabilityAttachedTerminals(t *testing.T) {
	for owns, want := range map[bool]string{
		false: `{"auth":{},"fs":{},"terminal":true}`,
		true:  `{"auth":{},"fs":{},"terminal":true,"_meta":{"terminal_output":true,"terminal_output_delta":true}}`,
	} {
		c := converse(t, settings{terminals: &acpsdk.Options{AgentTerminals: owns}})
		advertised, err := json.Marshal(c.capabilities)
		require.NoError(t, err)
		require.JSONEq(t, want, string(advertised))
	}
	require.Zero(t, new(acpsdk.Terminals).ClientCapabilities())
}

func TestCapabilityOfTerminalAuth(t *testing.T) {
	c := converse(t, settings{terminals: &acpsdk.Options{TerminalAuth: true}})
	advertised, err := json.Marshal(c.capabilities)
	require.NoError(t, err)
	require.JSONEq(t, `{"auth":{"terminal":true},"fs":{},"terminal":true}`, string(advertised))
}

// The SDK's result of initialize, encoded again, contains the sign-in methods.
func TestMethodsOfSigningInOfTheSDK(t *testing.T) {
	const result = `{"protocolVersion":1,"authMethods":[{"id":"browser","name":"Browser"},` +
		`{"id":"shell","name":"Shell","type":"terminal","args":["--login"],"env":{"A":"1"}}]}`
	var response acp.InitializeResponse
	require.NoError(t, json.Unmarshal([]byte(result), &response))
	written, err := json.Marshal(response)
	require.NoError(t, err)
	methods, err := signin.ReadMethods(written)
	require.NoError(t, err)
	require.Equal(t, []signin.Method{{
		ID: "shell", Name: "Shell", Args: []string{"--login"}, Env: []acpterm.EnvVariable{{Name: "A", Value: "1"}},
	}}, methods)
}

func TestIsSignInRequired(t *testing.T) {
	require.True(t, acpsdk.IsSignInRequired(acp.NewAuthRequired(nil)))
	require.True(t, acpsdk.IsSignInRequired(fmt.Errorf("session/new: %w", acp.NewAuthRequired(nil))))
	for _, err := range []error{nil, acp.NewInternalError(nil), errors.New("Authentication required")} {
		require.False(t, acpsdk.IsSignInRequired(err))
	}
}

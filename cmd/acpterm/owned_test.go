package main

// Commands that the agent runs itself.

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agentterm"
)

// sendUpdates sends updates, given as JSON, in a turn.
func sendUpdates(updates []string) script {
	return func(a *scripted) string {
		for _, text := range updates {
			var update map[string]any
			if err := json.Unmarshal([]byte(text), &update); err != nil {
				panic(err)
			}
			a.update(update)
		}
		return "end_turn"
	}
}

func TestTheExampleAgentRunsItItself(t *testing.T) {
	t.Parallel()
	c := startClient(t, exampleAgent(), "-prompt", "self: "+line("print", "hello"))
	c.exit(0)
	out := c.stdout.String()
	require.Contains(t, out, "[agent 1] $ ")
	require.Contains(t, out, "[agent 1] | hello\n")
	require.Contains(t, out, "[agent 1] = exited 0")
	require.NotContains(t, out, "(in progress)")
	require.NotContains(t, out, "(completed)")
	require.Empty(t, c.stderr.String())

	c = startClient(t, exampleAgent(), "-prompt", "self: "+line("exit", "3"))
	c.exit(0)
	require.Contains(t, c.stdout.String(), "[agent 1] = exited 3")
}

// untimed removes the time that the agent's commands ran, which slow ones show.
func untimed(text string) string {
	return regexp.MustCompile(`(?m)^(\[agent .* = .*) (in|after) \d.*$`).ReplaceAllString(text, "$1")
}

// A command may be told later. What an agent sends wrong is said, and changes nothing.
func TestWhatTheAgentSaysLater(t *testing.T) {
	t.Parallel()
	c := startClient(t, part("agent-that-runs-it-itself",
		`{"sessionUpdate":"terminal_update","terminalId":"t1"}`,
		`{"sessionUpdate":"terminal_update","terminalId":"t1","command":"make \u202eall"}`,
		`{"sessionUpdate":"terminal_output_chunk","terminalId":"t1","data":"%"}`,
		`{"sessionUpdate":"terminal_output_chunk","terminalId":"t1","data":"G1sybXR3bwo="}`, // ESC[2m
		`{"sessionUpdate":"terminal_update","terminalId":"t1","exitStatus":{"exitCode":null,"signal":"SIGTERM"}}`,
	), "-prompt", "x")
	c.exit(0)
	require.Equal(t, `[agent 1] $ make \u202eall`+"\n[agent 1] | two\n[agent 1] = signal SIGTERM\n",
		untimed(c.stdout.String()))
	require.Contains(t, c.stderr.String(), "acpterm: ")
	require.Contains(t, c.stderr.String(), "cannot be used")
}

// Output that the agent replaces is printed anew.
func TestReplacedOutput(t *testing.T) {
	transcript, out := newTranscript(t)
	s := newScreen(out, out, false, func(err error) { require.NoError(t, err) })
	h := acpterm.NewHandler(acptermtest.NewManager(t, nil), &acpterm.HandlerOptions{Created: s.follow})
	terminals := agentterm.New(h, nil)
	update := func(members string) {
		_, err := terminals.Update(json.RawMessage(
			`{"sessionId":"s","update":{"sessionUpdate":"terminal_update","terminalId":"t1"` + members + `}}`))
		require.NoError(t, err)
	}
	update(`,"command":"make","output":{"data":"b25lChtb"}`) // and an escape sequence that is not finished
	transcript.await(t, `\[agent 1\] \| one\n`)
	update(`,"output":{"data":"MW0="}`)
	transcript.await(t, `output replaced\n`)
	update(`,"exitStatus":{"exitCode":0}`)
	require.NoError(t, h.Close())
	s.finish()
	require.NoError(t, out.Close())
	<-transcript.ended
	require.Equal(t, "[agent 1] $ make\n[agent 1] | one\n[agent 1] ! output replaced\n[agent 1] | 1m\n"+
		"[agent 1] = exited 0\n", untimed(transcript.String()))
}

package agentterm_test

// Tests of the agent's terminals, by calls of Terminals and over a connection.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { hosttest.RunTests(m, nil) }

// sendUpdates passes updates of session "s" to Terminals.
func sendUpdates(t testing.TB, ts *agentterm.Terminals, updates ...json.RawMessage) (about []acpterm.TerminalID) {
	t.Helper()
	for _, update := range updates {
		ids, err := ts.Update(json.RawMessage(fmt.Sprintf(`{"sessionId":"s","update":%s}`, update)))
		require.NoError(t, err, "%s", update)
		about = append(about, ids...)
	}
	return about
}

// shown returns Terminals that show an agent's terminals in a Manager, and their Handler.
func shown(m *acpterm.Manager, options acpterm.HandlerOptions) (*agentterm.Terminals, *acpterm.Handler) {
	h := acpterm.NewHandler(m, &options)
	return agentterm.New(h, nil), h
}

func TestAdaptersTraffic(t *testing.T) {
	for _, c := range hosttest.ReadTraffic(t, "testdata/updates") {
		t.Run(c.Name, func(t *testing.T) {
			m := hosttest.NewManager(t, nil)
			ts, h := shown(m, acpterm.HandlerOptions{})
			about := sendUpdates(t, ts, c.Updates...)
			if c.Want == nil {
				require.Empty(t, about)
				require.Empty(t, m.Terminals())
				return
			}
			require.NotEmpty(t, about)
			require.Len(t, m.Terminals(), 1)
			term := m.Terminals()[0]
			require.True(t, term.Attached())
			shown := term.Output()
			require.Equal(t, c.Want.Text, shown.Output)
			require.False(t, shown.Truncated)
			require.Equal(t, c.Want.Ended, shown.ExitStatus != nil)
			if c.Want.Ended {
				require.Equal(t, c.Want.ExitCode == nil, shown.ExitStatus.ExitCode == nil)
				if code := c.Want.ExitCode; code != nil {
					require.Equal(t, uint32(*code), *shown.ExitStatus.ExitCode)
				}
				require.NoError(t, waitFor(t, term))
			}
			var followed strings.Builder
			require.NoError(t, h.Close())
			for chunk := range term.Follow(t.Context(), 0) {
				require.False(t, chunk.Replaced)
				followed.WriteString(chunk.Text)
			}
			require.Equal(t, c.Want.Text, followed.String())
		})
	}
}

func waitFor(t testing.TB, term *acpterm.Terminal) error {
	_, err := term.Wait(t.Context())
	return err
}

// owned returns Terminals in a new Manager. The agent can be asked to cancel, but refuses.
func owned(
	t testing.TB, options *acpterm.Options, hooks ...func(acpterm.Event),
) (*agentterm.Terminals, *acpterm.Manager) {
	m := hosttest.NewManager(t, options, hooks...)
	return agentterm.New(acpterm.NewHandler(m, nil), &agentterm.Options{
		Cancel: func(context.Context, acpterm.TerminalRequest) error { return errors.New("not now") },
	}), m
}

// The exit status of a command remains if its tool call fails later.
func TestAToolCallThatFailsAfterItsCommandHasEnded(t *testing.T) {
	h, m := owned(t, nil)
	sendUpdates(t, h,
		json.RawMessage(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"x","_meta":{"terminal_info":{"terminal_id":"c"}}}`),
		json.RawMessage(`{"sessionUpdate":"tool_call_update","toolCallId":"c","_meta":{"terminal_exit":{"terminal_id":"c","exit_code":3}}}`),
		json.RawMessage(`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"failed"}`))
	require.Equal(t, "exit code 3", m.Terminals()[0].ExitStatus().String())
}

// v2 returns a terminal_update of terminal "t1" with additional members.
func v2(members string) json.RawMessage {
	return json.RawMessage(`{"sessionUpdate":"terminal_update","terminalId":"t1"` + members + `}`)
}

func v2Chunk(data []byte) json.RawMessage {
	encoded, _ := json.Marshal(data) // base64
	return json.RawMessage(`{"sessionUpdate":"terminal_output_chunk","terminalId":"t1","data":` + string(encoded) + `}`)
}

// An absent member of a terminal_update leaves a value unchanged, null clears it, and a value replaces it.
func TestUpdatesMembersInTheirThreeStates(t *testing.T) {
	h, m := owned(t, nil)
	require.Equal(t, []acpterm.TerminalID{"t1"}, sendUpdates(t, h, v2("")))
	term := m.Terminals()[0]
	begin := term.Info()
	require.Equal(t, acpterm.StateRunning, begin.State)
	require.True(t, begin.Attached)
	require.Zero(t, begin.PID)

	for _, c := range []struct {
		members string // sets the member
		null    string
		is      func(acpterm.TerminalInfo) bool
	}{
		{`,"command":"npm test"`, `,"command":null`, func(i acpterm.TerminalInfo) bool { return i.Command.String() == "npm test" }},
		{`,"cwd":"/w"`, `,"cwd":null`, func(i acpterm.TerminalInfo) bool { return i.Command.Dir == "/w" }},
		{`,"size":{"cols":80,"rows":24}`, `,"size":null`, func(i acpterm.TerminalInfo) bool {
			return i.Size != nil && *i.Size == acpterm.TerminalSize{Columns: 80, Rows: 24}
		}},
		{`,"capabilities":{"cancel":{}}`, `,"capabilities":null`, func(i acpterm.TerminalInfo) bool { return i.Cancellable }},
		{`,"capabilities":{"cancel":{}}`, `,"capabilities":{"cancel":null}`, func(i acpterm.TerminalInfo) bool { return i.Cancellable }},
		{`,"capabilities":{"cancel":{}}`, `,"capabilities":"bad"`, func(i acpterm.TerminalInfo) bool { return i.Cancellable }},
		{`,"_meta":{"a":1}`, `,"_meta":null`, func(i acpterm.TerminalInfo) bool { return string(i.Meta["a"]) == "1" }},
		{`,"_meta":{"a":1}`, `,"_meta":{"a":null}`, func(i acpterm.TerminalInfo) bool { return string(i.Meta["a"]) == "1" }},
		{`,"output":{"data":"YQ=="}`, `,"output":null`, func(acpterm.TerminalInfo) bool { return term.Output().Output == "a" }},
		{`,"output":{"data":"YQ=="}`, `,"output":{"data":""}`, func(acpterm.TerminalInfo) bool { return term.Output().Output == "a" }},
	} {
		require.False(t, c.is(term.Info()), "new: %s", c.members)
		sendUpdates(t, h, v2(c.members))
		require.True(t, c.is(term.Info()), "value: %s", c.members)
		sendUpdates(t, h, v2(""))
		require.True(t, c.is(term.Info()), "absent: %s", c.members)
		sendUpdates(t, h, v2(c.null))
		require.False(t, c.is(term.Info()), "null: %s", c.null)
	}
	for _, wrong := range []string{`,"command":7`, `,"cwd":[]`, `,"size":{"cols":0,"rows":1}`, `,"size":{"cols":70000,"rows":1}`,
		`,"exitStatus":"x"`, `,"_meta":7`, `,"output":7`, `,"output":{}`, `,"output":{"data":null}`, `,"output":{"data":[97]}`} {
		sendUpdates(t, h, v2(wrong))
		require.Equal(t, begin, term.Info(), wrong)
	}

	sendUpdates(t, h, v2(`,"output":7,"size":{"cols":1e2,"rows":24.0}`))
	require.Equal(t, &acpterm.TerminalSize{Columns: 100, Rows: 24}, term.Info().Size)
	sendUpdates(t, h, v2(`,"exitStatus":null`))
	require.Equal(t, acpterm.StateRunning, term.State())
	sendUpdates(t, h, v2(`,"exitStatus":{}`))
	<-term.Done()
	require.Equal(t, "not known", term.ExitStatus().String())
	require.Equal(t, acpterm.EndedByItself, term.EndedBy())
}

// Each form of exit status is understood.
func TestExitStatuses(t *testing.T) {
	for members, want := range map[string]string{
		`{"exitCode":3,"signal":null}`: "exit code 3", `{"signal":"SIGKILL"}`: "signal SIGKILL",
		`{"exitCode":-1}`: "exit code 4294967295", `{}`: "not known", `{"exitCode":3.0}`: "exit code 3",
		`{"exitCode":1e2}`: "exit code 100", `{"exitCode":1.5}`: "not known", `{"exitCode":1e300}`: "not known",
	} {
		h, m := owned(t, nil)
		sendUpdates(t, h, v2(`,"exitStatus":`+members), v2(""))
		require.Equal(t, want, m.Terminals()[0].ExitStatus().String(), members)
	}
	h, m := owned(t, nil)
	sendUpdates(t, h, v2(`,"exitStatus":{"exitCode":-1073741510}`))
	require.JSONEq(t, `{"endedBy":"finished","exitCode":-1073741510}`,
		string(m.Terminals()[0].ExitStatus().Meta["acpterm"]))
}

// The signal is the agent's text. One that is not the name of a signal counts as absent, and no user sees it.
func TestSignalsThatAreNoNames(t *testing.T) {
	const hostile = `"X\u001b[2J\u001b]52;c;RVZJTA==\u0007\r[1] $ rm -rf ~"`
	v1 := func(members string) json.RawMessage {
		return json.RawMessage(`{"sessionUpdate":"tool_call_update","toolCallId":"t1","_meta":{
			"terminal_info":{"terminal_id":"t1"},"terminal_exit":{"terminal_id":"t1",` + members + `}}}`)
	}
	for name, update := range map[string]func(code, signal string) json.RawMessage{
		"v1": func(code, signal string) json.RawMessage { return v1(`"exit_code":` + code + `,"signal":` + signal) },
		"v2": func(code, signal string) json.RawMessage {
			return v2(`,"exitStatus":{"exitCode":` + code + `,"signal":` + signal + `}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, signal := range []string{hostile, `""`, `"SIG TERM"`, `"SIG\u202eTERM"`, `"` + strings.Repeat("X", 33) + `"`} {
				h, m := owned(t, nil)
				sendUpdates(t, h, update("null", signal))
				require.Equal(t, "not known", m.Terminals()[0].ExitStatus().String(), signal)
				sendUpdates(t, h, update("null", `"SIGRTMIN+3"`))
				require.Equal(t, "signal SIGRTMIN+3", m.Terminals()[0].ExitStatus().String(), "known later")

				h, m = owned(t, nil)
				sendUpdates(t, h, update("1", signal))
				require.Equal(t, &acpterm.TerminalExitStatus{
					ExitCode: new(uint32(1)), Meta: hosttest.EndedBy("finished"),
				}, m.Terminals()[0].ExitStatus(), signal)
			}
		})
	}
}

// An end is final, and so is a known exit status: waiters, the record and the terminal agree forever. An unknown exit
// status may become known once.
func TestAnEndIsFinal(t *testing.T) {
	const v1Exit = `{"sessionUpdate":"tool_call_update","_meta":{"terminal_exit":{"terminal_id":"t1","exit_code":%s,"signal":%s}}}`
	for name, c := range map[string]struct {
		updates []json.RawMessage
		want    string
	}{
		"another code":     {[]json.RawMessage{v2(`,"exitStatus":{"exitCode":0}`), v2(`,"exitStatus":{"exitCode":1}`)}, "exit code 0"},
		"a signal":         {[]json.RawMessage{v2(`,"exitStatus":{"exitCode":1}`), v2(`,"exitStatus":{"signal":"SIGKILL"}`)}, "exit code 1"},
		"after a signal":   {[]json.RawMessage{v2(`,"exitStatus":{"signal":"SIGTERM"}`), v2(`,"exitStatus":{"exitCode":0}`)}, "signal SIGTERM"},
		"nothing known":    {[]json.RawMessage{v2(`,"exitStatus":{"exitCode":7}`), v2(`,"exitStatus":{}`)}, "exit code 7"},
		"cleared":          {[]json.RawMessage{v2(`,"exitStatus":{"exitCode":7}`), v2(`,"exitStatus":null`)}, "exit code 7"},
		"cleared, another": {[]json.RawMessage{v2(`,"exitStatus":{"exitCode":7}`), v2(`,"exitStatus":null`), v2(`,"exitStatus":{"exitCode":8}`)}, "exit code 7"},
		"known later": {[]json.RawMessage{v2(`,"exitStatus":{}`), v2(`,"exitStatus":null`), v2(`,"exitStatus":{"exitCode":3}`),
			v2(`,"exitStatus":{"exitCode":4}`)}, "exit code 3"},
		"never known": {[]json.RawMessage{v2(`,"exitStatus":{}`), v2(`,"exitStatus":null`)}, "not known"},
		"v1": {[]json.RawMessage{json.RawMessage(fmt.Sprintf(v1Exit, "0", "null")), json.RawMessage(fmt.Sprintf(v1Exit, "1", "null"))},
			"exit code 0"},
		"v1, known later": {[]json.RawMessage{json.RawMessage(fmt.Sprintf(v1Exit, "null", "null")),
			json.RawMessage(fmt.Sprintf(v1Exit, "null", `"SIGINT"`))}, "signal SIGINT"},
	} {
		t.Run(name, func(t *testing.T) {
			hook, events := hosttest.Record()
			h, m := owned(t, nil, hook)
			sendUpdates(t, h, c.updates[0])
			term := m.Terminals()[0]
			first, err := term.Wait(t.Context())
			require.NoError(t, err)
			require.Equal(t, first, *hosttest.Ended(t, events).Status)
			sendUpdates(t, h, c.updates[1:]...)
			require.Equal(t, c.want, term.ExitStatus().String())
			later, err := term.Wait(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.want, later.String())
			if first.String() != "not known" {
				require.Equal(t, first, later)
			}
			require.NoError(t, m.Close())
			require.IsType(t, &acpterm.ReleaseEvent{}, <-events, "one end")
		})
	}
}

// A member name that differs in case is another member, and is ignored.
func TestNamesOfMembersAreExact(t *testing.T) {
	h, m := owned(t, nil)
	sendUpdates(t, h, v2(`,"capabilities":{"cancel":{}},"size":{"cols":80,"rows":24},"output":{"data":"YQ=="}`))
	term := m.Terminals()[0]
	sendUpdates(t, h, v2(`,"Capabilities":null,"capabilities":{"cancel":{},"Cancel":null}`),
		v2(`,"size":{"cols":80,"rows":24,"Cols":1,"ROWS":2}`), v2(`,"output":{"data":"YWI=","Data":""},"Output":null`),
		json.RawMessage(`{"sessionUpdate":"terminal_output_chunk",
			"terminalId":"t1","terminalID":"t2","data":"Yw==","DATA":""}`),
		json.RawMessage(`{"sessionUpdate":"terminal_update","SessionUpdate":"tool_call","terminalId":"t1","command":"c"}`))
	require.Len(t, m.Terminals(), 1)
	info := term.Info()
	require.True(t, info.Cancellable)
	require.Equal(t, &acpterm.TerminalSize{Columns: 80, Rows: 24}, info.Size)
	require.Equal(t, "abc", term.Output().Output)
	require.Equal(t, "c", info.Command.String())
	sendUpdates(t, h, v2(`,"capabilities":{"Cancel":{}}`))
	require.False(t, term.Info().Cancellable, "what was not advertised must not be sent")
	about, err := h.Update(json.RawMessage(
		`{"sessionId":"s","SessionId":"x","update":` + string(v2("")) + `,"Update":null}`))
	require.NoError(t, err)
	require.Equal(t, []acpterm.TerminalID{"t1"}, about)
	_, err = h.Update(json.RawMessage(`{"SessionID":"s","update":` + string(v2("")) + `}`))
	require.ErrorIs(t, err, acpterm.ErrInvalidParams)
}

// Each chunk is decoded separately, and may contain part of a character.
func TestChunksSplitCharacters(t *testing.T) {
	h, m := owned(t, nil)
	for _, b := range []byte("a\U0001f600\xff") {
		sendUpdates(t, h, v2Chunk([]byte{b}))
	}
	term := m.Terminals()[0]
	require.Equal(t, "a\U0001f600\uFFFD", term.Output().Output)
	sendUpdates(t, h, v2Chunk([]byte("\xf0\x9f")), v2(`,"exitStatus":{"exitCode":0}`))
	require.Equal(t, "a\U0001f600\uFFFD\uFFFD\uFFFD", term.Output().Output, "what stays unfinished is shown in the end")
	sendUpdates(t, h, v2Chunk([]byte("late")))
	require.True(t, strings.HasSuffix(term.Output().Output, "late"), "output may follow the end")
}

// A snapshot that continues the output appends to it. Any other snapshot replaces the output, and followers notice at
// any position.
func TestSnapshotsReplaceOutput(t *testing.T) {
	h, m := owned(t, nil)
	sendUpdates(t, h, v2Chunk([]byte("one\n")))
	term := m.Terminals()[0]
	next, stop := iter.Pull(term.Follow(t.Context(), 0))
	defer stop()
	got := func() acpterm.Chunk {
		c, ok := next()
		require.True(t, ok)
		return c
	}
	require.Equal(t, "one\n", got().Text)
	sendUpdates(t, h, v2(`,"output":{"data":"b25lCnR3bwo="}`)) // one, two
	more := got()
	require.Equal(t, "two\n", more.Text)
	require.False(t, more.Replaced)
	sendUpdates(t, h, v2(`,"output":{"data":"dHdvCg=="}`)) // two
	anew := got()
	require.Equal(t, "two\n", anew.Text)
	require.True(t, anew.Replaced)
	require.Zero(t, anew.Missed)
	require.Equal(t, "two\n", term.Output().Output)
	sendUpdates(t, h, v2(`,"output":null`))
	cleared := got()
	require.True(t, cleared.Replaced)
	require.Empty(t, cleared.Text)
	require.Empty(t, term.Output().Output)
}

// A follower gets all output before the end and then ends, as with a command of the client. This holds without a
// release and for each kind of update. Later output is kept for later readers.
func TestFollowEndsWithTheAgentsCommand(t *testing.T) {
	call := func(members string) json.RawMessage {
		return json.RawMessage(`{"sessionUpdate":"tool_call_update","toolCallId":"t1",` + members + `}`)
	}
	const v1Output = `"terminal_output":{"terminal_id":"t1","data":"one\ntwo\n"}`
	for name, end := range map[string][]json.RawMessage{
		"an exit status":            {v2Chunk([]byte("two\n")), v2(`,"exitStatus":{"exitCode":0}`)},
		"that is not known":         {v2Chunk([]byte("two\n")), v2(`,"exitStatus":{}`)},
		"with output":               {v2(`,"output":{"data":"b25lCnR3bwo="},"exitStatus":{"exitCode":0}`)},
		"v1's terminal_exit":        {call(`"_meta":{` + v1Output + `,"terminal_exit":{"terminal_id":"t1","exit_code":0}}`)},
		"v1's tool call is over":    {call(`"_meta":{` + v1Output + `}`), call(`"status":"completed"`)},
		"v1's tool call has failed": {call(`"status":"failed","_meta":{` + v1Output + `}`)},
	} {
		t.Run(name, func(t *testing.T) {
			h, m := owned(t, nil)
			first := v2Chunk([]byte("one\n"))
			if strings.HasPrefix(name, "v1") {
				first = call(`"_meta":{"terminal_output_delta":{"terminal_id":"t1","data":"one\n"}}`)
			}
			sendUpdates(t, h, first)
			term := m.Terminals()[0]
			follow := func(offset int64) (text string, at int64) {
				for c := range term.Follow(t.Context(), offset) {
					require.False(t, c.Replaced)
					text, at = text+c.Text, c.End
				}
				return text, at
			}
			next, stop := iter.Pull(term.Follow(t.Context(), 0))
			defer stop()
			live, _ := next()
			sendUpdates(t, h, end...)
			text := live.Text
			for chunk, more := next(); more; chunk, more = next() {
				text += chunk.Text
			}
			require.Equal(t, "one\ntwo\n", text)
			text, at := follow(0)
			require.Equal(t, "one\ntwo\n", text)
			if strings.HasPrefix(name, "v1") {
				return
			}
			sendUpdates(t, h, v2Chunk([]byte("late\n")))
			text, _ = follow(at)
			require.Equal(t, "late\n", text)
			require.Equal(t, "one\ntwo\nlate\n", term.Output().Output)
		})
	}
}

// In v2, a tool call is not the terminal of the same id, regardless of its _meta.
func TestToolCallsOfV2AreNoTerminals(t *testing.T) {
	h, m := owned(t, nil)
	sendUpdates(t, h, v2(`,"command":"make"`), v2Chunk([]byte("text")))
	for _, members := range []string{
		`"rawInput":{"command":"other"}`, `"status":"completed"`,
		`"_meta":{"terminal_info":{"terminal_id":"t1","cwd":"/x"}}`,
		`"_meta":{"terminal_output":{"terminal_id":"t1","data":"x"}}`,
		`"_meta":{"terminal_exit":{"terminal_id":"t1","exit_code":1}}`,
	} {
		sendUpdates(t, h, json.RawMessage(`{"sessionUpdate":"tool_call_update","toolCallId":"t1",`+members+`}`))
	}
	require.Len(t, m.Terminals(), 1)
	term := m.Terminals()[0]
	require.Equal(t, "text", term.Output().Output)
	require.Equal(t, acpterm.StateRunning, term.State())
	require.Equal(t, acpterm.Command{ShellLine: "make"}, term.Command())
}

// requireRefused requires that a field makes an update unusable.
func requireRefused(t *testing.T, ts *agentterm.Terminals, session, update, field string) {
	t.Helper()
	ids, err := ts.Update(json.RawMessage(`{"sessionId":"` + session + `","update":` + update + `}`))
	require.Empty(t, ids)
	refused, ok := errors.AsType[*acpterm.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, acpterm.ErrInvalidParams, refused.Kind)
	require.Equal(t, field, refused.Field)
}

// An unusable update is refused as a whole, and does not affect anything else.
func TestUpdatesThatAreRefused(t *testing.T) {
	h, m := owned(t, nil)
	sendUpdates(t, h, v2(`,"command":"before"`), v2Chunk([]byte("kept")))
	mine := hosttest.Create(t, m, hosttest.ChildRequest("sleep"))
	refuse := func(update, field string) {
		t.Helper()
		requireRefused(t, h, "s", update, field)
	}
	refuse(string(v2(`,"command":"after","output":{"data":"%%%"}`)), "output.data")
	refuse(string(v2(`,"command":"after","output":{"data":"YQ"}`)), "output.data")
	refuse(`{"sessionUpdate":"terminal_output_chunk","terminalId":"t1","data":"YQ"}`, "data")
	refuse(`{"sessionUpdate":"terminal_output_chunk","terminalId":"t1","data":[97]}`, "data")
	refuse(`{"sessionUpdate":"terminal_output_chunk","terminalId":"t1"}`, "data")
	refuse(`{"sessionUpdate":"terminal_update","terminalId":""}`, "terminalId")
	refuse(`{"sessionUpdate":"terminal_update"}`, "terminalId")
	long := strings.Repeat("x", 1<<20)
	refuse(string(v2(`,"command":"`+long+`"`)), "command")
	refuse(string(v2(`,"_meta":{"a":"`+long+`"}`)), "_meta")
	refuse(`{"sessionUpdate":"terminal_update","terminalId":"`+long+`"}`, "terminalId")
	refuse(`{"sessionUpdate":"terminal_update","terminalId":"`+string(mine.ID())+`","exitStatus":{}}`, "terminalId")
	require.Equal(t, acpterm.StateRunning, mine.State())
	for _, other := range []string{`null`, `[]`, `{}`, `{"sessionUpdate":"agent_message_chunk"}`, `{"sessionUpdate":7}`,
		`{"sessionUpdate":"tool_call","toolCallId":"t9","title":"x","status":"failed"}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"t1","title":"x","status":"failed"}`} {
		require.Empty(t, sendUpdates(t, h, json.RawMessage(other)), other)
	}
	term, err := m.Terminal("s", "t1")
	require.NoError(t, err)
	require.Equal(t, "before", term.Command().String())
	require.Equal(t, "kept", term.Output().Output)
	require.Equal(t, acpterm.StateRunning, term.State())
	require.Len(t, m.Terminals(), 2)
}

// An agent cannot take over the id of a command run by the client with any kind of update: not during the decision, not
// while the command runs, and not after its release. Ids of that form not made by this client are the agent's, since an
// agent with its own Manager sends such ids.
func TestUpdatesWithIDsOfTheClient(t *testing.T) {
	hook, events := hosttest.Record()
	var h *agentterm.Terminals
	var early error // from an update before the command runs
	m := hosttest.NewManager(t, &acpterm.Options{Record: func(_ context.Context, e acpterm.Event) error {
		if d, ok := e.(*acpterm.DecisionEvent); ok {
			_, early = h.Update(json.RawMessage(`{"sessionId":"s","update":{
				"sessionUpdate":"terminal_update","terminalId":"` + string(d.TerminalID) + `","command":"true"}}`))
		}
		return nil
	}}, hook)
	h, _ = shown(m, acpterm.HandlerOptions{})
	mine := hosttest.Create(t, m, hosttest.ChildRequest("exit", "3"))
	require.ErrorIs(t, early, acpterm.ErrInvalidParams)
	require.NoError(t, waitFor(t, mine))
	require.NoError(t, m.Release(t.Context(), "s", mine.ID()))
	id := string(mine.ID())
	for _, update := range []string{
		`{"sessionUpdate":"terminal_update","terminalId":"` + id + `","command":"true","exitStatus":{"exitCode":0}}`,
		`{"sessionUpdate":"terminal_output_chunk","terminalId":"` + id + `","data":"YQ=="}`,
		`{"sessionUpdate":"tool_call","toolCallId":"` + id + `","title":"x","_meta":{"terminal_info":{"terminal_id":"` + id + `"}}}`,
		`{"sessionUpdate":"tool_call_update","_meta":{"terminal_output":{"terminal_id":"` + id + `","data":"x"}}}`,
		`{"sessionUpdate":"tool_call_update","_meta":{"terminal_output_delta":{"terminal_id":"` + id + `","data":"x"}}}`,
		`{"sessionUpdate":"tool_call_update","_meta":{"terminal_exit":{"terminal_id":"` + id + `","exit_code":0}}}`,
	} {
		requireRefused(t, h, "s", update, "terminalId")
		require.Empty(t, m.Terminals(), update)
	}
	sendUpdates(t, h, json.RawMessage(`{"sessionUpdate":"tool_call_update","toolCallId":"`+id+`","status":"failed"}`))
	require.Empty(t, m.Terminals())

	other := hosttest.Create(t, hosttest.NewManager(t, nil), hosttest.ChildRequest("exit", "0"))
	sendUpdates(t, h, json.RawMessage(`{"sessionUpdate":"terminal_update","terminalId":"`+string(other.ID())+`","exitStatus":{}}`))
	require.Len(t, m.Terminals(), 1)
	require.NoError(t, m.Close())
	ends := 0
	for len(events) > 0 {
		if end, ok := (<-events).(*acpterm.EndEvent); ok && end.TerminalID == mine.ID() {
			require.False(t, end.Attached)
			ends++
		}
	}
	require.Equal(t, 1, ends)
}

// A thousand ids stay within the quotas. Ended terminals make room, the oldest first. Running terminals do not.
func TestOwnedTerminalsInQuotas(t *testing.T) {
	h, m := owned(t, &acpterm.Options{MaxSessionTerminals: 10})
	update := func(i int, members string) error {
		_, err := h.Update(json.RawMessage(fmt.Sprintf(
			`{"sessionId":"s","update":{"sessionUpdate":"terminal_update","terminalId":"t%d"%s}}`, i, members)))
		return err
	}
	for i := range 1000 {
		err := update(i, "")
		if i < 10 {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, acpterm.ErrQuota)
		}
	}
	require.NoError(t, update(3, `,"exitStatus":{}`))
	require.NoError(t, update(1, `,"exitStatus":{}`))
	for i := range 1000 {
		require.NoError(t, update(1000+i, `,"exitStatus":{}`))
	}
	require.Equal(t, 10, m.Stats().Terminals)
	require.Equal(t, 8, m.Stats().Running)
}

// While the host's hooks block, terminals that begin and end cannot fill its memory with events.
func TestOwnedTerminalsWhileAHookIsSlow(t *testing.T) {
	release := make(chan struct{})
	h, m := owned(t, &acpterm.Options{MaxSessionTerminals: 10}, func(acpterm.Event) { <-release })
	defer close(release)
	var err error
	for i := 0; err == nil; i++ {
		require.Less(t, i, 10_000)
		_, err = h.Update(json.RawMessage(fmt.Sprintf(
			`{"sessionId":"s","update":{"sessionUpdate":"terminal_update","terminalId":"t%d","exitStatus":{}}}`, i)))
	}
	require.ErrorIs(t, err, acpterm.ErrQuota)
	require.LessOrEqual(t, m.Stats().Terminals, 10)
}

// Each session has its own terminals, and the prefixes of connections keep them apart.
func TestOwnedTerminalsOfTwoSessions(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	a, handlerOfA := shown(m, acpterm.HandlerOptions{SessionPrefix: "a/"})
	b, _ := shown(m, acpterm.HandlerOptions{SessionPrefix: "b/"})
	sendUpdates(t, a, v2Chunk([]byte("a")))
	sendUpdates(t, b, v2Chunk([]byte("b")), v2(`,"exitStatus":{}`))
	_, err := a.Update(json.RawMessage(`{"sessionId":"other","update":` + string(v2(`,"exitStatus":{}`)) + `}`))
	require.NoError(t, err)
	ofA, err := m.Terminal("a/s", "t1")
	require.NoError(t, err)
	ofB, err := m.Terminal("b/s", "t1")
	require.NoError(t, err)
	require.Equal(t, "a", ofA.Output().Output)
	require.Equal(t, "b", ofB.Output().Output)
	require.Equal(t, acpterm.StateRunning, ofA.State())
	require.NoError(t, handlerOfA.Close())
	require.Len(t, m.Terminals(), 1)

	_, err = a.Update(json.RawMessage(`{"sessionId":"s","update":` + string(v2(`,"command":"x"`)) + `}`))
	require.ErrorIs(t, err, acpterm.ErrClosing)
	strict, _ := shown(hosttest.NewManager(t, &acpterm.Options{
		RequireSessions: true,
	}), acpterm.HandlerOptions{})
	_, err = strict.Update(json.RawMessage(`{"sessionId":"s","update":` + string(v2("")) + `}`))
	require.ErrorIs(t, err, acpterm.ErrSessionNotFound)
}

// A create that is refused anyway releases nothing, and one that needs room releases no more than that.
func TestEndedOwnedTerminalsStayIfTheyMakeNoRoom(t *testing.T) {
	m := hosttest.NewManager(t, &acpterm.Options{
		MaxTerminals: 6, MaxSessionTerminals: 5, MaxReservedBytes: 3500, Commands: acpterm.CommandOptions{FollowBytes: 1},
	})
	h, _ := shown(m, acpterm.HandlerOptions{})
	request := func(session acpterm.SessionID, limit uint64) error {
		req := hosttest.ChildRequest("sleep")
		req.SessionID, req.OutputByteLimit = session, &limit
		_, err := m.Create(t.Context(), req, nil)
		return err
	}
	left := func() (ids []acpterm.TerminalID) {
		for _, term := range m.Terminals() {
			if term.Attached() {
				ids = append(ids, term.ID())
			}
		}
		return ids
	}
	quota := func(err error, name string) {
		t.Helper()
		refused, ok := errors.AsType[*acpterm.Error](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, acpterm.ErrQuota, refused.Kind)
		require.Equal(t, name, refused.Quota)
	}
	require.NoError(t, m.OpenSession("own", &acpterm.SessionOptions{
		MaxTerminals: 5, Commands: acpterm.CommandOptions{OutputByteLimit: 500},
	}))
	require.NoError(t, m.OpenSession("full", &acpterm.SessionOptions{MaxTerminals: 1}))
	require.NoError(t, request("full", 500))
	all := []acpterm.TerminalID{"d", "c", "b", "a"}
	for _, id := range all {
		_, err := h.Update(json.RawMessage(`{"sessionId":"own","update":
			{"sessionUpdate":"terminal_update","terminalId":"` + string(id) + `","exitStatus":{}}}`))
		require.NoError(t, err)
	}
	quota(request("full", 1), "session_terminals")
	require.Equal(t, all, left(), "no other session's terminal makes room in this one")
	quota(request("big", 3001), "reserved_bytes")
	require.Equal(t, all, left(), "all together would not make room")
	require.NoError(t, request("small", 1500)) // 500 bytes too many
	require.Equal(t, all[1:], left(), "the oldest")
	require.NoError(t, request("small", 1))
	require.Equal(t, all[2:], left(), "another, for 1 byte")
	require.NoError(t, request("own", 499))
	require.Equal(t, all[2:], left(), "there was room")
}

// The kept data of each terminal is bounded, regardless of the agent's updates.
func TestOwnedTerminalsKeepLittle(t *testing.T) {
	h, _ := owned(t, nil)
	long := strings.Repeat("x", 1<<20)
	requireRefused(t, h, long, string(v2("")), "sessionId")
	var keys []string
	for i := range 1000 {
		keys = append(keys, fmt.Sprintf(`"%03d":1`, i))
	}
	requireRefused(t, h, "s", string(v2(`,"_meta":{`+strings.Join(keys, ",")+`}`)), "_meta")
	sendUpdates(t, h, v2(`,"_meta":{`+strings.Join(keys[:600], ",")+`}`))
	requireRefused(t, h, "s", string(v2(`,"_meta":{`+strings.Join(keys[600:], ",")+`}`)), "_meta")
}

// If two connections update a terminal while the manager closes, each terminal has one StartEvent, then an EndEvent,
// then a ReleaseEvent, all before Close returns.
func TestOwnedTerminalsOnTwoConnections(t *testing.T) {
	for range longtest.Times(30, 200) {
		var mu sync.Mutex
		var events []string
		m, err := acpterm.NewManager(nil)
		require.NoError(t, err)
		m.Observe(func(e acpterm.Event) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, fmt.Sprintf("%T", e))
		})
		var busy sync.WaitGroup
		for range 2 {
			h, _ := shown(m, acpterm.HandlerOptions{})
			busy.Go(func() {
				for _, u := range []json.RawMessage{v2(`,"command":"x"`), v2Chunk([]byte("a")), v2(`,"output":{"data":"YWI="}`),
					json.RawMessage(`{"sessionUpdate":"tool_call_update","_meta":{"terminal_output_delta":{"terminal_id":"t1","data":"d"}}}`)} {
					h.Update(json.RawMessage(`{"sessionId":"s","update":` + string(u) + `}`))
				}
			})
		}
		require.NoError(t, m.Close())
		mu.Lock()
		if len(events) > 0 {
			require.Equal(t, []string{"*acpterm.StartEvent", "*acpterm.EndEvent", "*acpterm.ReleaseEvent"}, events)
		}
		atClose := len(events)
		mu.Unlock()
		busy.Wait()
		require.Len(t, events, atClose)
	}
}

// The Created hook may close the connection.
func TestCreatedOfAnOwnedTerminalMayClose(t *testing.T) {
	var ts *agentterm.Terminals
	var h *acpterm.Handler
	m := hosttest.NewManager(t, nil)
	ts, h = shown(m, acpterm.HandlerOptions{Created: func(*acpterm.Terminal) { require.NoError(t, h.Close()) }})
	sendUpdates(t, ts, v2(""))
	require.Empty(t, m.Terminals())
}

// A late update does not restore a released terminal. An update with the command does, as in a reloaded session.
func TestReleasedOwnedTerminalStaysReleased(t *testing.T) {
	h, m := owned(t, nil)
	sendUpdates(t, h, v2(`,"command":"make"`))
	require.NoError(t, m.Release(t.Context(), "s", "t1"))
	require.Empty(t, sendUpdates(t, h, v2Chunk([]byte("late")), v2(`,"exitStatus":{}`)))
	require.Empty(t, m.Terminals())
	require.Len(t, sendUpdates(t, h, v2(`,"command":"make"`)), 1)
	require.Len(t, m.Terminals(), 1)
}

// If the agent ends while its command runs, how that ended stays unknown, and the terminal says why. A release by the
// host is another reason.
func TestAnAgentThatEndsBeforeItsCommand(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(m *acpterm.Manager, h *acpterm.Handler, agentEnd io.Closer) error
		kind acpterm.Kind
		by   acpterm.EndedBy
	}{
		"the agent ends": {func(_ *acpterm.Manager, _ *acpterm.Handler, agentEnd io.Closer) error {
			return agentEnd.Close()
		}, acpterm.ErrAgentGone, acpterm.EndedByAgentGone},
		"its Handler is closed": {func(_ *acpterm.Manager, h *acpterm.Handler, _ io.Closer) error {
			return h.Close()
		}, acpterm.ErrAgentGone, acpterm.EndedByAgentGone},
		"the host releases the terminal": {func(m *acpterm.Manager, _ *acpterm.Handler, _ io.Closer) error {
			return m.Release(context.Background(), "s", "t1")
		}, acpterm.ErrInternal, acpterm.EndedByRelease},
	} {
		t.Run(name, func(t *testing.T) {
			hook, events := hosttest.Record()
			m := hosttest.NewManager(t, nil, hook)
			ts, h := shown(m, acpterm.HandlerOptions{})
			client, agentEnd := hosttest.PipePair(t)
			t.Cleanup(func() { agentEnd.Close() })
			rest := h.Filter(t.Context(), client)
			sendUpdates(t, ts, v2(`,"command":"make"`), v2Chunk([]byte("half")))
			term := m.Terminals()[0]
			require.NoError(t, c.end(m, h, agentEnd))
			if name == "the agent ends" {
				_, err := rest.Read(make([]byte, 1))
				require.Equal(t, io.EOF, err)
			}
			_, err := term.Wait(t.Context())
			failure, ok := errors.AsType[*acpterm.Error](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, c.kind, failure.Kind, "%v", err)
			require.Equal(t, c.by, term.EndedBy())
			end := hosttest.Ended(t, events)
			require.Equal(t, c.by, end.EndedBy)
			require.Nil(t, end.Status)
			require.Nil(t, term.ExitStatus())
			require.Equal(t, "half", term.Output().Output)
		})
	}
}

// Replaced output does not count as dropped.
func TestEndEventOfReplacedOutput(t *testing.T) {
	hook, events := hosttest.Record()
	h, _ := owned(t, &acpterm.Options{Commands: acpterm.CommandOptions{OutputByteLimit: 100}}, hook)
	for i := range byte(10) {
		text, _ := json.Marshal(bytes.Repeat([]byte{'a' + i}, 50))
		sendUpdates(t, h, v2(`,"output":{"data":`+string(text)+`}`))
	}
	sendUpdates(t, h, v2(`,"exitStatus":{}`))
	end := hosttest.Ended(t, events)
	require.EqualValues(t, 50, end.Bytes)
	require.Zero(t, end.Dropped)
}

// connect connects an agent. messages has the methods of its notifications that reach the next handler, and requests
// the client's requests, which the agent answers with an empty object or an error.
func connect(t *testing.T, m *acpterm.Manager, options acpterm.HandlerOptions, refusal error) (
	a *hosttest.Agent, ts *agentterm.Terminals, messages, requests chan string,
) {
	messages, requests = make(chan string, 9), make(chan string, 1)
	client, agentEnd := hosttest.PipePair(t)
	ts, h := shown(m, options)
	conn := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(h.Filter(t.Context(), client)),
		ts.Handler(jsonrpc2.HandlerWithError(func(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
			if !req.Notif {
				return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: req.Method}
			}
			messages <- req.Method
			return nil, nil
		})))
	a = &hosttest.Agent{T: t, Handler: h}
	a.Conn = jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(agentEnd), jsonrpc2.HandlerWithError(
		func(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
			requests <- req.Method + string(*req.Params)
			return struct{}{}, refusal
		}))
	t.Cleanup(func() {
		a.Close()
		<-conn.DisconnectNotify()
		require.NoError(t, h.Close())
	})
	return a, ts, messages, requests
}

// Over a connection, updates arrive in order and reach the next handler. The agent's terminal/* requests do not reach
// its own terminals. Kill sends terminal/cancel only if the agent advertised it.
func TestOwnedTerminalsOverAConnection(t *testing.T) {
	events := make(chan acpterm.Event, 9)
	created := make(chan *acpterm.Terminal, 1)
	m := hosttest.NewManager(t, nil, func(e acpterm.Event) { events <- e })
	a, _, next, cancels := connect(t, m,
		acpterm.HandlerOptions{Created: func(term *acpterm.Terminal) { created <- term }}, nil)
	capabilities := a.Handler.Capabilities()
	agentterm.Advertise(&capabilities)
	advertised, err := json.Marshal(capabilities)
	require.NoError(t, err)
	require.JSONEq(t, `{"terminal":true,"_meta":{"terminal_output":true,"terminal_output_delta":true}}`, string(advertised))

	send := func(update json.RawMessage) {
		t.Helper()
		require.NoError(t, a.Notify(t.Context(), "session/update", map[string]any{"sessionId": "s", "update": update}))
		require.Equal(t, "session/update", <-next)
	}
	send(v2(`,"command":"npm run dev"`))
	term := <-created
	for _, method := range []string{
		acpterm.MethodOutput, acpterm.MethodWaitForExit, acpterm.MethodKill, acpterm.MethodRelease,
	} {
		_, err := a.Do(method, hosttest.Of("t1"))
		a.Failed(err, -32002, `{"kind":"terminal_not_found","sessionId":"s","terminalId":"t1"}`)
	}
	err = term.Kill(t.Context())
	require.ErrorIs(t, err, acpterm.ErrNotCancellable)
	require.Equal(t, acpterm.StateRunning, term.State())

	send(v2(`,"capabilities":{"cancel":{}}`))
	killed := make(chan error, 1)
	go func() { killed <- term.Kill(t.Context()) }()
	require.Equal(t, `terminal/cancel{"sessionId":"s","terminalId":"t1"}`, <-cancels)
	send(v2(`,"exitStatus":{"exitCode":null,"signal":"SIGTERM"},"capabilities":null`))
	require.NoError(t, <-killed)
	require.NoError(t, term.Kill(t.Context()), "it has ended")
	require.Empty(t, cancels)
	require.Equal(t, "signal SIGTERM", term.ExitStatus().String())
	require.Equal(t, acpterm.EndedByKill, term.EndedBy())

	require.NoError(t, m.Release(t.Context(), "s", "t1"))
	var kinds []string
	for range 3 {
		kinds = append(kinds, fmt.Sprintf("%T", <-events))
	}
	require.Equal(t, []string{"*acpterm.StartEvent", "*acpterm.EndEvent", "*acpterm.ReleaseEvent"}, kinds)
}

// Info reports a terminal as cancellable exactly while the agent offers it and can be asked.
func TestCancellableWhileTheAgentCanBeAsked(t *testing.T) {
	deciding, decided := make(chan struct{}), make(chan struct{})
	m := hosttest.NewManager(t, &acpterm.Options{Policy: acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
		close(deciding)
		<-decided
		return acpterm.Decision{Verdict: acpterm.VerdictAllow}
	})})
	client, agentEnd := hosttest.PipePair(t)
	ts, h := shown(m, *hosttest.Quietly())
	sendUpdates(t, ts, v2(`,"capabilities":{"cancel":{}}`))
	term := m.Terminals()[0]
	require.False(t, term.Info().Cancellable, "without a connection")
	require.ErrorIs(t, term.Kill(t.Context()), acpterm.ErrNotCancellable)

	rest := jsonrpc2.NewPlainObjectStream(h.Filter(t.Context(), client))
	conn := jsonrpc2.NewConn(t.Context(), rest, ts.Handler(h))
	_, err := fmt.Fprintf(agentEnd, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%s}}`+"\n", v2(""))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return term.Info().Cancellable }, time.Minute, time.Millisecond)
	sendUpdates(t, ts, v2(`,"capabilities":null`))
	require.False(t, term.Info().Cancellable, "the agent does not offer it any more")
	sendUpdates(t, ts, v2(`,"capabilities":{"cancel":{}}`))
	require.True(t, term.Info().Cancellable)

	// The connection ends, and a blocked policy delays the release of its terminals.
	request, err := json.Marshal(hosttest.ChildRequest("exit", "0"))
	require.NoError(t, err)
	_, err = fmt.Fprintf(agentEnd, `{"jsonrpc":"2.0","id":1,"method":"terminal/create","params":%s}`+"\n", request)
	require.NoError(t, err)
	<-deciding
	require.NoError(t, agentEnd.Close())
	<-conn.DisconnectNotify()
	require.Eventually(t, func() bool { return !term.Info().Cancellable }, time.Minute, time.Millisecond)
	require.Equal(t, acpterm.StateRunning, term.State())
	require.ErrorIs(t, term.Kill(t.Context()), acpterm.ErrNotCancellable)
	close(decided)
	require.NoError(t, h.Close())

	asked := 0
	h = acpterm.NewHandler(m, nil)
	ts = agentterm.New(h, &agentterm.Options{
		Cancel: func(context.Context, acpterm.TerminalRequest) error {
			asked++
			sendUpdates(t, ts, v2(`,"exitStatus":{"signal":"SIGTERM"}`))
			return nil
		},
	})
	sendUpdates(t, ts, v2(`,"command":"make","capabilities":{"cancel":{}}`))
	term = m.Terminals()[0]
	require.True(t, term.Info().Cancellable)
	require.NoError(t, term.Kill(t.Context()))
	require.Equal(t, 1, asked)
	require.False(t, term.Info().Cancellable, "it has ended")
	require.NoError(t, h.Close())
}

func TestToolCallTerminals(t *testing.T) {
	for content, want := range map[string][]acpterm.TerminalID{
		`[{"type":"terminal","terminalId":"term_1"},{"type":"content","content":{}},{"type":"terminal","terminalId":"t2","_meta":{}}]`: {
			"term_1", "t2"},
		`[{"type":"diff","terminalId":"x"},{"type":"terminal"},{"type":"terminal","terminalId":7},7,null]`: nil,
		`{"type":"terminal","terminalId":"term_1"}`:                                                        {"term_1"},
		`null`: nil, `{}`: nil, ``: nil, `{"type":"content","terminalId":"x"}`: nil, `7`: nil, `"terminal"`: nil,
	} {
		require.Equal(t, want, agentterm.ToolCallTerminals(json.RawMessage(content)), content)
	}
}

// No update from an agent causes a panic or invalid output.
func FuzzUpdate(f *testing.F) {
	f.Add(string(v2(`,"output":{"data":"YQ=="},"exitStatus":{"exitCode":1}`)))
	f.Add(string(v2Chunk([]byte("a\xff"))))
	f.Add(`{"sessionUpdate":"tool_call","toolCallId":"c","_meta":{"terminal_info":{"terminal_id":"c","cwd":"/w"}}}`)
	f.Add(`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"failed","_meta":{"terminal_output":{"terminal_id":"c","data":"x"}}}`)
	f.Add(string(toolCall(mayCancel)))
	f.Add(`{"sessionUpdate":"state_update","state":"idle","background":[{"type":"terminal","terminalId":"t"},{"type":"_x"}]}`)
	f.Fuzz(func(t *testing.T, update string) {
		m, err := acpterm.NewManager(nil)
		require.NoError(t, err)
		defer m.Close()
		h := agentterm.New(acpterm.NewHandler(m, nil), &agentterm.Options{
			Background: func(acpterm.SessionID, []agentterm.Work) {},
		})
		for range 2 {
			h.Update(json.RawMessage(`{"sessionId":"s","update":` + update + `}`))
		}
		for _, term := range m.Terminals() {
			require.True(t, utf8.ValidString(term.Output().Output))
		}
	})
}

package acpterm

// What is read and written without jsonrpc2 and encoding/json is what they would have read and written.

import (
	"encoding/json"
	"testing"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

// A request's parts are those that jsonrpc2 finds in it.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"terminal/output","params":{"sessionId":"s","terminalId":"t"}}`,
		`{"params":[1, {"a":"}"}] , "method":"\u0074erminal/kill","id":"\u0061\\"}`, `{"id":-1,"method":"x"}`, `{"id":18446744073709551615,"method":"x"}`,
		`{"id":1.50,"method":"x","params":null}`, `{"id":"raw-id:7","method":"x","params":7}`, `{"method":"$/cancel_request","params":{"requestId":"a"}}`,
		`{"id":"\ud800","method":"x"}`, "{\"id\":\"\xff\",\"method\":\"x\"}", `{"method":"x","id":0}`, `{"method":"x","id":01}`, `{"id":3,"result":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, fault := parseMessage(line)
		if fault != nil || m.method == "" {
			return
		}
		var req jsonrpc2.Request
		require.NoError(t, req.UnmarshalJSON(m.line))
		require.Equal(t, req.Method, m.method)
		require.Equal(t, req.Notif, m.id == nil)
		if params := paramsOf(&req); params != nil {
			require.JSONEq(t, string(params), string(m.params))
		} else {
			require.Contains(t, []string{"", "null"}, string(m.params))
		}
		if m.id != nil {
			id, ok := requestID(m.id)
			require.True(t, ok)
			require.Equal(t, req.ID, id)
		}
	})
}

func TestAnswersAreAsEncodingJSONMakesThem(t *testing.T) {
	code, signal := uint32(4294967295), "SIGTERM"
	of := EndedBy.meta
	for _, value := range []any{
		KillTerminalResponse{}, KillTerminalResponse{Meta: of("x")}, ReleaseTerminalResponse{}, ReleaseTerminalResponse{Meta: of("x")},
		CreateTerminalResponse{TerminalID: newIDMint().next("s")}, CreateTerminalResponse{TerminalID: "term_1", Meta: of("x")},
		WaitForTerminalExitResponse{ExitCode: &code}, WaitForTerminalExitResponse{Signal: &signal},
		WaitForTerminalExitResponse{ExitCode: new(uint32), Meta: of(EndedByItself)}, WaitForTerminalExitResponse{Meta: Meta{}},
		WaitForTerminalExitResponse{Signal: &signal, Meta: Meta{"other": json.RawMessage(`[1, 2]`)}},
		TerminalExitStatus{ExitCode: &code, Meta: Meta{"acpterm": json.RawMessage(`1`), "other": json.RawMessage(`2`)}},
	} {
		want, err := json.Marshal(value)
		require.NoError(t, err)
		require.Equal(t, string(want), string(appendJSON(nil, value)), "%#v", value)
	}
	for _, shape := range []TerminalOutputResponse{
		{}, {Truncated: true}, {ExitStatus: &TerminalExitStatus{ExitCode: &code, Meta: of(EndedByKill)}},
		{Truncated: true, ExitStatus: &TerminalExitStatus{Signal: &signal}},
	} {
		want, err := json.Marshal(shape)
		require.NoError(t, err)
		var status []byte
		if shape.ExitStatus != nil {
			status = appendStatus(nil, *shape.ExitStatus)
		}
		line := appendPollTail(appendPollHead(nil, []byte("7")), shape.Truncated, status)
		require.Equal(t, `{"jsonrpc":"2.0","id":7,"result":`+string(want)+"}\n", string(line))
	}
}

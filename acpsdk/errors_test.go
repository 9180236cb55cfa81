package acpsdk_test

// What is wrong arrives with its code and says what it is.

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acpsdk"
	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
)

func TestCreateErrors(t *testing.T) {
	with := func(change func(*acp.CreateTerminalRequest)) acp.CreateTerminalRequest {
		req := request("sleep")
		change(&req)
		return req
	}
	deny := acpterm.Options{Policy: acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
		return acpterm.Decision{Verdict: acpterm.Deny, Rule: "no", Reason: "no"}
	})}
	const invalid = -32602
	cases := map[string]struct {
		settings settings
		request  acp.CreateTerminalRequest
		code     int
		want     errorData
	}{
		"no such program": {
			request: with(func(r *acp.CreateTerminalRequest) { r.Command = "no-such-program-anywhere" }),
			code:    acpterm.CodeResourceNotFound, want: errorData{Kind: acpterm.ErrCommandNotFound},
		},
		"a directory that is relative": {
			request: with(func(r *acp.CreateTerminalRequest) { r.Cwd = new("here") }),
			code:    invalid, want: errorData{Kind: acpterm.ErrInvalidParams, Field: "cwd"},
		},
		"a directory that is empty": {
			request: with(func(r *acp.CreateTerminalRequest) { r.Cwd = new("") }),
			code:    invalid, want: errorData{Kind: acpterm.ErrInvalidParams, Field: "cwd"},
		},
		"a variable without a name": {
			request: with(func(r *acp.CreateTerminalRequest) { r.Env = []acp.EnvVariable{{Value: "x"}} }),
			code:    invalid, want: errorData{Kind: acpterm.ErrInvalidParams, Field: "env[0].name"},
		},
		"a limit below 0": {
			request: with(func(r *acp.CreateTerminalRequest) { r.OutputByteLimit = new(-1) }),
			code:    invalid, want: errorData{Kind: acpterm.ErrInvalidParams, Field: "outputByteLimit"},
		},
		"no session": {
			request: with(func(r *acp.CreateTerminalRequest) { r.SessionId = "" }),
			code:    invalid, want: errorData{Kind: acpterm.ErrInvalidParams, Field: "sessionId"},
		},
		"no command, which the SDK refuses": {
			request: with(func(r *acp.CreateTerminalRequest) { r.Command = "" }),
			code:    invalid,
		},
		"a session that was not opened": {
			settings: settings{manager: acpterm.Options{RequireSessions: true}},
			request:  request("sleep"),
			code:     acpterm.CodeResourceNotFound, want: errorData{Kind: acpterm.ErrSessionNotFound},
		},
		"a policy's no": {
			settings: settings{manager: deny},
			request:  request("sleep"),
			code:     invalid, want: errorData{Kind: acpterm.ErrDenied, Rule: "no"},
		},
		"too much to keep": {
			settings: settings{manager: acpterm.Options{MaxOutputBytes: 1}},
			request:  request("sleep"),
			code:     acpterm.CodeRequestCancelled, want: errorData{Kind: acpterm.ErrQuota, Quota: acpterm.QuotaOutputBytes},
		},
		"too long": {
			request: request("print", strings.Repeat("x", 5<<20)),
			code:    acpterm.CodeRequestCancelled, want: errorData{Kind: acpterm.ErrQuota, Quota: acpterm.QuotaCreateBytes},
		},
		"what does not fit a line, but for its kind": {
			settings: settings{manager: deny, terminals: &acpsdk.Options{MaxLineBytes: 4<<10 + 40}},
			request:  request("sleep"),
			code:     invalid, want: errorData{Kind: acpterm.ErrDenied},
		},
		"no terminals": {
			settings: settings{none: true},
			request:  request("sleep"),
			code:     -32601, want: errorData{RequiredCapability: "clientCapabilities.terminal"},
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			c := converse(t, test.settings)
			_, err := c.CreateTerminal(t.Context(), test.request)
			require.Equal(t, test.want, requireError(t, err, test.code))
			require.Empty(t, c.manager.Terminals())
		})
	}
}

// An id counts in its session alone.
func TestTerminalErrors(t *testing.T) {
	c := converse(t, settings{})
	id, _ := c.create(request("sleep"))
	for name, test := range map[string]struct {
		session  acp.SessionId
		terminal string
		code     int
		want     errorData
	}{
		"an id that was never given out": {"s", "term_1", acpterm.CodeResourceNotFound, errorData{Kind: acpterm.ErrTerminalNotFound}},
		"another session's":              {"other", id, acpterm.CodeResourceNotFound, errorData{Kind: acpterm.ErrTerminalNotFound}},
		"no session":                     {"", id, -32602, errorData{Kind: acpterm.ErrInvalidParams, Field: "sessionId"}},
		"no id, which the SDK refuses":   {"s", "", -32602, errorData{}},
	} {
		t.Run(name, func(t *testing.T) {
			var errs [4]error
			_, errs[0] = c.TerminalOutput(t.Context(), acp.TerminalOutputRequest{SessionId: test.session, TerminalId: test.terminal})
			_, errs[1] = c.WaitForTerminalExit(t.Context(), acp.WaitForTerminalExitRequest{SessionId: test.session, TerminalId: test.terminal})
			_, errs[2] = c.KillTerminal(t.Context(), acp.KillTerminalRequest{SessionId: test.session, TerminalId: test.terminal})
			_, errs[3] = c.ReleaseTerminal(t.Context(), acp.ReleaseTerminalRequest{SessionId: test.session, TerminalId: test.terminal})
			for _, err := range errs {
				require.Equal(t, test.want, requireError(t, err, test.code))
			}
		})
	}
}

// The agent's types have no room for what is sent here.
func TestLimitAboveInt(t *testing.T) {
	w := newWires()
	m, _, _ := connectClient(t, settings{manager: acpterm.Options{MaxOutputByteLimit: 5000}}, w)
	conn := acp.NewConnection(nil, w.toClient, w.fromClient)
	conn.SetLogger(slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		w.toAgent.Close()
		<-conn.Done()
	})
	create := func(limit string) (*acpterm.Terminal, error) {
		req := request("print", "<&>\"outputByteLimit\"\u2028é")
		created, err := acp.SendRequest[acp.CreateTerminalResponse](conn, t.Context(), acp.ClientMethodTerminalCreate, map[string]any{
			"sessionId": "s", "command": req.Command, "args": req.Args, "outputByteLimit": json.RawMessage(limit),
		})
		if err != nil {
			return nil, err
		}
		return m.Terminal("s", acpterm.TerminalID(created.TerminalId))
	}
	for limit, want := range map[string]uint64{
		"7": 7, "0": 0, "null": 5000, "9223372036854775807": 5000,
		"9223372036854775808": 5000, "18446744073709551615": 5000,
	} {
		term, err := create(limit)
		require.NoError(t, err, limit)
		require.Equal(t, want, term.OutputByteLimit(), limit)
		_, err = term.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(len("<&>\"outputByteLimit\"\u2028é")), term.OutputTotal(), "what else there is in the request arrives")
	}
	for _, limit := range []string{"18446744073709551616", "-1", "-9223372036854775809", "1.5", "1e30", `"7"`} {
		_, err := create(limit)
		requireError(t, err, -32602)
	}
}

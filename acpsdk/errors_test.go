package acpsdk_test

// Errors reach the agent with their code and data.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acpsdk"
	"github.com/acpterm/acpterm/acptermtest"
	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
)

func TestCreateErrors(t *testing.T) {
	type create = acp.CreateTerminalRequest
	deny := acpterm.Options{Policy: acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
		return acpterm.Decision{Verdict: acpterm.VerdictDeny, Rule: "no", Reason: "no"}
	})}
	const (
		invalid   = -32602
		notFound  = -32002
		cancelled = -32800
	)
	field := func(name string) errorData { return errorData{Kind: acpterm.ErrInvalidParams, Field: name} }
	for _, test := range []struct {
		name     string
		settings settings
		change   func(*create)
		code     int
		want     errorData
	}{
		{"no such program", settings{}, func(r *create) { r.Command = "no-such-program-anywhere" },
			notFound, errorData{Kind: acpterm.ErrCommandNotFound}},
		{"variable without a name", settings{}, func(r *create) { r.Env = []acp.EnvVariable{{Value: "x"}} },
			invalid, field("env[0].name")},
		{"no session", settings{}, func(r *create) { r.SessionId = "" }, invalid, field("sessionId")},
		{"no command, refused by the SDK", settings{}, func(r *create) { r.Command = "" }, invalid, errorData{}},
		{"session not open", settings{manager: acpterm.Options{RequireSessions: true}}, nil,
			notFound, errorData{Kind: acpterm.ErrSessionNotFound}},
		{"denied", settings{manager: deny}, nil, invalid, errorData{Kind: acpterm.ErrDenied, Rule: "no"}},
		{"quota of output", settings{manager: acpterm.Options{MaxReservedBytes: 1}}, nil,
			cancelled, errorData{Kind: acpterm.ErrQuota, Quota: "reserved_bytes"}},
		{"data that does not fit the line", settings{manager: deny, terminals: &acpsdk.Options{MaxLineBytes: 4<<10 + 40}}, nil,
			invalid, errorData{Kind: acpterm.ErrDenied}},
		{"no terminals", settings{noTerminals: true}, nil, -32601, errorData{RequiredCapability: "clientCapabilities.terminal"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := converse(t, test.settings)
			req := request("sleep")
			if test.change != nil {
				test.change(&req)
			}
			_, err := c.CreateTerminal(t.Context(), req)
			require.Equal(t, test.want, requireError(t, err, test.code))
			require.Empty(t, c.manager.Terminals())
		})
	}
}

// An id is only valid in its session.
func TestTerminalErrors(t *testing.T) {
	c := converse(t, settings{})
	id, _ := c.create(request("sleep"))
	for name, test := range map[string]struct {
		session  acp.SessionId
		terminal string
		code     int
		want     errorData
	}{
		"unknown id":                {"s", "term_1", -32002, errorData{Kind: acpterm.ErrTerminalNotFound}},
		"id of another session":     {"other", id, -32002, errorData{Kind: acpterm.ErrTerminalNotFound}},
		"no session":                {"", id, -32602, errorData{Kind: acpterm.ErrInvalidParams, Field: "sessionId"}},
		"no id, refused by the SDK": {"s", "", -32602, errorData{}},
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

// noStart is a Runner that has no permission to start a command.
type noStart struct{ acptermtest.Commands }

func (noStart) Start(context.Context, acpterm.StartRequest) (acpterm.Process, error) {
	return nil, &fs.PathError{Op: "start", Path: "/usr/bin/x", Err: fs.ErrPermission}
}

// A client that overrides a method can examine the cause of an error, also if its data does not fit the line.
func TestCause(t *testing.T) {
	for _, options := range []*acpsdk.Options{nil, {MaxLineBytes: 4<<10 + 40}} {
		c := converse(t, settings{manager: acpterm.Options{Runner: noStart{acptermtest.Commands{"x": acptermtest.Block}}}, terminals: options})
		_, sent := c.CreateTerminal(t.Context(), acp.CreateTerminalRequest{SessionId: "s", Command: "x"})
		require.Equal(t, errorData{Kind: acpterm.ErrInternal}, requireError(t, sent, -32603))
		require.Equal(t, sent, acpsdk.Cause(sent), "the agent cannot see it")

		err := <-c.client.failed
		require.IsType(t, (*acp.RequestError)(nil), err)
		require.ErrorIs(t, acpsdk.Cause(err), fs.ErrPermission)
		require.ErrorIs(t, acpsdk.Cause(fmt.Errorf("wrapped: %w", err)), fs.ErrPermission)
		e, ok := errors.AsType[*acpterm.Error](acpsdk.Cause(err))
		require.True(t, ok)
		require.Equal(t, acpterm.ErrInternal, e.Kind)
	}
	_, err := new(acpsdk.Terminals).CreateTerminal(t.Context(), request("sleep"))
	_, ok := errors.AsType[*acpterm.CapabilityError](acpsdk.Cause(err))
	require.True(t, ok)
	for _, err := range []error{nil, fs.ErrPermission, acp.NewInternalError("x")} {
		require.Equal(t, err, acpsdk.Cause(err))
	}
}

// The requests are raw JSON, since the SDK's type cannot represent these limits.
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
	for limit, want := range map[string]int64{
		"7": 7, "0": 0, "null": 5000, "9223372036854775807": 5000,
		"9223372036854775808": 5000, "18446744073709551615": 5000,
	} {
		term, err := create(limit)
		require.NoError(t, err, limit)
		require.Equal(t, want, term.Info().OutputByteLimit, limit)
		_, err = term.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(len("<&>\"outputByteLimit\"\u2028é")), term.OutputTotal(), "the other members are unchanged")
	}
	for _, limit := range []string{"18446744073709551616", "-1", "-9223372036854775809", "1.5", "1e30", `"7"`} {
		_, err := create(limit)
		requireError(t, err, -32602)
	}
}

package embedtest

// Attacks on each guard that decides which commands may run, over the wire where they come that way. Each test fails
// without its guard.

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
)

// A policy finds the embedder's program, whatever variables the agent sets.
func TestProposalLookPath(t *testing.T) {
	bin, evil := hosttest.Programs(t, "real"), hosttest.Programs(t, "tool", "own")
	tool := filepath.Join(bin, "real")
	if runtime.GOOS != "windows" {
		require.NoError(t, os.Symlink("real", filepath.Join(bin, "tool")))
	} else {
		tool = filepath.Join(bin, "tool.exe")
		require.NoError(t, os.WriteFile(tool, nil, 0o700))
	}
	var looked, launched []acpterm.Command
	for _, remote := range []bool{false, true} {
		policy := acpterm.PolicyFunc(func(ctx context.Context, p acpterm.Proposal) acpterm.Decision {
			require.Equal(t, remote, p.Remote())
			path, err := p.LookPath(ctx, "tool")
			require.NoError(t, err)
			if remote {
				require.Equal(t, "/bin/x", path)
				require.Contains(t, looked[len(looked)-1].Env, "PATH="+bin)
				return acpterm.Decision{}
			}
			require.Equal(t, tool, path)
			_, err = p.LookPath(ctx, "own")
			require.ErrorIs(t, err, acpterm.ErrCommandNotFound)
			return acpterm.Decision{}
		})
		options := acpterm.Options{Policy: policy, Commands: acpterm.CommandOptions{Env: []string{"PATH=" + bin}}}
		if remote {
			options.Runner = keeping(&looked, &launched)
		}
		m := hosttest.NewManager(t, &options)
		_, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: hosttest.Executable(),
			Env: []acpterm.EnvVariable{{Name: "PATH", Value: evil}}}, nil)
		require.ErrorIs(t, err, acpterm.ErrDenied)
	}
	_, err := acpterm.Proposal{}.LookPath(t.Context(), "no-such-program")
	require.ErrorIs(t, err, acpterm.ErrCommandNotFound)
}

func TestDecisionsAreEvents(t *testing.T) {
	hook, events := hosttest.Record()
	deny := acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
		if p.Command.Args[len(p.Command.Args)-1] == "bad" {
			return acpterm.Decision{Rule: "no bad", Reason: "it is bad"}
		}
		return acpterm.Decision{Verdict: acpterm.VerdictAllow, Rule: "good"}
	})
	m := hosttest.NewManager(t, &acpterm.Options{Policy: deny}, hook)
	p := hosttest.ConnectPeer(t, m, nil)
	req := hosttest.ChildRequest("print", "bad")
	req.Env = []acpterm.EnvVariable{{Name: "TOKEN", Value: "secret"}}
	r := p.Ask(`1`, acpterm.MethodCreate, req)
	require.EqualValues(t, -32602, r.Error.Code)
	var data map[string]any
	require.NoError(t, json.Unmarshal(*r.Error.Data, &data))
	require.Contains(t, data["command"], "print bad")
	delete(data, "command")
	require.Equal(t, map[string]any{"kind": "denied", "reason": "it is bad", "rule": "no bad", "sessionId": "s"}, data)
	require.Contains(t, r.Error.Message, "it is bad")
	d := (<-events).(*acpterm.DecisionEvent)
	require.Equal(t, acpterm.VerdictDeny, d.Verdict)
	require.Equal(t, "no bad", d.Rule)
	require.Equal(t, []string{"TOKEN"}, d.Variables)
	require.ErrorIs(t, d.Err, acpterm.ErrDenied)
	require.NotEmpty(t, d.TerminalID)
	written, err := json.Marshal(d)
	require.NoError(t, err)
	require.NotContains(t, string(written), "secret")

	term := hosttest.Create(t, m, hosttest.ChildRequest("print", "good"))
	d = (<-events).(*acpterm.DecisionEvent)
	require.Equal(t, acpterm.VerdictAllow, d.Verdict)
	require.Equal(t, term.ID(), d.TerminalID)
	require.Equal(t, term.ID(), (<-events).(*acpterm.EndEvent).TerminalID)
}

package signin_test

// Tests of Run's errors before anything runs, on every system.

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/signin"
)

// silent is a terminal without input.
type silent struct{ io.ReadWriter }

func TestRunRefusesWhatItCannotUse(t *testing.T) {
	good, ran := agentCommand(t)
	method := signin.Method{ID: "m", Args: []string{"login"}}
	badMethod := signin.Method{ID: "m", Args: []string{"a\x00"}}
	missing := exec.Command("acpterm-no-such-agent")
	legacy := signin.Method{ID: "m", LegacyCommand: []string{"acpterm-no-such-program"}}
	for name, c := range map[string]struct {
		agent  *exec.Cmd
		method signin.Method
		term   io.ReadWriter
		kind   acpterm.Kind
	}{
		"no agent":          {nil, method, silent{}, acpterm.ErrInvalidParams},
		"an empty agent":    {new(exec.Cmd), method, silent{}, acpterm.ErrInvalidParams},
		"no terminal":       {good, method, nil, acpterm.ErrInvalidParams},
		"a missing agent":   {missing, method, silent{}, acpterm.ErrCommandNotFound},
		"a missing program": {good, legacy, silent{}, acpterm.ErrCommandNotFound},
		"a bad argument":    {good, badMethod, silent{}, acpterm.ErrInvalidParams},
	} {
		err := signin.Run(t.Context(), c.agent, c.method, c.term, &signin.Options{AllowLegacyCommand: true})
		require.ErrorIs(t, err, c.kind, name)
		e, ok := errors.AsType[*signin.Error](err)
		require.True(t, ok)
		require.Nil(t, e.Status)
	}
	require.NoFileExists(t, ran)
}

// agentproc.Start has changed the exec.Cmd of an Agent.
func TestRunRefusesAnAgentThatWasStarted(t *testing.T) {
	cmd, _ := agentCommand(t)
	agent, err := agentproc.Start(t.Context(), cmd, nil)
	require.NoError(t, err)
	require.NoError(t, agent.Close())
	err = signin.Run(context.Background(), cmd, signin.Method{ID: "m"}, silent{}, nil)
	require.ErrorIs(t, err, acpterm.ErrInvalidParams)
	require.ErrorContains(t, err, "was started before")
}

func TestRunRefusesASessionThatIsOpen(t *testing.T) {
	m := acptermtest.NewManager(t, nil)
	require.NoError(t, m.OpenSession("s", nil))
	cmd, ran := agentCommand(t)
	err := signin.Run(t.Context(), cmd, signin.Method{ID: "m"}, nil, &signin.Options{Manager: m, Session: "s"})
	require.ErrorIs(t, err, acpterm.ErrInvalidParams)
	require.NoFileExists(t, ran)
	require.ErrorIs(t, m.OpenSession("s", nil), acpterm.ErrInvalidParams) // it is still open
}

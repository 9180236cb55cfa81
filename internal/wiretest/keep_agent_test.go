package wiretest

// A real agent, a process that is killed and started again, and a real dev server.

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

// runAgent is the agent: FILE COMMAND [ARG...]. A prompt runs the command. session/load returns its output so far. The
// file has the terminal's id.
func runAgent(args []string) {
	conn := jsonrpc2.NewConn(context.Background(),
		jsonrpc2.NewPlainObjectStream(agentproc.JoinStdio(os.Stdin, os.Stdout)), devAgent(args))
	<-conn.DisconnectNotify()
}

type devAgent []string

func (a devAgent) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	file, client := a[0], agent.NewClient(conn, acpterm.ClientCapabilities{Terminal: true}, nil)
	go jsonrpc2.HandlerWithError(func(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) (any, error) {
		if req.Method == "session/prompt" {
			t, err := client.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s", Command: a[1], Args: a[2:]})
			if err != nil {
				return nil, err
			}
			return nil, os.WriteFile(file, []byte(t.ID()), 0o600)
		}
		id, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		return client.Terminal("s", acpterm.TerminalID(id)).Output(ctx)
	}).Handle(ctx, conn, req)
}

// A dev server goes on while its agent is killed and started again, and the agent sees its output.
func TestADevServerOutlivesItsAgent(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil && os.Getenv("ACPTERM_REQUIRE_PYTHON") == "" {
		t.Skip("there is no python3")
	}
	require.NoError(t, err)
	m := hosttest.NewManager(t, nil)
	serve := []string{python, "-m", "http.server", "--bind", "127.0.0.1", "--directory", t.TempDir(), "0"}
	args := hosttest.ChildArgs("agent", append([]string{filepath.Join(t.TempDir(), "id")}, serve...)...)
	connect := func() (*agentproc.Process, *acpterm.Handler, *jsonrpc2.Conn) {
		process, err := agentproc.Start(t.Context(), exec.Command(args[0], args[1:]...), nil)
		require.NoError(t, err)
		h, conn := hosttest.Connection(t.Context(), m, process, kept())
		t.Cleanup(func() { process.Close() })
		return process, h, conn
	}
	session := hosttest.Object{"sessionId": "s"}
	process, h, conn := connect()
	require.NoError(t, conn.Call(t.Context(), "session/prompt", session, nil))
	server := m.SessionTerminals("s")[0]
	url := regexp.MustCompile(`http://[^/]+/`)
	hosttest.AwaitOutput(t, server, "/) ...")
	get := func(path string) {
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		r, err := client.Get(url.FindString(server.Output().Output) + path)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, r.Body)
		require.NoError(t, err)
		require.NoError(t, r.Body.Close())
	}
	get("?before")
	require.NoError(t, process.Kill())
	<-conn.DisconnectNotify()
	require.NoError(t, h.Close())
	get("?between")

	process, h, conn = connect()
	require.Len(t, h.TakeOver("s"), 1)
	get("?after")
	hosttest.AwaitOutput(t, server, "?after")
	var raw json.RawMessage
	require.NoError(t, conn.Call(t.Context(), "session/load", session, &raw))
	var out acpterm.TerminalOutputResponse
	require.NoError(t, json.Unmarshal(raw, &out))
	for _, request := range []string{"?before", "?between", "?after"} {
		require.Equal(t, 1, strings.Count(out.Output, request), out.Output)
	}
	require.NoError(t, process.Close())
	require.NoError(t, h.Close())
	require.Equal(t, acpterm.StateRunning, server.State(), "until the time is over, or the Manager is closed")
}

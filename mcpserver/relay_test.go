package mcpserver

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/mcpserver/internal/relay"
)

// valueOf returns a variable of an entry for stdio.
func valueOf(e *Entry, name string) string {
	for _, v := range e.Env {
		if v.Name == name {
			return v.Value
		}
	}
	return ""
}

// setValue replaces a variable of an entry for stdio.
func setValue(e *Entry, name, value string) {
	for i := range e.Env {
		if e.Env[i].Name == name {
			e.Env[i].Value = value
		}
	}
}

// exchange runs a relay, writes input to it and does not close its standard input before it exits. It returns the error
// of the process, with what the relay said.
func exchange(cmd *exec.Cmd, input string) error {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	defer stdin.Close()
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return err
	}
	io.WriteString(stdin, input)
	if err := cmd.Wait(); err != nil {
		return errors.New(err.Error() + ": " + said.String())
	}
	return nil
}

func TestRelayProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "acpterm-mcp-relay")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	out, err := exec.Command("go", "build", "-o", path, "./cmd/acpterm-mcp-relay").CombinedOutput()
	require.NoError(t, err, string(out))
	t.Setenv("PATH", filepath.Dir(path)+string(os.PathListSeparator)+os.Getenv("PATH"))
	f := newFront(t, blocking, ListenOptions{Relay: path})
	f.listener.options.Relay = "" // found in PATH
	e := f.entry(agentStdio)
	require.Equal(t, path, e.Command)
	r, _ := call[commandResult](t, f.connect(e), "run", object{"command": "hello", "args": []string{}})
	require.Equal(t, "hello\n", r.Output)

	said, err := exec.Command(path).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(said), "started by agents")
}

func TestRelayHidesItsSecret(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	e := f.entry(agentStdio)
	token := valueOf(e, relay.TokenVariable)
	require.NotEmpty(t, token)
	require.NotContains(t, strings.Join(append(e.Args, e.Command), " "), token)
}

func TestRelayWithWrongToken(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	closed, wrong, short := f.entry(agentStdio), f.entry(agentStdio), f.entry(agentStdio)
	require.NoError(t, closed.Close())
	setValue(wrong, relay.TokenVariable, strings.Repeat("A", 26))
	setValue(short, relay.TokenVariable, "x")
	for _, e := range []*Entry{closed, wrong, short} {
		err := exchange(relayCommand(e), initializeRequest+"\n")
		require.ErrorContains(t, err, "exit status 1")
		require.ErrorContains(t, err, "the client refused the connection")
		require.NotContains(t, err.Error(), valueOf(e, relay.TokenVariable)+"\n")
	}
	none := f.entry(agentStdio)
	setValue(none, relay.TokenVariable, "")
	require.ErrorContains(t, exchange(relayCommand(none), ""), "must be set")
	gone := f.entry(agentStdio)
	setValue(gone, relay.SocketVariable, filepath.Join(t.TempDir(), "s"))
	require.ErrorContains(t, exchange(relayCommand(gone), ""), "connect to the client")
}

func TestRelayHalfCloses(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	run := func(id, command string) string {
		return `{"jsonrpc":"2.0","id":"` + id + `","method":"tools/call","params":{"name":"run",` +
			`"arguments":{"command":"` + command + `","args":[],"wait_ms":600000}}}` + "\n"
	}
	cmd := relayCommand(f.entry(agentStdio))
	input := initializeRequest + "\n" + initialized + "\n" + run("long", "serve") + run("short", "hello")
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Contains(t, string(out), `"serverInfo"`)
	require.Contains(t, string(out), `"id":"short"`)
	require.Contains(t, string(out), `hello\n`)
	require.NotContains(t, string(out), `"id":"long"`) // Read does not wait that long
	for _, terminal := range f.manager.Terminals() {
		f.released(terminal)
	}
}

func TestRelayRunsInAnotherDirectory(t *testing.T) {
	f := newFront(t, blocking, ListenOptions{})
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", ".")
	cmd := relayCommand(f.entry(agentStdio))
	cmd.Dir = t.TempDir()
	require.NoError(t, f.connectTo(&mcp.CommandTransport{Command: cmd}).Ping(t.Context(), nil))
}

func TestRelayEndsWithTheHost(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	e := f.entry(agentStdio)
	cmd := relayCommand(e)
	stdin, stdout := leaktest.StartPiped(t, cmd)
	defer stdin.Close() // later
	_, err := io.WriteString(stdin, initializeRequest+"\n")
	require.NoError(t, err)
	_, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, e.Close())
	require.NoError(t, cmd.Wait())
}

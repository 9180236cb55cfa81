package mcptest

// The newest MCP inspector, which needs a newer Node.js. Its program mcpdo keeps a session open, so it calls all tools
// with the id of a command. Together they have 300 MB.
//
//	ACPTERM_TEST_INSPECTOR=1 go test -v -run '^TestNewestInspector$' ./internal/checks/mcptest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// inspectorVariable, set to anything, makes the test install and run the newest inspector.
const inspectorVariable = "ACPTERM_TEST_INSPECTOR"

func TestNewestInspector(t *testing.T) {
	if os.Getenv(inspectorVariable) == "" {
		t.Skipf("it installs 300 MB from npm: %s=1 has it run", inspectorVariable)
	}
	e := newEnvironment(t)
	bin := installInspector(t)
	for _, test := range []struct{ transport, era string }{
		{"stdio", "legacy"}, {"stdio", "modern"}, {"relay", "modern"}, {"http", "legacy"},
	} {
		t.Run(test.transport+" "+test.era, func(t *testing.T) {
			dir := t.TempDir()
			s := transports[test.transport](t, e, dir)
			connect(t, bin, s, test.era).callAll(dir)
			seen := checkAll(t, s)
			for _, message := range []string{
				"tools/list", "ok run", "ok wait", "ok output", "ok list", "ok kill", "ok release", "isError run",
			} {
				require.NotZero(t, seen[message], "%s: %v", message, seen)
			}
			require.Equal(t, 2, seen["elicitation/create"]+seen["input_required"])
			require.Equal(t, test.era == "modern", seen["initialize"] == 0)
		})
	}
}

// installInspector returns the directory with the programs, including Node.js if the lock file has it.
func installInspector(t *testing.T) (bin string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join("testdata/inspector", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	npm := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund")
	npm.Dir = dir
	out, err := npm.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return filepath.Join(dir, "node_modules", ".bin")
}

// inspector is a session of mcpdo. Its commands go to a daemon of its own.
type inspector struct {
	*testing.T
	bin string
	env []string
}

// connect connects the inspector to a server, which is named acpterm.
func connect(t *testing.T, bin string, s server, era string) *inspector {
	t.Helper()
	home, err := os.MkdirTemp("", "mcpdo") // short, because a socket is in it
	require.NoError(t, err)
	i := &inspector{T: t, bin: bin, env: append(os.Environ(),
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+home, "MCP_INSPECTOR_SECRET_STORE=memory",
		"MCP_INSPECTOR_DAEMON_DIR="+filepath.Join(home, "d"), "MCP_INSPECTOR_DAEMON_TOKEN=test")}
	t.Cleanup(func() {
		i.run("daemon", "stop")
		require.NoError(t, os.RemoveAll(home))
	})
	entry := object{"command": s.Command, "args": s.Args, "env": s.Env}
	if s.URL != "" {
		entry = object{"type": "streamable-http", "url": s.URL, "headers": s.Headers}
	}
	config, err := json.Marshal(object{"mcpServers": object{"acpterm": entry}})
	require.NoError(t, err)
	file := filepath.Join(home, "mcp.json")
	require.NoError(t, os.WriteFile(file, config, 0o600))
	i.run("connect", "acpterm", "--config", file, "--era", era)
	return i
}

// toolFailed is the exit code of mcpdo for a result with isError.
const toolFailed = 5

// run runs a command of mcpdo, and returns what it prints.
func (i *inspector) run(arguments ...string) string {
	i.Helper()
	cmd := exec.Command(filepath.Join(i.bin, "mcpdo"), append([]string{"--format", "json"}, arguments...)...)
	cmd.Env = i.env
	var messages bytes.Buffer
	cmd.Stderr = &messages
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != toolFailed {
		require.NoError(i, err, "%q: %s%s", arguments, out, &messages)
	}
	return string(out)
}

// result is what mcpdo prints about a call.
type result struct {
	IsError            bool
	Content            []struct{ Text string }
	StructuredContent  struct{ ID, Output, State, Signal string }
	ElicitationPending struct{ ElicitationID, Message string }
}

func (i *inspector) call(tool string, arguments object) (r result) {
	i.Helper()
	encoded, err := json.Marshal(arguments)
	require.NoError(i, err)
	require.NoError(i, json.Unmarshal([]byte(i.run("@acpterm", "tools/call", tool, string(encoded))), &r))
	return r
}

// callAll calls all tools of a server that runs commands in dir, and ends the session.
func (i *inspector) callAll(dir string) {
	i.Helper()
	require.Contains(i, i.run("@acpterm", "tools/list"), `"release"`)
	id := i.call("run", object{"command": "echo ready; exec sleep 1000", "wait_ms": 0}).StructuredContent.ID
	ready := i.call("wait", object{"id": id, "until": "ready"}).StructuredContent
	require.Equal(i, "running", ready.State)
	require.Equal(i, "ready\n", i.call("output", object{"id": id}).StructuredContent.Output)
	require.Contains(i, i.call("list", object{}).Content[0].Text, id)
	require.Equal(i, "SIGTERM", i.call("kill", object{"id": id}).StructuredContent.Signal)
	require.Equal(i, id, i.call("release", object{"id": id}).StructuredContent.ID)
	require.Contains(i, i.call("list", object{}).Content[0].Text, "no commands")

	for _, answer := range []string{"answer:=allow_once", "--decline"} {
		question := i.call("run", object{"command": "touch asked"}).ElicitationPending
		require.Contains(i, question.Message, "touch asked")
		var r result
		said := i.run("@acpterm", "elicitation/respond", question.ElicitationID, answer)
		require.NoError(i, json.Unmarshal([]byte(said), &r))
		require.Equal(i, answer == "--decline", r.IsError, said)
		require.Equal(i, answer != "--decline", os.Remove(filepath.Join(dir, "asked")) == nil)
	}
	i.run("disconnect", "@acpterm")
}

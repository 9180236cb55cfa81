//go:build linux

package conformance

// Real ACP adapters, unmodified from npm (pinned by testdata/adapters), on the other end of agentproc.Start. They run
// commands themselves and report them by the _meta convention of v1. Then the test checks the contents of the manager.
// A scripted model on loopback decides which commands to run (agents_model_test.go), so the adapters need neither a
// login nor a network. Their installation needs a network for packages not in npm's cache: 400 MB the first time. The
// installation needs 1 GB of temporary files, and on Linux it includes the Node.js 22 that claude-agent-acp needs.
//
//	ACPTERM_TEST_ADAPTERS=1 go test -v -run '^TestAdapters$' ./internal/checks/conformance

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/internal/leaktest"
)

// adaptersVariable, set to anything, makes the test install and run the adapters.
const adaptersVariable = "ACPTERM_TEST_ADAPTERS"

// adapterCommand is a command for a shell.
type adapterCommand struct {
	name, text string
	late       bool // it ends after the turn has ended
}

var adapterCommands = []adapterCommand{
	{name: "succeeds", text: `printf 'one\ntwo\n'`},
	{name: "fails", text: `printf boom; exit 3`},
	{name: "prints nothing", text: `true`},
	{name: "runs on", text: `until test -e turn-is-over; do sleep 0.05; done; printf late`, late: true},
}

// adapter is a program, with its expected reports of the commands.
type adapter struct {
	program string
	env     func(model, home string) []string
	mode    string // the session is set to it unless empty
	tool    string // of the model, for commands
	input   func(adapterCommand) object
	want    map[string]shownCommand // by the command's name
}

// shownCommand describes a terminal: a regular expression for its whole output, and the end of the command.
type shownCommand struct{ output, status string }

var adapters = []adapter{{
	program: "claude-agent-acp",
	env: func(model, home string) []string {
		return []string{
			"ANTHROPIC_BASE_URL=" + model, "ANTHROPIC_AUTH_TOKEN=none", "CLAUDE_CONFIG_DIR=" + home,
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		}
	},
	mode: "default", // which asks the client; otherwise a second model decides
	tool: "Bash",
	input: func(c adapterCommand) object {
		return object{"command": c.text, "description": c.name, "run_in_background": c.late}
	},
	want: map[string]shownCommand{
		"succeeds":       {"one\ntwo", "exit code 0"},
		"fails":          {"Exit code 3\nboom", "exit code 3"},
		"prints nothing": {"", "exit code 0"},
		"runs on":        {"Command running in background with ID: .*", "not known"}, // it never sends the output
	},
}, {
	program: "codex-acp",
	env: func(model, home string) []string {
		config := must(json.Marshal(object{"model": "scripted", "model_provider": "scripted", "model_providers": object{
			"scripted": object{
				"name": "scripted", "base_url": model + "/v1", "wire_api": "responses", "requires_openai_auth": false,
			},
		}}))
		return []string{
			"CODEX_HOME=" + home, "CODEX_CONFIG=" + string(config), "MODEL_PROVIDER=scripted",
			"INITIAL_AGENT_MODE=agent-full-access", "NO_BROWSER=1",
		}
	},
	tool: "exec_command",
	input: func(c adapterCommand) object {
		wait := 30_000 // milliseconds; then the model gets the output up to now, and the command continues
		if c.late {
			wait = 250
		}
		return object{"cmd": c.text, "yield_time_ms": wait}
	},
	want: map[string]shownCommand{
		"succeeds":       {"one\ntwo\n", "exit code 0"},
		"fails":          {"boom", "exit code 3"},
		"prints nothing": {"", "exit code 0"},
		"runs on":        {"late", "exit code 0"},
	},
}}

func TestAdapters(t *testing.T) {
	if os.Getenv(adaptersVariable) == "" {
		t.Skipf("it downloads 400 MB from npm: %s=1 has it run", adaptersVariable)
	}
	bin := npmInstall(t, "testdata/adapters")
	for _, a := range adapters {
		t.Run(a.program, func(t *testing.T) { a.test(t, bin, "") })
		// Some clients do not advertise it; the adapters send terminal_output to them.
		t.Run(a.program+" without delta", func(t *testing.T) { a.test(t, bin, "terminal_output_delta") })
	}
}

// npmInstall installs what the lock file in a directory names, and returns the directory of its programs, including
// Node.js if the lock file has it. Install scripts run only for the named packages.
func npmInstall(t *testing.T, locked string, scripts ...string) (bin string) {
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join(locked, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	npm := func(arguments ...string) {
		cmd := exec.CommandContext(t.Context(), "npm", arguments...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	// npm ci refuses a lock file that lacks the packages for other systems, which not every registry has.
	npm("install", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund")
	if len(scripts) > 0 {
		npm(append([]string{"rebuild"}, scripts...)...)
	}
	return filepath.Join(dir, "node_modules", ".bin")
}

// test makes the adapter run all commands in a turn. The client advertises the capabilities of the handler and of
// agentterm, except the capability without, unless it is empty.
func (a adapter) test(t *testing.T, bin, without string) {
	m := acptermtest.NewManager(t, nil)
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute) // otherwise nothing ends a hanging adapter
	defer cancel()
	session := a.converse(ctx, t, m, bin, dir, without)

	var turn struct{ StopReason string }
	require.NoError(t, session.conn.Call(ctx, "session/prompt", object{
		"sessionId": session.id, "prompt": []object{{"type": "text", "text": "go"}},
	}, &turn))
	require.Equal(t, "end_turn", turn.StopReason)
	terminals := m.Terminals()
	require.Len(t, terminals, len(adapterCommands))
	for i, c := range adapterCommands {
		term := terminals[i]
		if c.late {
			require.Equal(t, acpterm.StateRunning, term.State(), c.name)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "turn-is-over"), nil, 0o600))
		}
		status, err := term.Wait(ctx)
		require.NoError(t, err, c.name)
		info := term.Info()
		t.Logf("%s: %q, %v", info.Command, term.Output().Output, status)
		require.True(t, info.Attached, c.name)
		require.Equal(t, session.id, info.SessionID, c.name)
		require.Equal(t, c.text, info.Command.String(), c.name)
		require.Regexp(t, `\A`+a.want[c.name].output+`\z`, term.Output().Output, c.name)
		require.Equal(t, a.want[c.name].status, status.String(), c.name)
	}
}

// adapterSession is a session with an adapter.
type adapterSession struct {
	conn *jsonrpc2.Conn
	id   acpterm.SessionID
}

// converse starts the adapter and a session in dir. It ends with the test, which fails if anything is left then.
func (a adapter) converse(
	ctx context.Context, t *testing.T, m *acpterm.Manager, bin, dir, without string,
) (session adapterSession) {
	model := new(player)
	for _, c := range adapterCommands {
		model.moves = append(model.moves, move{tool: a.tool, input: a.input(c)})
	}
	server := httptest.NewServer(model)
	t.Cleanup(server.Close)
	t.Cleanup(func() { t.Log("requests that were refused: ", model.refused) })
	home := t.TempDir()
	cmd := exec.Command(filepath.Join(bin, a.program))
	cmd.Dir = dir
	cmd.Env = append(a.env(server.URL, home), "HOME="+home, "TMPDIR="+home,
		"PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"HTTP_PROXY="+server.URL, "HTTPS_PROXY="+server.URL, "NO_PROXY=127.0.0.1")
	process, err := agentproc.Start(ctx, cmd, &agentproc.Options{
		Stderr: func(line string) { t.Logf("%s: %s", a.program, line) },
	})
	require.NoError(t, err)
	h := acpterm.NewHandler(m, nil)
	rest := h.Filter(context.WithoutCancel(ctx), process)
	session.conn = jsonrpc2.NewConn(context.WithoutCancel(ctx), jsonrpc2.NewPlainObjectStream(rest),
		agentterm.New(h, nil).Handler(jsonrpc2.HandlerWithError(allowOnce)))
	t.Cleanup(func() {
		require.NoError(t, process.Close())
		<-session.conn.DisconnectNotify()
		require.NoError(t, h.Close())
		status, err := process.Wait(context.Background())
		require.NoError(t, err)
		t.Logf("%s ended: %v", a.program, status)
		require.Empty(t, leaktest.Running(home), "processes are left")
	})

	var version struct {
		ProtocolVersion int
		AgentInfo       struct{ Name, Version string }
	}
	capabilities := h.Capabilities()
	agentterm.Advertise(&capabilities)
	delete(capabilities.Meta, without)
	require.NoError(t, session.conn.Call(ctx, "initialize", object{
		"protocolVersion": 1, "clientCapabilities": capabilities,
	}, &version))
	require.Equal(t, 1, version.ProtocolVersion)
	t.Log(version.AgentInfo)
	var opened struct{ SessionID acpterm.SessionID }
	require.NoError(t, session.conn.Call(ctx, "session/new", object{"cwd": dir, "mcpServers": []any{}}, &opened))
	session.id = opened.SessionID
	if a.mode != "" {
		set := object{"sessionId": session.id, "modeId": a.mode}
		require.NoError(t, session.conn.Call(ctx, "session/set_mode", set, nil))
	}
	return session
}

// allowOnce allows every action that the adapter asks about, and serves nothing else.
func allowOnce(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	if req.Notif {
		return nil, nil
	}
	var params struct {
		Options []struct{ OptionID, Kind string }
	}
	if req.Method == "session/request_permission" && json.Unmarshal(*req.Params, &params) == nil {
		for _, option := range params.Options {
			if option.Kind == "allow_once" {
				return object{"outcome": object{"outcome": "selected", "optionId": option.OptionID}}, nil
			}
		}
	}
	return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: req.Method}
}

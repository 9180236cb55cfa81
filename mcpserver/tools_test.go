//go:build unix

package mcpserver

// The tools, as a client calls them.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
)

func TestRunReturnsOutputAndExitCode(t *testing.T) {
	s := connect(t, newServer(t, nil, nil), nil)
	r, text := call[commandResult](t, s, "run", object{"command": "printf 'one\\ntwo'; exit 3"})
	require.Equal(t, "one\ntwo", r.Output)
	require.Equal(t, uint32(3), *r.ExitCode)
	require.Equal(t, "ended", r.State)
	require.Equal(t, "["+r.ID+" exit code 3]\none\ntwo", text)
	require.Regexp(t, "^[0-9A-Z]{4,5}$", r.ID)
}

func TestRunPassesArgumentsDirectoryAndVariables(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "below"), 0o777))
	s := connect(t, newServer(t, nil, &Options{Session: &acpterm.SessionOptions{Roots: []string{dir}}}), nil)
	require.Contains(t, s.InitializeResult().Instructions, dir)
	r, _ := call[commandResult](t, s, "run", object{"command": "printf", "args": []string{"%s|", "a b", "$HOME", ""}})
	require.Equal(t, "a b|$HOME||", r.Output)
	r, _ = call[commandResult](t, s, "run", object{"command": "pwd; echo $A$B", "env": object{"A": "1", "B": "2"}})
	require.Equal(t, dir+"\n12\n", r.Output)
	r, _ = call[commandResult](t, s, "run", object{"command": "pwd", "cwd": "below"})
	require.Equal(t, dir+"/below\n", r.Output)
	require.Contains(t, fails(t, s, "run", object{"command": "pwd", "cwd": "/"}), "cwd")
	require.Contains(t, fails(t, s, "run", object{"command": "pwd", "cwd": ".."}), "cwd")
}

func TestNullCountsAsAbsent(t *testing.T) {
	s := connect(t, newServer(t, nil, nil), nil)
	r, _ := call[commandResult](t, s, "run", json.RawMessage(`{"command":"echo null","args":null,"cwd": null ,"env":null,`+
		`"description":null,"wait_ms":null,"kill_on_cancel":null,"max_bytes":null}`))
	require.Equal(t, "null\n", r.Output)
	require.Contains(t, fails(t, s, "run", object{"command": nil}), "missing properties")
}

func TestCommandContinuesAfterTheWait(t *testing.T) {
	s := connect(t, newServer(t, nil, nil), nil)
	r, text := call[commandResult](t, s, "run", object{"command": "echo up; sleep 1000", "wait_ms": 0})
	require.Equal(t, "running", r.State)
	require.Nil(t, r.ExitCode)
	require.Contains(t, text, "["+r.ID+" running")
	w, _ := call[commandResult](t, s, "wait", object{"id": r.ID, "until": "up"})
	require.Equal(t, "running", w.State)
	k, text := call[commandResult](t, s, "kill", object{"id": r.ID})
	require.Equal(t, "ended", k.State)
	require.Equal(t, "SIGTERM", k.Signal)
	require.Equal(t, "killed", k.EndedBy)
	require.Contains(t, text, "["+r.ID+" ended by SIGTERM, killed]")
	call[commandResult](t, s, "kill", object{"id": r.ID}) // idempotent
}

func TestWaitEndsWithTheCommandOrAMatch(t *testing.T) {
	s := connect(t, newServer(t, nil, nil), nil)
	dir := t.TempDir()
	r, _ := call[commandResult](t, s, "run", object{
		"command": "mkfifo p; printf 'listening on :8080'; cat p >/dev/null; echo; echo bye", "cwd": dir, "wait_ms": 0,
	})
	w, text := call[commandResult](t, s, "wait", object{"id": r.ID, "until": "on :80"})
	require.True(t, *w.Matched) // in an unfinished line
	require.Equal(t, "running", w.State)
	require.Contains(t, text, ", matched")
	w, text = call[commandResult](t, s, "wait", object{"id": r.ID, "until_regexp": `:\d{4}$`, "wait_ms": 0})
	require.True(t, *w.Matched)
	require.Equal(t, "listening on :8080", w.MatchedLine) // which an earlier result has shown
	require.Equal(t, "["+r.ID+" running, matched: listening on :8080; next_offset 18]", text)
	w, _ = call[commandResult](t, s, "wait", object{"id": r.ID, "until": "on", "offset": 18, "wait_ms": 1})
	require.False(t, *w.Matched)
	call[commandResult](t, s, "run", object{"command": ": >p", "cwd": dir})
	w, text = call[commandResult](t, s, "wait", object{"id": r.ID, "until": "never", "offset": 18})
	require.False(t, *w.Matched) // the output has ended
	require.Equal(t, "\nbye\n", w.Output)
	require.Contains(t, text, ", no match]")
	w, _ = call[commandResult](t, s, "wait", object{"id": r.ID, "until_regexp": "^bye$"})
	require.True(t, *w.Matched)
	w, _ = call[commandResult](t, s, "wait", object{"id": r.ID, "until_regexp": "8080.*bye"})
	require.False(t, *w.Matched) // within one line
	w, _ = call[commandResult](t, s, "wait", object{"id": r.ID})
	require.Nil(t, w.Matched)
	require.Equal(t, "ended", w.State)

	require.Contains(t, fails(t, s, "wait", object{"id": r.ID, "until": "a", "until_regexp": "b"}), "only one")
	require.Contains(t, fails(t, s, "wait", object{"id": r.ID, "until_regexp": "("}), "RE2")
	require.Contains(t, fails(t, s, "wait", object{"id": r.ID, "until": strings.Repeat("x", 5000)}), "4096 bytes")
}

func TestReleasedCommandIsUnknown(t *testing.T) {
	s := connect(t, newServer(t, nil, nil), nil)
	r, _ := call[commandResult](t, s, "run", object{"command": "sleep 1000", "wait_ms": 0, "description": "take a nap"})
	l, text := call[listResult](t, s, "list", nil)
	require.Len(t, l.Commands, 1)
	require.Equal(t, "take a nap", l.Commands[0].Description)
	require.Equal(t, r.ID+" running: sleep 1000 (take a nap)\n", text)
	call[releaseResult](t, s, "release", object{"id": r.ID})
	for _, tool := range []string{"output", "wait", "kill"} {
		require.Contains(t, fails(t, s, tool, object{"id": r.ID}), "Call list to see the ids")
	}
	call[releaseResult](t, s, "release", object{"id": r.ID}) // idempotent
	l, text = call[listResult](t, s, "list", object{})
	require.Empty(t, l.Commands)
	require.Equal(t, "There are no commands in this session.", text)
}

func TestErrorsTellTheNextStep(t *testing.T) {
	deny := acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
		if p.Name == "rm" {
			return acpterm.Decision{Rule: "no-rm", Reason: "files stay"}
		}
		return acpterm.Decision{Verdict: acpterm.VerdictAllow}
	})
	script := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(script, []byte("echo\n"), 0o600))
	s := connect(t, newServer(t, &acpterm.Options{Policy: deny, MaxSessionTerminals: 1}, nil), nil)
	for want, arguments := range map[string]object{
		"files stay (rule \"no-rm\")\nDo not try":                                                                          {"command": "rm", "args": []string{"x"}},
		"command not found\nCheck the name":                                                                                {"command": "no-such-program"},
		"cwd \"/no/such\": no such file or directory\nPass an existing directory as cwd":                                   {"command": "true", "cwd": "/no/such"},
		"command \"" + script + "\": cannot be executed: permission denied\nIf it is a script, pass it to its interpreter": {"command": script},
		"required: missing properties":                                                                                     {},
		"env \"A=B\": must not contain":                                                                                    {"command": "true", "env": object{"A": "", "A=B": "x", "Z": ""}},
	} {
		require.Contains(t, fails(t, s, "run", arguments), want)
	}
	call[commandResult](t, s, "run", object{"command": "true"})
	require.Contains(t, fails(t, s, "run", object{"command": "true"}), "Release the commands that you no longer need")
}

func TestListIsBounded(t *testing.T) {
	s := connect(t, newServer(t, nil, &Options{MaxText: 1}), nil)
	for range 12 {
		call[commandResult](t, s, "run", object{"command": ": " + strings.Repeat("x", 1000)})
	}
	l, text := call[listResult](t, s, "list", nil)
	require.Equal(t, 12, len(l.Commands)+l.Omitted)
	require.Positive(t, l.Omitted)
	require.NotEmpty(t, l.Commands)
	require.Contains(t, text, "older commands omitted …]\n")
	require.Less(t, len(text), 2048)
}

func TestToolsAreDescribed(t *testing.T) {
	s := connect(t, newServer(t, nil, nil), nil)
	tools, err := s.ListTools(t.Context(), nil)
	require.NoError(t, err)
	var states []any
	for state := acpterm.StateStarting; !strings.HasPrefix(state.String(), "State("); state++ {
		states = append(states, state.String())
	}
	readOnly := map[string]bool{}
	for _, tool := range tools.Tools {
		readOnly[tool.Name] = tool.Annotations.ReadOnlyHint
		require.NotEqual(t, tool.Annotations.ReadOnlyHint, *tool.Annotations.DestructiveHint, tool.Name)
		runs := tool.Name == "run" || tool.Name == "write"
		require.Equal(t, runs, *tool.Annotations.OpenWorldHint)
		require.Equal(t, runs, !tool.Annotations.IdempotentHint)
		require.NotEmpty(t, tool.Description)
		for _, schema := range []any{tool.InputSchema, tool.OutputSchema} {
			properties, _ := schema.(map[string]any)["properties"].(map[string]any)
			for name, property := range properties {
				require.NotEmpty(t, property.(map[string]any)["description"], "%s %s", tool.Name, name)
				require.IsType(t, "", property.(map[string]any)["type"], "%s %s", tool.Name, name) // not several types
			}
		}
		encoded, err := json.Marshal(tool.OutputSchema)
		require.NoError(t, err)
		found := regexp.MustCompile(`"enum":(\[[^]]*\])`).FindSubmatch(encoded)
		require.Equal(t, tool.Name != "release", found != nil, tool.Name)
		if found != nil {
			var enum []any
			require.NoError(t, json.Unmarshal(found[1], &enum))
			require.ElementsMatch(t, states, enum, tool.Name)
		}
	}
	require.Equal(t, map[string]bool{
		"run": false, "write": false, "output": true, "wait": true, "kill": false, "release": false, "list": true,
	}, readOnly)
}

// TestToolsAreShort limits what agents put before their models in every session: names, titles, descriptions and arguments. And
// the first sentences have what a model searches for that sees only names.
func TestToolsAreShort(t *testing.T) {
	s := connect(t, newServer(t, nil, &Options{Session: &acpterm.SessionOptions{Roots: []string{t.TempDir()}}}), nil)
	tools, err := s.ListTools(t.Context(), nil)
	require.NoError(t, err)
	size := 0
	for _, tool := range tools.Tools {
		shown, err := json.Marshal(object{
			"name": tool.Name, "title": tool.Title, "description": tool.Description, "inputSchema": tool.InputSchema,
		})
		require.NoError(t, err)
		size += len(shown)
		first, _, _ := strings.Cut(tool.Description, ". ")
		require.Regexp(t, "terminal commands?\\b|command in a terminal", first)
		require.Equal(t, true, tool.Meta["anthropic/alwaysLoad"])
	}
	t.Logf("%d tools, %d tokens", len(tools.Tools), size/4)
	require.LessOrEqual(t, size/4, 1200)
}

func TestRelativeDirectoryNeedsADefault(t *testing.T) {
	about := func(options *Options) string {
		s := connect(t, newServer(t, nil, options), nil)
		tools, err := s.ListTools(t.Context(), nil)
		require.NoError(t, err)
		run := tools.Tools[slices.IndexFunc(tools.Tools, func(tool *mcp.Tool) bool { return tool.Name == "run" })]
		return run.InputSchema.(object)["properties"].(object)["cwd"].(object)["description"].(string)
	}
	require.Contains(t, about(nil), "an absolute path")
	rooted := &Options{Session: &acpterm.SessionOptions{Roots: []string{t.TempDir()}}}
	require.Contains(t, about(rooted), "relative to the default one")
}

// A line that begins before missed output does not go on after it, nor does an escape sequence.
func TestWaitAcrossMissedOutput(t *testing.T) {
	behind := make(chan struct{})
	m := acptermtest.NewManager(t, &acpterm.Options{
		Runner: acptermtest.Commands{"x": func(p *acptermtest.Process) int {
			fmt.Fprint(p, "one\npart\x1bP hidden")
			<-behind
			fmt.Fprint(p, strings.Repeat("-", 1000)+"ready\n")
			return 0
		}},
		Commands: acpterm.CommandOptions{OutputByteLimit: 16, FollowBytes: 16},
	})
	terminal, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "x"}, nil)
	require.NoError(t, err)
	line, found := awaitLine(t.Context(), terminal, 0, func(text string) bool {
		if text == "part" {
			close(behind)
			<-terminal.Done()
		}
		return strings.HasSuffix(text, "ready")
	})
	require.True(t, found)
	require.Regexp(t, "^-+ready$", line)
}

func TestOddArgumentsAreErrorsOfTheTool(t *testing.T) {
	s := connect(t, newServer(t, nil, nil), nil)
	r, _ := call[commandResult](t, s, "run", object{"command": "true"})
	deep := strings.Repeat(`[`, 500) + strings.Repeat(`]`, 500)
	values := []string{`null`, `true`, `0`, `-1`, `1e400`, `1.5`, `9223372036854775808`, `""`, `"\u0000"`, `"\ud800"`,
		`[]`, `[null]`, `{}`, `{"":null}`, `{"command":{"command":1}}`, deep, `"` + strings.Repeat("x", 33<<10) + `"`}
	for _, tool := range []string{"run", "write", "output", "wait", "kill", "release", "list"} {
		for _, value := range values {
			odd := []string{value, `{"id":` + value + `}`, `{"command":` + value + `}`, `{"x":` + value + `}`}
			for _, key := range []string{"args", "cwd", "env", "wait_ms", "kill_on_cancel", "pty", "stdin", "max_bytes", "description"} {
				odd = append(odd, `{"command":"true","`+key+`":`+value+`}`)
			}
			for _, key := range []string{"wait_ms", "until", "until_regexp", "offset", "show", "max_bytes", "text", "keys", "close"} {
				odd = append(odd, `{"id":"`+r.ID+`","`+key+`":`+value+`}`)
			}
			for _, arguments := range odd {
				if tool == "release" && strings.Contains(arguments, r.ID) {
					continue
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
				cancel()
				shown := arguments[:min(len(arguments), 60)]
				if err != nil { // JSON that the SDK cannot read as a request
					require.Contains(t, err.Error(), "invalid", "%s %s", tool, shown)
					continue
				}
				require.Less(t, len(textOf(result)), 32<<10, "%s %s", tool, shown)
			}
		}
	}
	call[commandResult](t, s, "run", object{"command": "true"})
}

// A session that has reached its quota can go on without the commands that have ended.
func TestReleaseOfEndedCommands(t *testing.T) {
	s := connect(t, newServer(t, nil, &Options{Session: &acpterm.SessionOptions{MaxTerminals: 3}}), nil)
	running, _ := call[commandResult](t, s, "run", object{"command": "sleep 1000", "wait_ms": 0})
	ended, _ := call[commandResult](t, s, "run", object{"command": "true"})
	call[commandResult](t, s, "run", object{"command": "true"})
	require.Contains(t, fails(t, s, "run", object{"command": "true"}), `call release with the id "ended"`)

	_, text := call[releaseResult](t, s, "release", object{"id": "ended"})
	require.Equal(t, "Released the 2 commands that had ended.", text)
	require.Contains(t, fails(t, s, "output", object{"id": ended.ID}), "Call list to see the ids")
	l, _ := call[listResult](t, s, "list", nil)
	require.Len(t, l.Commands, 1)
	require.Equal(t, running.ID, l.Commands[0].ID)
	require.Equal(t, "running", l.Commands[0].State)
	call[commandResult](t, s, "run", object{"command": "true"})
}

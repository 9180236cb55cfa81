//go:build unix

package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// asker is a client whose user gives an answer to each question.
type asker struct {
	answer    string
	questions []string // since the last call of took
	form      string
}

func (a *asker) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			form, err := json.Marshal(r.Params.RequestedSchema)
			a.questions, a.form = append(a.questions, r.Params.Message), string(form)
			return &mcp.ElicitResult{Action: "accept", Content: object{"answer": a.answer}}, err
		},
	}
}

// asks runs a command, and reports whether the user was asked.
func (a *asker) asks(t *testing.T, s *mcp.ClientSession, arguments object) bool {
	t.Helper()
	a.questions = nil
	text, ok := call(t, s, "run", arguments)
	require.True(t, ok, text)
	return len(a.questions) > 0
}

func TestAlwaysIsForTheSameCommandOnly(t *testing.T) {
	config, root := t.TempDir(), t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	t.Setenv("HOME", config) // where macOS has the file
	require.NoError(t, os.Mkdir(filepath.Join(root, "sub"), 0o700))
	user := &asker{answer: "allow_always"}
	arguments := []string{"-root", root, "-allow", "tr"}
	s, _ := connectTo(t, user.options(), arguments...)
	line := object{"command": "seq 3 | tr 3 x"}
	require.True(t, user.asks(t, s, line))
	require.Contains(t, user.form, `["allow_once","allow_session","allow_always","reject_once"]`)
	for _, shown := range []string{`"seq 3 | tr 3 x"`, root, `because    "no rule allows \"seq 3\""`, `rule       "default"`} {
		require.Contains(t, user.questions[0], shown)
	}
	user.answer = "allow_once"
	require.False(t, user.asks(t, s, line))
	next, _ := connectTo(t, user.options(), arguments...)
	require.False(t, user.asks(t, next, line))
	for _, other := range []object{
		{"command": "seq 3 | tr 3 y"}, {"command": "seq 3 | tr 3 x", "cwd": "sub"},
		{"command": "seq 3 | tr 3 x", "env": object{"A": "b"}}, {"command": "seq", "args": []string{"3"}},
	} {
		require.True(t, user.asks(t, next, other), other)
	}
	another, _ := connectTo(t, user.options(), append(arguments, "-ask", "seq ...")...)
	require.True(t, user.asks(t, another, line)) // another rule asks

	// The user edits the file, which counts at once.
	files, err := filepath.Glob(filepath.Join(config, "*", "always.jsonl"))
	if len(files) == 0 {
		files, err = filepath.Glob(filepath.Join(config, "Library", "*", "acpterm", "always.jsonl"))
	}
	require.NoError(t, err)
	require.Len(t, files, 1)
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), "\n"))
	edited := strings.Replace(string(text), "tr 3 x", "tr 3 z", 2)
	require.NoError(t, os.WriteFile(files[0], []byte(strings.TrimSpace(edited)), 0o600))
	require.True(t, user.asks(t, s, line))
	require.False(t, user.asks(t, s, object{"command": "seq 3 | tr 3 z"}))
	user.answer = "allow_always"
	require.True(t, user.asks(t, s, line)) // adds a line after one without an end
	user.answer = "allow_once"
	require.False(t, user.asks(t, s, line))
	require.False(t, user.asks(t, s, object{"command": "seq 3 | tr 3 z"}))
	require.NoError(t, os.Chmod(files[0], 0o622))
	require.True(t, user.asks(t, s, line))
	require.NoError(t, os.Chmod(files[0], 0o600))
	unknown := strings.Replace(string(text), "{", `{"unless":1,`, 1)
	require.NoError(t, os.WriteFile(files[0], []byte("{}\nx\n"+unknown), 0o600))
	require.True(t, user.asks(t, s, line)) // nothing is known about such a condition
	require.NoError(t, os.Remove(files[0]))
	require.True(t, user.asks(t, s, line))
}

// An answer about one place is none about another one.
func TestAlwaysIsForOnePlaceOnly(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	a, b := []string{"ssh", "a"}, []string{"ssh", "b"}
	all := []options{
		{}, {sandbox: true}, {sandbox: true, network: true}, {runner: a}, {runner: b}, {runner: a, sandbox: true},
		{runner: b, sandbox: true}, {runner: a, sandbox: true, network: true}, {runner: []string{"ssh", "a;", "sandbox"}},
	}
	places := make(map[string]bool)
	for _, o := range all {
		places[o.openAlways().place] = true
	}
	require.Len(t, places, len(all))
}

func TestAlwaysIsNotOfferedWhereCommandsCanWrite(t *testing.T) {
	root := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", root)
	t.Setenv("HOME", root)
	user := &asker{answer: "allow_once"}
	s, messages := connectTo(t, user.options(), "-root", root)
	require.True(t, user.asks(t, s, object{"command": "seq 3"}))
	require.NotContains(t, user.form, "allow_always")
	requireSays(t, messages, "where commands may write")
}

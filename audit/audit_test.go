package audit_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/audit"
	"github.com/acpterm/acpterm/internal/racetest"
)

func TestMain(m *testing.M) { racetest.Main(m) }

func TestOpen(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	root := filepath.Join(dir, "root")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "sub"), 0o700))
	for _, test := range []struct{ path, want string }{
		{filepath.Join(dir, "missing", "file"), "missing"},
		{root, ""},
		{filepath.Join(root, "file"), "where commands may write"},
		{filepath.Join(root, "sub", "file"), "where commands may write"},
	} {
		log, err := audit.Open(test.path, dir+"/root/sub", root)
		require.Nil(t, log)
		require.ErrorIs(t, err, acpterm.ErrInternal)
		require.ErrorContains(t, err, test.want)
		if test.path != root {
			require.NoFileExists(t, test.path)
		}
	}
	_, err = audit.Open(filepath.Join(dir, "file"), filepath.Join(dir, "no-root"))
	require.ErrorContains(t, err, "no-root")

	path := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(path, []byte(`{"msg":"earlier"}`+"\n"), 0o600))
	for range 2 {
		log, err := audit.Open(path, root)
		require.NoError(t, err)
		require.NoError(t, log.Record(t.Context(), allowed))
		require.NoError(t, log.Close())
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var messages []string
	for _, line := range lines(t, data) {
		messages = append(messages, line.Msg)
	}
	require.Equal(t, []string{"earlier", "decision", "decision"}, messages)
	if runtime.GOOS != "windows" {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())
	}
}

// The record of a command that the agent ran itself, without a decision, says so.
func TestCommandsOfTheAgentAreMarked(t *testing.T) {
	var log bytes.Buffer
	hook := audit.LogEvents(slog.New(slog.NewJSONHandler(&log, nil)))
	hook(&acpterm.EndEvent{Subject: acpterm.Subject{TerminalID: "call_1", Attached: true, ShellLine: "ls"}})
	require.Contains(t, log.String(), `"ofAgent":true`)
	log.Reset()
	hook(&acpterm.EndEvent{Subject: acpterm.Subject{TerminalID: "term_1"}})
	require.NotContains(t, log.String(), "ofAgent")
}

// The record of a kill says which processes run, and why others may.
func TestDoubtsAreLogged(t *testing.T) {
	var log bytes.Buffer
	hook := audit.LogEvents(slog.New(slog.NewJSONHandler(&log, nil)))
	subject := acpterm.Subject{TerminalID: "term_1", SessionID: "s", PID: 7}
	hook(&acpterm.SurvivorsEvent{Subject: subject, Err: errors.New("processes [12] are exiting")})
	require.Contains(t, log.String(), `"level":"WARN","msg":"survivors"`)
	require.Contains(t, log.String(), `"pid":7,"error":"processes [12] are exiting"}`)
	log.Reset()
	hook(&acpterm.SurvivorsEvent{Subject: subject, Survivors: []int{12}})
	require.Contains(t, log.String(), `"pid":7,"survivors":[12]}`)
}

// The record of typed input has only its size.
func TestInputIsCounted(t *testing.T) {
	var log bytes.Buffer
	hook := audit.LogEvents(slog.New(slog.NewJSONHandler(&log, nil)))
	hook(&acpterm.InputEvent{Subject: acpterm.Subject{TerminalID: "term_1", SessionID: "s", Args: []string{"cat"}}, Bytes: 7})
	require.Contains(t, log.String(), `"msg":"input","terminal":"term_1","session":"s","bytes":7}`)
	log.Reset()
	hook(&acpterm.ResizeEvent{Subject: acpterm.Subject{TerminalID: "term_1"}})
	require.Empty(t, log.String())
}

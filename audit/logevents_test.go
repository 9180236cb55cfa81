package audit_test

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/audit"
	"github.com/stretchr/testify/require"
)

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

package main

// The quickstart is run as it is, and what it prints is checked for what a reader should learn.

import (
	"os"
	"strings"
	"testing"

	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/stretchr/testify/require"
)

// TestMain also makes the test binary the command that takes too long: run executes its own program for that.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "sleep" {
		sleep()
		return
	}
	racetest.Main(m)
}

func TestQuickstart(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(&out, false), out.String())
	t.Log(out.String())
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	want := []string{
		"client    has terminals: true",
		"agent     runs go version", "client    shows live: go version", "client    answers exit code 0: go version",
		"agent     runs go no-such-command", "client    answers exit code 2: go no-such-command: unknown command",
		"agent     runs quickstart sleep", "client    shows live: this will take an hour",
		"agent     kills it after half a second", "client    answers signal SIGTERM: this will take an hour",
		"agent     runs go help build", "and the agent asked for the last 200",
		"agent     runs go version", "agent     released it: terminal not found", "client    can still read it: go version",
	}
	require.Len(t, lines, len(want))
	for i, text := range want {
		require.Contains(t, lines[i], text)
	}
}

func TestVerbose(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(&out, true), out.String())
	asked := strings.Index(out.String(), `agent : {"id":`)
	require.Contains(t, out.String()[asked:], `"method":"terminal/create","params":{"sessionId":"session-1","command":"go"`)
	require.Contains(t, out.String(), `client: {"jsonrpc":"2.0","id":"terminal-`)
}

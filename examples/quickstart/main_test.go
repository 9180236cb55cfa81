package main

// The quickstart is run as it is, and what it prints is checked for what a reader should learn.

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain also makes the test binary the command that takes too long: run executes its own program for that.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "sleep" {
		sleep()
		return
	}
	os.Exit(m.Run())
}

func TestQuickstart(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(&out), out.String())
	t.Log(out.String())

	scenes := strings.Split(out.String(), "\n# ")[1:]
	require.Len(t, scenes, 6)
	for i, want := range [][]string{
		{`client asks      initialize {"clientCapabilities":{"terminal":true},"protocolVersion":1}`},
		{`the person sees  "go version`, `answers   {"exitCode":0,"signal":null,`, `"exitStatus":{"exitCode":0,"signal":null,`},
		{`answers   {"exitCode":2,"signal":null,`, "unknown command"},
		{"no answer for half a second", "asks      terminal/kill", "this will take an hour"},
		{`"outputByteLimit":200`, `"truncated":true`, "bytes the agent got"},
		{`refuses   {"code":-32002`, `the client still reads "go version`},
	} {
		for _, text := range want {
			require.Contains(t, scenes[i], text)
		}
		require.NotContains(t, scenes[i], `"truncated":`+map[bool]string{true: "false", false: "true"}[i == 4])
	}
}

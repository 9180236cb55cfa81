//go:build unix

package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDoctorSaysWhatWorksHere(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("CODEX_HOME", t.TempDir())
	write(t, dir, "go.mod", "module x\n")
	write(t, dir, ".mcp.json", `{"mcpServers": {"acpterm": {}}}`)
	for program, script := range map[string]string{"claude": "echo '2.1.332 (Claude Code)'", "codex": "exit 1", "go": ""} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	}
	t.Setenv("PATH", bin)
	cmd := program("doctor")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	text := string(out)
	require.NoError(t, err, text)
	for _, part := range []string{
		"-rules read-only -rules git-read -rules go\n", "sandbox  ", "shells    /bin/sh", "go 1 of 2", "journal   ",
		"always    0 commands in ", "page      no server with -view",
		"Claude Code 2.1.332 (has an entry), Codex of an unknown version (no entry; acpterm-mcp init codex)",
	} {
		require.Contains(t, text, part)
	}
	require.LessOrEqual(t, strings.Count(text, "\n"), 10)
}

// An agent that does not answer does not keep doctor.
func TestDoctorWaitsForAVersionOnlySoLong(t *testing.T) {
	agent := filepath.Join(t.TempDir(), "claude")
	require.NoError(t, os.WriteFile(agent, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o700))
	require.Equal(t, "of an unknown version", agentVersion(agent, time.Millisecond))
}

func TestDoctorSaysWhatDoesNotWork(t *testing.T) {
	dir, bin, config := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("XDG_STATE_HOME", "/dev/null")
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("XDG_CONFIG_HOME", config)
	t.Setenv("HOME", config) // where macOS has the files
	where := filepath.Join(bin, "where")
	for program, script := range map[string]string{"claude": "pwd > " + where, "bash": ""} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	}
	write(t, dir, ".mcp.json", "{")
	write(t, config, "acpterm/always.jsonl", "{}\n")
	t.Setenv("PATH", bin) // without bwrap
	cmd := program("doctor")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, line := range []string{
		"sandbox   (not available|NOT WORKING: .*bwrap)", "shells    .*; for -shell: bash", "agents    Claude Code .*invalid",
	} {
		require.Regexp(t, "(?m)^("+line+")", string(out))
	}
	if runtime.GOOS == "linux" { // other systems have another directory
		require.Regexp(t, "(?m)^journal   NOT WORKING: /dev/null/acpterm: ", string(out))
		require.Regexp(t, "(?m)^page      NOT WORKING: ", string(out))
		require.Regexp(t, "(?m)^always    1 commands", string(out))
	}
	require.NotContains(t, read(t, where), dir) // whose files an agent may obey
}

//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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

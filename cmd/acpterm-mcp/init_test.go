//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// initIn calls init in a directory, with answers on standard input.
func initIn(t *testing.T, dir string, arguments ...string) (text string, err error) {
	t.Helper()
	cmd := program(append([]string{"init"}, arguments...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o640))
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// Each agent's file gets one entry, and keeps everything else. A second call changes nothing.
func TestInitAddsAnEntry(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	args := `"-root", ".", "-rules", "read-only", "-rules", "git-read", "-rules", "go", "-rules", "node"`
	inJSON := func(indent, root string) string {
		words := strings.Split(strings.Replace(args, `"."`, root, 1), ", ")
		return "[\n" + indent + "  " + strings.Join(words, ",\n"+indent+"  ") + "\n" + indent + "]"
	}
	for _, c := range []struct{ agent, file, before, after string }{
		{"claude", ".mcp.json", "", "{\n  \"mcpServers\": {\n    \"acpterm\": {\n      \"command\": \"SELF\",\n      \"args\": " +
			inJSON("      ", `"."`) + "\n    }\n  }\n}\n"},
		{"gemini", ".gemini/settings.json", "{\n  // mine\n  \"theme\": \"x\", // dark\n  \"mcpServers\": {\n    \"a\": {} /* b */\n  }\n}\n",
			"{\n  // mine\n  \"theme\": \"x\", // dark\n  \"mcpServers\": {\n    \"a\": {}, /* b */\n    \"acpterm\": {\n" +
				"      \"command\": \"SELF\",\n      \"args\": " + inJSON("      ", `"."`) + "\n    }\n  }\n}\n"},
		{"cursor", ".cursor/mcp.json", "{\n  \"mcpServers\": {\"a\":{\"x\":[1,2]},},}",
			"{\n  \"mcpServers\": {\"a\":{\"x\":[1,2]},\n    \"acpterm\": {\n      \"command\": \"SELF\",\n      \"args\": " +
				inJSON("      ", `"${workspaceFolder}"`) + "\n    }\n  },}"},
		{"vscode", ".vscode/mcp.json", "{\n\t\"inputs\": []\n}",
			"{\n\t\"inputs\": [],\n\t\"servers\": {\n\t\t\"acpterm\": {\n\t\t\t\"type\": \"stdio\",\n\t\t\t\"command\": \"SELF\",\n\t\t\t\"args\": " +
				strings.ReplaceAll(inJSON("\t\t\t", `"${workspaceFolder}"`), "  ", "\t") + "\n\t\t}\n\t}\n}"},
		{"opencode", "opencode.jsonc", "{}", "{\n  \"mcp\": {\n    \"acpterm\": {\n      \"type\": \"local\",\n      \"command\": " +
			strings.Replace(inJSON("      ", `"."`), `"-root"`, "\"SELF\",\n        \"-root\"", 1) + ",\n      \"enabled\": true\n    }\n  }\n}"},
		{"codex", ".codex/config.toml", "# mine\nmodel = \"x\"\n\n[mcp_servers.a]\ncommand = \"a\" # b\n",
			"# mine\nmodel = \"x\"\n\n[mcp_servers.a]\ncommand = \"a\" # b\n\n[mcp_servers.acpterm]\nargs = [" + args +
				"]\ncommand = \"SELF\"\ntool_timeout_sec = 600\n"},
	} {
		t.Run(c.agent, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("CODEX_HOME", filepath.Join(dir, ".codex"))
			write(t, dir, "go.mod", "module x\n")
			write(t, dir, "package.json", "{}")
			path := filepath.Join(dir, c.file)
			if c.before != "" {
				write(t, dir, c.file, c.before)
			}
			text, err := initIn(t, dir, c.agent)
			require.Error(t, err, text) // there is no terminal to ask on
			require.Contains(t, text, "+ ")
			require.Contains(t, text, "nothing was changed")
			text, err = initIn(t, dir, "-yes", c.agent)
			require.NoError(t, err, text)
			require.Equal(t, strings.ReplaceAll(c.after, "SELF", self), read(t, path))
			if c.before != "" {
				info, err := os.Stat(path)
				require.NoError(t, err)
				require.Equal(t, os.FileMode(0o640), info.Mode().Perm())
			}
			text, err = initIn(t, dir, c.agent)
			require.NoError(t, err, text)
			require.Contains(t, text, "has the entry already")

			// Another entry is not replaced without a question.
			changed := strings.Replace(read(t, path), "read-only", "rust", 1)
			require.NoError(t, os.WriteFile(path, []byte(changed), 0o640))
			text, err = initIn(t, dir, "-yes", c.agent)
			require.Error(t, err, text)
			require.Equal(t, changed, read(t, path))
			var out strings.Builder
			t.Chdir(dir)
			require.ErrorIs(t, initAgent([]string{c.agent}, strings.NewReader("n\n"), &out), errDeclined)
			require.NoError(t, initAgent([]string{c.agent}, strings.NewReader("y\n"), &out))
			require.Contains(t, out.String(), "read-only")
			require.Equal(t, strings.ReplaceAll(c.after, "SELF", self), read(t, path))
		})
	}
}

func TestInitChangesNoFileThatItDoesNotUnderstand(t *testing.T) {
	for _, c := range []struct{ agent, file, text string }{
		{"claude", ".mcp.json", "{"}, {"claude", ".mcp.json", "[]"}, {"claude", ".mcp.json", `{"mcpServers": []}`},
		{"claude", ".mcp.json", `{"mcpServers": {}, "mcpServers": {"a": {}}}`},
		{"claude", ".mcp.json", `{"mcpServers": {"acpterm": {}, "acpterm": {}}}`},
		{"codex", "config.toml", "a = "}, {"codex", "config.toml", "mcp_servers.a.command = \"b\"\n"},
		{"codex", "config.toml", "mcp_servers = {a = {command = \"b\"}}\n"},
		{"codex", "config.toml", "a = '''\n[mcp_servers.acpterm]\n'''\n"},
		{"codex", "config.toml", "[mcp_servers.\"acpterm\"]\ncommand = \"b\"\n"},
		{"codex", "config.toml", "[mcp_servers.acpterm]\ncommand = \"b\"\n[mcp_servers.acpterm.env]\nA = \"b\"\n"},
		{"codex", "config.toml", "a = '''\n[mcp_servers.acpterm]\n'''\n[mcp_servers.acpterm]\nb = 1\n"},
	} {
		dir := t.TempDir()
		t.Setenv("CODEX_HOME", dir)
		path := write(t, dir, c.file, c.text)
		text, err := initIn(t, dir, "-yes", c.agent)
		require.Error(t, err, c.text)
		require.Contains(t, text, "not", c.text)
		require.Equal(t, c.text, read(t, path))
	}
	dir := t.TempDir()
	require.NoError(t, os.Symlink("elsewhere.json", filepath.Join(dir, ".mcp.json")))
	_, err := initIn(t, dir, "-yes", "claude")
	require.Error(t, err)
	write(t, dir, "elsewhere.json", "{}")
	text, err := initIn(t, dir, "-yes", "claude")
	require.NoError(t, err, text)
	require.Contains(t, read(t, filepath.Join(dir, "elsewhere.json")), "acpterm") // the link stays
	text, err = initIn(t, dir, "emacs")
	require.Error(t, err)
	require.Contains(t, text, "none of claude, codex, opencode, gemini, cursor, vscode")
}

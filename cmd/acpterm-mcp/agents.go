package main

// The agents that init and doctor know: their programs, and the files with their servers.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// agentKind is an agent that starts this program.
type agentKind struct {
	name     string // on the command line
	title    string
	program  string // that prints its version with --version
	elicits  bool   // it can ask the user about a command
	here     string // where the server finds the project: "." or a variable of the agent
	file     func() (string, error)
	path     []string // of the entry in the file
	entry    func(command string, args []string) any
	isTOML   bool
	restarts string // what the user does next
}

// agentKinds returns all agents, in the order of the documents.
func agentKinds() []agentKind {
	stdio := func(command string, args []string) any {
		return struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
		}{command, args}
	}
	typed := func(command string, args []string) any {
		return struct {
			Type    string   `json:"type"`
			Command string   `json:"command"`
			Args    []string `json:"args"`
		}{"stdio", command, args}
	}
	codex := func(command string, args []string) any {
		// The timeout is as long as a call may wait.
		return map[string]any{"command": command, "args": args, "tool_timeout_sec": 600}
	}
	local := func(command string, args []string) any {
		return struct {
			Type    string   `json:"type"`
			Command []string `json:"command"`
			Enabled bool     `json:"enabled"`
		}{"local", append([]string{command}, args...), true}
	}
	return []agentKind{
		{name: "claude", title: "Claude Code", program: "claude", elicits: true, here: ".", file: fixed(".mcp.json"),
			path: []string{"mcpServers", "acpterm"}, entry: stdio, restarts: "start claude here, and approve the server"},
		{name: "codex", title: "Codex", program: "codex", elicits: true, here: ".", file: codexFile,
			path: []string{"mcp_servers", "acpterm"}, entry: codex, isTOML: true,
			restarts: "start codex here"},
		{name: "opencode", title: "opencode", program: "opencode", here: ".",
			file: firstOf("opencode.json", "opencode.jsonc"),
			path: []string{"mcp", "acpterm"}, entry: local, restarts: "start opencode here"},
		{name: "gemini", title: "Gemini CLI", program: "gemini", here: ".",
			file: fixed(filepath.Join(".gemini", "settings.json")),
			path: []string{"mcpServers", "acpterm"}, entry: stdio, restarts: "start gemini here"},
		{name: "cursor", title: "Cursor", program: "cursor", elicits: true, here: "${workspaceFolder}",
			file: fixed(filepath.Join(".cursor", "mcp.json")),
			path: []string{"mcpServers", "acpterm"}, entry: stdio, restarts: "enable the server in Cursor's settings"},
		{name: "vscode", title: "VS Code", program: "code", elicits: true, here: "${workspaceFolder}",
			file: fixed(filepath.Join(".vscode", "mcp.json")),
			path: []string{"servers", "acpterm"}, entry: typed, restarts: "start the server in the list of MCP servers"},
	}
}

// fixed returns a function that returns a path in the current directory.
func fixed(path string) func() (string, error) { return func() (string, error) { return path, nil } }

// firstOf returns a function that returns the first path that exists, or else the first one.
func firstOf(paths ...string) func() (string, error) {
	return func() (string, error) {
		for _, path := range paths {
			if _, err := os.Lstat(path); err == nil {
				return path, nil
			}
		}
		return paths[0], nil
	}
}

// codexFile returns the file of Codex, which has one for all projects.
func codexFile() (string, error) {
	if dir := os.Getenv("CODEX_HOME"); dir != "" {
		return filepath.Join(dir, "config.toml"), nil
	}
	dir, err := os.UserHomeDir()
	return filepath.Join(dir, ".codex", "config.toml"), err
}

// findAgent returns an agent by its name.
func findAgent(name string) (agentKind, error) {
	var names []string
	for _, a := range agentKinds() {
		if a.name == name {
			return a, nil
		}
		names = append(names, a.name)
	}
	return agentKind{}, fmt.Errorf("the agent %q is none of %s", name, strings.Join(names, ", "))
}

// projectArgs returns the arguments for the project in the current directory: programs that read, and the project's own
// builds and tests, run without a question.
func projectArgs(here string) []string {
	args := []string{"-root", here, "-rules", "read-only", "-rules", "git-read"}
	for _, of := range []struct {
		set   string
		files []string
	}{
		{"go", []string{"go.mod", "go.work"}},
		{"node", []string{"package.json"}},
		{"python", []string{"pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "requirements.txt"}},
		{"rust", []string{"Cargo.toml"}},
	} {
		for _, file := range of.files {
			if _, err := os.Stat(file); err == nil {
				args = append(args, "-rules", of.set)
				break
			}
		}
	}
	return args
}

// ownCommand returns how agents start this program: by its name if PATH leads to it, or else by its path.
func ownCommand() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	name := strings.TrimSuffix(filepath.Base(self), ".exe")
	own, err := os.Stat(self)
	if err != nil {
		return "", err
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if runtime.GOOS == "windows" {
			path += ".exe"
		}
		info, err := os.Stat(path)
		switch {
		case err != nil || !filepath.IsAbs(dir):
			continue
		case os.SameFile(info, own) && name == "acpterm-mcp":
			return name, nil
		}
		return self, nil // another program has the name
	}
	return self, nil
}

// entryJSON returns an entry as JSON, whose lines after the first are indented.
func entryJSON(entry any, indent, step string) (string, error) {
	text, err := json.MarshalIndent(entry, indent, step)
	return string(text), err
}

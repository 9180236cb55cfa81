package mcptest

// The MCP inspector in CLI mode. Each of its runs is one MCP session with one call, so the tools that need an id get an
// unknown one. The package inspector-cli is the part of the inspector's version 1 that it runs in this mode.

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInspector(t *testing.T) {
	e := newEnvironment(t)
	for _, name := range []string{"stdio", "http"} {
		start := transports[name]
		t.Run(name, func(t *testing.T) {
			for _, test := range []struct {
				arguments string
				want      string // in the output
				seen      string
			}{
				{"--method tools/list", `"name": "release"`, "tools/list"},
				{"--tool-name list", `"commands": []`, "ok list"},
				{"--tool-name run --tool-arg command=seq args=[\"3\"] wait_ms=60000", `"output": "1\n2\n3\n"`, "ok run"},
				{"--tool-name run --tool-arg command=touch args=[\"x\"]", "does not support elicitation", "isError run"},
				{"--tool-name output --tool-arg id=term_x show=start", "Call list to see the ids", "isError output"},
				{"--tool-name wait --tool-arg id=term_x until=ready", "Call list to see the ids", "isError wait"},
				{"--tool-name kill --tool-arg id=term_x", "Call list to see the ids", "isError kill"},
				{"--tool-name release --tool-arg id=term_x", "Call list to see the ids", "isError release"},
			} {
				if !strings.HasPrefix(test.arguments, "--method") {
					test.arguments = "--method tools/call " + test.arguments
				}
				s := start(t, e, t.TempDir())
				cmd := exec.CommandContext(t.Context(), e.node, append(s.inspector(), strings.Fields(test.arguments)...)...)
				// It looks for its package.json relative to the working directory.
				cmd.Dir = filepath.Join(e.clients, "node_modules/@modelcontextprotocol/inspector-cli/build")
				var messages strings.Builder
				cmd.Stderr = &messages
				out, err := cmd.Output()
				require.NoError(t, err, "%s: %s", test.arguments, messages.String())
				require.True(t, json.Valid(out), "%s: %s", test.arguments, out)
				require.Contains(t, string(out), test.want, test.arguments)
				seen := checkAll(t, s)
				require.Equal(t, 1, seen["initialize"])
				require.NotZero(t, seen[test.seen], "%s: %v", test.arguments, seen)
			}
		})
	}
}

// inspector returns the inspector's arguments for a server.
func (s server) inspector() []string {
	arguments := []string{"cli.js", "--cli"}
	for name, value := range s.Env {
		arguments = append(arguments, "-e", name+"="+value)
	}
	if s.URL == "" {
		return append(append(arguments, s.Command), s.Args...)
	}
	arguments = append(arguments, s.URL, "--transport", "http")
	for name, value := range s.Headers {
		arguments = append(arguments, "--header", name+": "+value)
	}
	return arguments
}

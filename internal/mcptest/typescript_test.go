package mcptest

// A client made with the official TypeScript SDK. It checks what it observes by itself (testdata/node/client.mjs).

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTypeScriptClient(t *testing.T) {
	node, clients := requireNode(t)
	for name, start := range transports {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := start(t, dir)
			config, err := json.Marshal(s)
			require.NoError(t, err)
			cmd := exec.CommandContext(t.Context(), node, filepath.Join(clients, "client.mjs"), string(config))
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			for _, scenario := range []string{
				"tools", "run", "long output", "progress", "background", "many at once", "cancellation", "elicitation",
				"mistakes", "end",
			} {
				require.Contains(t, string(out), "ok: "+scenario+"\n")
			}
			seen := check(t, s.recording(t))
			for _, message := range []string{
				"initialize", "notifications/initialized", "ping", "tools/list", "tools/call", "notifications/progress",
				"notifications/cancelled", "elicitation/create", "error of tools/call", "isError run", "ok run", "ok output",
				"ok wait", "ok kill", "ok release", "ok list",
			} {
				require.NotZero(t, seen[message], "%s: %v", message, seen)
			}
			t.Log(seen)
		})
	}
}

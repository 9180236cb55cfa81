package mcptest

// A client made with the official TypeScript SDK of either version. It checks what it observes by itself
// (testdata/node/client.mjs).

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTypeScriptClient(t *testing.T) {
	e := newEnvironment(t)
	for _, version := range []int{1, 2} {
		for name, start := range transports {
			t.Run(fmt.Sprintf("%d/%s", version, name), func(t *testing.T) {
				dir := t.TempDir()
				s := start(t, e, dir)
				s.SDK = version
				config, err := json.Marshal(s)
				require.NoError(t, err)
				cmd := exec.CommandContext(t.Context(), e.node, filepath.Join(e.clients, "client.mjs"), string(config))
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s", out)
				for _, scenario := range []string{
					"tools", "run", "long output", "progress", "background", "many at once", "cancellation", "elicitation",
					"mistakes", "end",
				} {
					require.Contains(t, string(out), "ok: "+scenario+"\n")
				}
			})
		}
	}
}

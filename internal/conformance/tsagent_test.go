package conformance

// The example client with an agent that nobody here wrote the protocol of: it is made from the official
// TypeScript SDK and its terminal handles (testdata/tsagent). Each of its scenarios checks what it sees and
// tells in its messages; the turn ends with end_turn, and the client with 0, only if all of it held.

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireVariable, set to anything, makes it a failure that the agent cannot be run.
const requireVariable = "ACPTERM_REQUIRE_TYPESCRIPT"

func TestTypeScriptAgent(t *testing.T) {
	agent, err := filepath.Abs("../../testdata/tsagent/agent.mjs")
	require.NoError(t, err)
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(filepath.Join(filepath.Dir(agent), "node_modules"))
	}
	if err != nil && os.Getenv(requireVariable) == "" {
		t.Skipf("the agent cannot be run (npm ci --prefix testdata/tsagent brings what it needs): %v", err)
	}
	require.NoError(t, err)

	client := filepath.Join(t.TempDir(), "client.exe")
	build := exec.Command("go", "build", "-o", client, "github.com/acpterm/acpterm/examples/client")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	list, err := exec.Command(node, agent, "--list").Output()
	require.NoError(t, err)
	scenarios := strings.Fields(string(list))
	require.NotEmpty(t, scenarios)
	for _, scenario := range scenarios {
		t.Run(scenario, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), client, "-cwd", t.TempDir(), "-prompt", scenario, "--", node, agent)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "ok: ")
			require.NotContains(t, string(out), "FAIL: ")
		})
	}
	t.Run("unknown", func(t *testing.T) {
		cmd := exec.CommandContext(t.Context(), client, "-cwd", t.TempDir(), "-prompt", "no such scenario", "--", node, agent)
		out, err := cmd.CombinedOutput()
		require.Error(t, err, "a turn that ends with a refusal is no success: %s", out)
	})
}

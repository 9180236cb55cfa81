package conformance

// The example client with an agent whose protocol code is not ours: it is made from the official TypeScript SDK and its
// terminal handles (testdata/tsagent). Each of its scenarios checks its observations and reports them in its messages.
// The turn ends with end_turn, and the client exits with 0, only if all of them held.

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireVariable, set to anything, makes the test fail if the agent cannot be run.
const requireVariable = "ACPTERM_REQUIRE_TYPESCRIPT"

// terminalLine matches the client's display of a command's output.
var terminalLine = regexp.MustCompile(`(?m)^\[\d+\] \| .*\n?`)

// requireTypeScript returns node and the path of a program of testdata/tsagent. If they are missing, the test is
// skipped, or fails if the variable is set.
func requireTypeScript(t *testing.T, program string) (node, path string) {
	t.Helper()
	path, err := filepath.Abs("testdata/tsagent/" + program)
	require.NoError(t, err)
	node, err = exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(filepath.Join(filepath.Dir(path), "node_modules"))
	}
	if err != nil && os.Getenv(requireVariable) == "" {
		t.Skipf("%s cannot be run (npm ci --prefix internal/checks/conformance/testdata/tsagent brings what it needs): %v", program, err)
	}
	require.NoError(t, err)
	return node, path
}

func TestTypeScriptAgent(t *testing.T) {
	t.Parallel()
	node, agent := requireTypeScript(t, "agent.mjs")
	client := filepath.Join(t.TempDir(), "client.exe")
	build := exec.Command("go", "build", "-o", client, "github.com/acpterm/acpterm/cmd/acpterm")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	list, err := exec.Command(node, agent, "--list").Output()
	require.NoError(t, err)
	scenarios := strings.Fields(string(list))
	require.NotEmpty(t, scenarios)
	for _, scenario := range scenarios {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), client, "-cwd", t.TempDir(), "-prompt", scenario, "--", node, agent)
			out, err := cmd.CombinedOutput()
			// A command's own output can be a megabyte, and is not useful in a report.
			said := terminalLine.ReplaceAllString(string(out), "")
			require.NoError(t, err, "%s", said)
			require.Contains(t, said, "ok: ")
			require.NotContains(t, said, "FAIL: ")
			require.NotContains(t, said, "response to unknown request", "the SDK says so when a request is answered twice")
		})
	}
	t.Run("unknown", func(t *testing.T) {
		cmd := exec.CommandContext(t.Context(), client, "-cwd", t.TempDir(), "-prompt", "no such scenario", "--", node, agent)
		out, err := cmd.CombinedOutput()
		require.Error(t, err, "a turn that ends with a refusal is no success: %s", out)
	})
}

package with

// Each program is built, and run with examples/agent as its agent.

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPrograms(t *testing.T) {
	dir := t.TempDir() + string(filepath.Separator)
	build := exec.Command("go", "build", "-o", dir, "./...", "github.com/acpterm/acpterm/examples/agent")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, program := range []string{"jsonrpc2", "acpsdk", "jrpc2"} {
		for prompt, printed := range map[string]string{
			// The agent asks for permission, runs the prompt in a terminal and says how it ended.
			"go version":         "exit code 0end_turn\n",
			"go no-such-command": "exit code 2end_turn\n",
			"":                   "There is no command in your prompt.refusal\n",
		} {
			t.Run(program+" "+prompt, func(t *testing.T) {
				var stderr bytes.Buffer
				client := exec.CommandContext(t.Context(), dir+program, prompt, dir+"agent")
				client.Stderr = &stderr
				out, err := client.Output()
				require.NoError(t, err, "%s", stderr.String())
				require.Equal(t, printed, string(out))
			})
		}
	}
}

// What the documentation says of their length holds.
func TestShort(t *testing.T) {
	for _, program := range []string{"jsonrpc2", "acpsdk"} {
		source, err := os.ReadFile(filepath.Join(program, "main.go"))
		require.NoError(t, err)
		require.LessOrEqual(t, bytes.Count(source, []byte("\n")), 60, program)
	}
}

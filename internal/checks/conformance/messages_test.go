package conformance

// Messages of an agent with its own terminals: every message of the tests of package agent is checked against the
// schemas.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/acpterm/acpterm/agent" // so that a cached result belongs to this agent
)

// messagesVariable names the file that the tests of package agent write their messages to.
const messagesVariable = "ACPTERM_AGENT_MESSAGES"

func TestMessagesOfAgents(t *testing.T) {
	name := filepath.Join(t.TempDir(), "messages")
	tests := exec.Command("go", "test", "-count=1", "-short", "-run", "Report|Client|Flush|Cancel|ToolCall|Terminals",
		"github.com/acpterm/acpterm/agent")
	tests.Env = append(os.Environ(), messagesVariable+"="+name)
	var out bytes.Buffer
	tests.Stdout, tests.Stderr = &out, &out
	require.NoError(t, tests.Start())
	t.Parallel() // the tests that cannot be parallel run in the meantime
	require.NoError(t, tests.Wait(), "%s", &out)

	v1, v2 := loadSchemaFile(t, "toolcall.v1.json"), loadSchemaFile(t, "terminal.v2.json")
	file, err := os.Open(name)
	require.NoError(t, err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	seen := make(map[string]int)
	for lines.Scan() {
		var line struct {
			Definition string
			Message    json.RawMessage
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &line))
		s := v2
		if v2.compiled[line.Definition] == nil {
			s = v1
		}
		require.NoError(t, s.validate(t, line.Definition, line.Message), "%.1000s", line.Message)
		seen[line.Definition]++
	}
	require.NoError(t, lines.Err())
	for _, def := range []string{
		"SessionNotification", "UpdateSessionNotification", "CancelTerminalResponse", "CancelToolCallRequest",
		"CancelToolCallResponse", "Error", "SessionNotFoundErrorData",
	} {
		require.Positive(t, seen[def], def)
	}
	t.Logf("validated: %v", seen)
}

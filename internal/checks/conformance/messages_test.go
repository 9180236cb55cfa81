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

	_ "github.com/acpterm/acpterm/agent" // so that a cached result belongs to this agent
	"github.com/stretchr/testify/require"
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

// The schemas refuse messages that an agent must not send.
func TestMessagesThatAreRefused(t *testing.T) {
	for file, messages := range map[string]map[string]string{
		"terminal.v2.json": {
			`{"sessionId":"s","update":{"sessionUpdate":"terminal_update","terminalId":"t","exitStatus":{}}}`:            "",
			`{"sessionId":"s","update":{"sessionUpdate":"terminal_output_chunk","terminalId":"t","data":"YWI="}}`:        "",
			`{"sessionId":"s","update":{"sessionUpdate":"terminal_output_chunk","terminalId":"t","data":"***"}}`:         "not base64",
			`{"sessionId":"s","update":{"sessionUpdate":"terminal_output_chunk","terminalId":"t"}}`:                      "no data",
			`{"sessionId":"s","update":{"sessionUpdate":"terminal_update"}}`:                                             "no id",
			`{"sessionId":"s","update":{"sessionUpdate":"terminal_update","terminalId":"t","output":{}}}`:                "no bytes",
			`{"sessionId":"s","update":{"sessionUpdate":"terminal_update","terminalId":"t","size":{"cols":0,"rows":1}}}`: "a column",
		},
		"toolcall.v1.json": {
			`{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"t"}}`: "",
			`{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c"}}`:             "no title",
		},
	} {
		s := loadSchemaFile(t, file)
		def := map[string]string{"terminal.v2.json": "UpdateSessionNotification", "toolcall.v1.json": "SessionNotification"}[file]
		for message, wrong := range messages {
			if wrong == "" {
				require.NoError(t, s.validate(t, def, []byte(message)), message)
			} else {
				require.Error(t, s.validate(t, def, []byte(message)), wrong)
			}
		}
	}
}

package conformance

// Messages of an agent with its own terminals: every message of the tests of package agent is checked against the
// schemas. So are the examples of signing in that package signin reads, and the capability.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	_ "github.com/acpterm/acpterm/agent" // so that a cached result belongs to this agent
	"github.com/acpterm/acpterm/signin"
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

// authSchemas returns the schemas of signing in by version.
func authSchemas(t *testing.T) map[int]*schema {
	return map[int]*schema{1: loadSchemaFile(t, "auth.v1.json"), 2: loadSchemaFile(t, "auth.v2.json")}
}

func TestExamplesOfSigningIn(t *testing.T) {
	schemas := authSchemas(t)
	paths, err := filepath.Glob(filepath.Join("..", "..", "..", "signin", "testdata", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		var example struct{ Result json.RawMessage }
		require.NoError(t, json.Unmarshal(data, &example), path)
		var version struct{ ProtocolVersion int }
		require.NoError(t, json.Unmarshal(example.Result, &version), path)
		require.NoError(t, schemas[version.ProtocolVersion].validate(t, "InitializeResponse", example.Result), path)
	}
}

func TestCapabilityOfSigningIn(t *testing.T) {
	schemas := authSchemas(t)
	for version, value := range map[int]any{
		1: acpterm.ClientCapabilities{Auth: acpterm.AuthCapabilities{Terminal: true}},
		2: map[string]any{"auth": signin.CapabilityV2{}},
	} {
		written, err := json.Marshal(value)
		require.NoError(t, err)
		require.NoError(t, schemas[version].validate(t, "ClientCapabilities", written), "%d: %s", version, written)
		params := fmt.Sprintf(`{"protocolVersion":%d,"clientCapabilities":%s,"capabilities":%[2]s}`, version, written)
		read, err := agent.ReadClientCapabilities([]byte(params))
		require.NoError(t, err)
		require.True(t, read.Auth.Terminal)
	}
	require.Error(t, schemas[2].validate(t, "ClientCapabilities", []byte(`{"auth":{"terminal":true}}`)))
}

// The error code that requests signing in is the schema's.
func TestCodeOfSigningIn(t *testing.T) {
	for version, s := range authSchemas(t) {
		found := false
		for _, code := range append(s.defs["ErrorCode"].AnyOf, s.defs["ErrorCode"].OneOf...) {
			found = found || fmt.Sprint(code.Const) == fmt.Sprint(signin.CodeRequired)
		}
		require.True(t, found, "%d", version)
	}
}

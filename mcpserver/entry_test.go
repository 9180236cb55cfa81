package mcpserver

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
)

func TestEntry(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	for name, test := range map[string]struct {
		initialize, schema, definition, typ string
	}{
		"v1 http":             {agentHTTP, "acp.v1.json", "McpServerHttp", "http"},
		"v1 without http":     {agentStdio, "acp.v1.json", "McpServerStdio", ""},
		"v1 http of odd type": {`{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":{}}}}`, "acp.v1.json", "McpServerStdio", ""},
		"v1 odd capabilities": {`{"protocolVersion":1,"agentCapabilities":[7]}`, "acp.v1.json", "McpServerStdio", ""},
		"v2 http":             {`{"protocolVersion":2,"capabilities":{"session":{"mcp":{"stdio":{},"http":{}}}}}`, "acp.v2.json", "McpServerHttp", "http"},
		"v2 stdio":            {`{"protocolVersion":2,"capabilities":{"session":{"mcp":{"stdio":{"_meta":null},"http":null}}}}`, "acp.v2.json", "McpServerStdio", "stdio"},
	} {
		e := f.entry(test.initialize)
		require.Equal(t, test.typ, e.Type, name)
		encoded, err := json.Marshal(e)
		require.NoError(t, err)
		validate(t, test.schema, "", encoded)
		validate(t, test.schema, test.definition, encoded)
		require.Equal(t, "acpterm", e.Name)
	}
	one, err := f.server.Entry(f.listener, "local", json.RawMessage(agentHTTP))
	require.NoError(t, err)
	require.Equal(t, "local", one.Name)
	require.NotEqual(t, one.Headers, f.entry(agentHTTP).Headers)
}

// validate validates a document against a definition of a schema, or the schema itself.
func validate(t *testing.T, file, definition string, document []byte) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(data, &schema))
	if definition != "" {
		schema.Ref = "#/$defs/" + definition
	}
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	var value any
	require.NoError(t, json.Unmarshal(document, &value))
	require.NoError(t, resolved.Validate(value), string(document))
}

func TestEntryFails(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	for name, initialize := range map[string]string{
		"nothing": ``, "null": `null`, "an array": `[]`, "no version": `{}`, "another version": `{"protocolVersion":3}`,
		"an odd version":             `{"protocolVersion":"1"}`,
		"v2 without any":             `{"protocolVersion":2,"capabilities":{"session":{}}}`,
		"v2 with another":            `{"protocolVersion":2,"capabilities":{"session":{"mcp":{"acp":{}}}}}`,
		"v2 with values of v1":       `{"protocolVersion":2,"agentCapabilities":{"mcpCapabilities":{"http":true}}}`,
		"v2 with odd values":         `{"protocolVersion":2,"capabilities":{"session":{"mcp":{"http":true,"stdio":[]}}}}`,
		"v2 with odd capabilities":   `{"protocolVersion":2,"capabilities":"all"}`,
		"v2 with a session of null":  `{"protocolVersion":2,"capabilities":{"session":null}}`,
		"version 1 and then garbage": `{"protocolVersion":1} x`,
	} {
		_, err := f.server.Entry(f.listener, "", json.RawMessage(initialize))
		require.Error(t, err, name)
	}
	require.Empty(t, f.listener.entries)
}

func TestEntryWithoutRelay(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	l, err := Listen(nil)
	require.NoError(t, err)
	defer l.Close()
	m, err := acpterm.NewManager(nil)
	require.NoError(t, err)
	defer m.Close()
	_, err = New(m, nil).Entry(l, "", json.RawMessage(agentStdio))
	require.ErrorContains(t, err, "acpterm-mcp-relay")
	require.ErrorContains(t, err, "ListenOptions.Relay")
}

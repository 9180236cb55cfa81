package conformance

// Signing in: the examples read by package signin, and the capability, match the schema.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/acpterm/acpterm/signin"
)

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

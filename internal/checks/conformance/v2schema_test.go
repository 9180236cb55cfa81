package conformance

// The parts of the schema in testdata match the installed SDK.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSchemasAreThoseOfTheSDK(t *testing.T) {
	_, program := requireTypeScript(t, "v2agent.mjs")
	shipped := filepath.Join(filepath.Dir(program), "node_modules", "@agentclientprotocol", "sdk", "schema")
	for name, file := range map[string]string{
		"terminal.v1.json": "v1/schema.json", "toolcall.v1.json": "v1/schema.json", "auth.v1.json": "v1/schema.json",
		"session.v1.json":  "v1/schema.json",
		"terminal.v2.json": "v2/schema.json", "auth.v2.json": "v2/schema.json", "session.v2.json": "v2/schema.json",
	} {
		own := readDefinitions(t, filepath.Join("testdata", "schema", name))
		all := readDefinitions(t, filepath.Join(shipped, filepath.FromSlash(file)))
		require.NotEmpty(t, own)
		for def, got := range own {
			want := all[def]
			// As the file's comment says, only some of the variants and properties are kept.
			for _, keyword := range []string{"anyOf", "oneOf"} {
				kept, _ := got[keyword].([]any)
				from, _ := want[keyword].([]any)
				for _, variant := range kept {
					require.Contains(t, from, variant, "%s: %s", name, def)
				}
				require.Equal(t, len(kept) > 0, len(from) > 0, "%s: %s", name, def)
				switch def {
				case "SessionUpdate", "ToolCallContent", "ContentBlock":
					delete(got, keyword)
					delete(want, keyword)
				}
			}
			if def == "ClientCapabilities" || def == "InitializeResponse" {
				from := want["properties"].(map[string]any)
				for property, value := range got["properties"].(map[string]any) {
					require.Equal(t, from[property], value, "%s: %s", name, def)
				}
				delete(got, "properties")
				delete(want, "properties")
			}
			require.Equal(t, want, got, "%s: %s", name, def)
		}
	}
}

// readDefinitions returns the definitions of a schema file.
func readDefinitions(t *testing.T, name string) map[string]map[string]any {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	var file struct {
		Defs map[string]map[string]any `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(data, &file))
	return file.Defs
}

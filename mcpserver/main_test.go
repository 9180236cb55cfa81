package mcpserver

import (
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/racetest"
)

func TestMain(m *testing.M) { actAsChild(); racetest.Main(m) }

// object is a JSON object.
type object = map[string]any

// call calls a tool that succeeds, and returns its structured result and its text.
func call[Out any](t *testing.T, s *mcp.ClientSession, tool string, arguments any) (Out, string) {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(t, err)
	require.False(t, result.IsError, textOf(result))
	var out Out
	encoded, err := json.Marshal(result.StructuredContent)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(encoded, &out))
	return out, textOf(result)
}

// fails calls a tool that fails, and returns the text.
func fails(t *testing.T, s *mcp.ClientSession, tool string, arguments any) string {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(t, err)
	require.True(t, result.IsError, textOf(result))
	return textOf(result)
}

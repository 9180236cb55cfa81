package mcpserver

// Messages that are long, apart from the arguments of a call. Decoded, they would use up the memory of the host.

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

func TestLongMetadata(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	long := json.RawMessage("[" + strings.Repeat("[],", maxAround/3) + "[]]")
	over := f.entry(agentHTTP)
	id := f.initialize(over)
	list := `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"x":` + string(long) + `}}}`
	require.Equal(t, http.StatusRequestEntityTooLarge, f.ask(over, id, list))
	require.Equal(t, http.StatusRequestEntityTooLarge, f.ask(over, id, strings.Replace(list, "_meta", `arguments":{},"x`, 1)))
	require.Equal(t, http.StatusOK, f.ask(over, id, listRequest))

	relayed := f.connect(f.entry(agentStdio))
	_, err := relayed.ListTools(t.Context(), &mcp.ListToolsParams{Meta: mcp.Meta{"x": long}})
	require.Error(t, err)
	require.Error(t, relayed.Ping(t.Context(), nil), "the session is over")
}

package mcpserver

// Messages that are long, apart from the arguments of a call. Decoded, they would use up the memory of the host.

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

func TestLongMetadata(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	p := newACPPeer(f)
	long := json.RawMessage("[" + strings.Repeat("[],", maxAround/3) + "[]]")
	hello := object{"command": "hello", "args": []string{}}
	e := p.entry()
	_, err := p.run(e, "1", hello, object{"x": long})
	require.EqualValues(t, codeLimit, codeOf(t, err))
	_, err = p.run(e, strings.Repeat("1", maxAround), hello, nil)
	require.EqualValues(t, codeLimit, codeOf(t, err))
	hello["env"] = object{"A": strings.Repeat("x", maxAround)}
	a, err := p.run(e, "1", hello, nil)
	require.NoError(t, err)
	require.False(t, a.Result.IsError)

	over := f.entry(agentHTTP)
	id := f.initialize(over)
	list := `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"x":` + string(long) + `}}}`
	require.Equal(t, http.StatusRequestEntityTooLarge, f.ask(over, id, list))
	require.Equal(t, http.StatusRequestEntityTooLarge, f.ask(over, id, strings.Replace(list, "_meta", `arguments":{},"x`, 1)))
	require.Equal(t, http.StatusOK, f.ask(over, id, listRequest))

	relayed := f.connect(f.entry(agentStdio))
	_, err = relayed.ListTools(t.Context(), &mcp.ListToolsParams{Meta: mcp.Meta{"x": long}})
	require.Error(t, err)
	require.Error(t, relayed.Ping(t.Context(), nil), "the session is over")
}

// A progress token of another type than MCP's is ignored.
func TestACPProgressTokenOfWrongType(t *testing.T) {
	t.Parallel()
	c := newACPConnection(nil, "")
	for _, token := range []string{`{}`, `[1]`, `true`, `null`} {
		params := json.RawMessage(`{"_meta":{"progressToken":` + token + `}}`)
		require.Nil(t, c.add(jsonrpc2.ID{}, acpMessage{RequestID: token, Params: params}))
		require.Nil(t, c.about(json.RawMessage(`{"progressToken":`+token+`}`)))
	}
	params := json.RawMessage(`{"_meta":{"progressToken":7}}`)
	require.Nil(t, c.add(jsonrpc2.ID{}, acpMessage{RequestID: "7", Params: params}))
	require.Equal(t, "7", c.about(json.RawMessage(`{"progressToken":7}`)).requestID)
	require.Nil(t, c.about(json.RawMessage(`{"progressToken":{}}`)))
}

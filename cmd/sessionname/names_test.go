package sessionname

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
)

func TestNames(t *testing.T) {
	named := make(map[acpterm.SessionID]string)
	n := New(func(id acpterm.SessionID, name string) { named[id] = name })
	n.Add("one")
	n.SetProject("/home/me/shop", json.RawMessage(`{"agentInfo": null}`), "")
	require.Equal(t, "shop", named["one"])
	n.SetProject("/home/me/shop", json.RawMessage(`{}`), "my-agent")
	require.Equal(t, "shop (my-agent)", named["one"])
	n.SetProject("/home/me/shop", json.RawMessage(`{"agentInfo": {"name": "a", "title": "A"}}`), "my-agent")
	n.Add("two")
	require.Equal(t, "shop (A)", named["two"])
	for _, step := range []struct{ update, want string }{
		{`{"title": " Fix it\n"}`, "Fix it"}, {`{}`, "Fix it"},
		{`{"title": "\u202e"}`, `\u202e`}, {`{"title": null}`, "shop (A)"},
	} {
		require.NoError(t, n.SetTitle(json.RawMessage(`{"sessionId": "one", "update": `+step.update+`}`)))
		require.Equal(t, step.want, n.Name())
		require.Equal(t, step.want, named["one"])
	}
	require.Error(t, n.SetTitle(json.RawMessage(`{"update": {"title": 1}}`)))
	for i := range 2 * mostSessions {
		n.Add(acpterm.SessionID(fmt.Sprint(i)))
	}
	require.Empty(t, named["one"])
	require.Equal(t, "shop (A)", named["199"])
}

package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
)

func TestNames(t *testing.T) {
	named := make(map[acpterm.SessionID]string)
	n := newSessionNames(func(id acpterm.SessionID, name string) { named[id] = name })
	n.add("one")
	n.setProject("/home/me/shop", json.RawMessage(`{"agentInfo": null}`), "")
	require.Equal(t, "shop", named["one"])
	n.setProject("/home/me/shop", json.RawMessage(`{}`), "my-agent")
	require.Equal(t, "shop (my-agent)", named["one"])
	n.setProject("/home/me/shop", json.RawMessage(`{"agentInfo": {"name": "a", "title": "A"}}`), "my-agent")
	n.add("two")
	require.Equal(t, "shop (A)", named["two"])
	for _, step := range []struct{ update, want string }{
		{`{"title": " Fix it\n"}`, "Fix it"}, {`{}`, "Fix it"},
		{`{"title": "\u202e"}`, `\u202e`}, {`{"title": null}`, "shop (A)"},
	} {
		require.NoError(t, n.setTitle(json.RawMessage(`{"sessionId": "one", "update": `+step.update+`}`)))
		require.Equal(t, step.want, n.name())
		require.Equal(t, step.want, named["one"])
	}
	require.Error(t, n.setTitle(json.RawMessage(`{"update": {"title": 1}}`)))
	for i := range 2 * mostNamedSessions {
		n.add(acpterm.SessionID(fmt.Sprint(i)))
	}
	require.Empty(t, named["one"])
	require.Equal(t, "shop (A)", named["199"])
}

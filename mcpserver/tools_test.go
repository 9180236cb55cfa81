package mcpserver

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRunReturnsOutputAndExitCode(t *testing.T) {
	s := connect(t, newServer(t, nil, nil), nil)
	r, text := call[commandResult](t, s, "run", object{"command": "printf 'one\\ntwo'; exit 3"})
	require.Equal(t, "one\ntwo", r.Output)
	require.Equal(t, uint32(3), *r.ExitCode)
	require.Equal(t, "ended", r.State)
	require.Equal(t, int64(7), r.NextOffset)
	require.Contains(t, text, "one\ntwo\n["+r.ID+" ended with exit code 3, after ")
	t.Log(text, s.InitializeResult().ProtocolVersion)
	l, text := call[listResult](t, s, "list", nil)
	require.Len(t, l.Commands, 1)
	t.Log(text)
	t.Log(fails(t, s, "run", object{"command": "nosuchthing"}))
	t.Log(fails(t, s, "run", object{"command": "true", "cwd": "/nosuch"}))
	t.Log(fails(t, s, "run", object{"command": "true", "args": 5, "x": 7}))
	t.Log(fails(t, s, "wait", object{"id": "term_x"}))
}

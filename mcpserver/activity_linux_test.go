package mcpserver

// Waits that end because a command waits for input, or listens on a port, and writes that wait while it is busy.

import (
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWaitEndsWhenACommandWaitsForInput(t *testing.T) {
	s := connect(t, newServer(t, nil, consenting()), nil)
	r, text := call[commandResult](t, s, "run", object{
		"command": `printf 'name? '; read name; echo "hello $name"; read more`, "pty": true, "wait_ms": 600_000,
	})
	require.Equal(t, "running", r.State)
	require.True(t, r.WaitsForInput)
	require.Equal(t, "name? ", r.Output)
	require.Contains(t, text, ", waits for input")
	call[commandResult](t, s, "write", object{"id": r.ID, "text": "you\n", "wait_ms": 60_000})
	w, _ := call[commandResult](t, s, "output", object{"id": r.ID})
	require.Contains(t, w.Output, "hello you")
	require.Empty(t, w.Listening)
}

// A command that works in silence has not answered yet, and one that waits for more input has, also without output.
func TestWriteWaitsForABusyCommand(t *testing.T) {
	s := connect(t, newServer(t, nil, consenting()), nil)
	r, _ := call[commandResult](t, s, "run", object{
		"command": `stty -echo; read a; printf begun; timeout 1 yes >/dev/null; printf " over"; read b; read c`,
		"pty":     true, "wait_ms": 600_000,
	})
	w, text := call[commandResult](t, s, "write", object{"id": r.ID, "text": "a\n", "wait_ms": 600_000})
	require.Equal(t, "begun over", w.Output, text)
	require.True(t, w.WaitsForInput)
	w, text = call[commandResult](t, s, "write", object{"id": r.ID, "text": "b\n", "wait_ms": 600_000})
	require.Empty(t, w.Output)
	require.True(t, w.WaitsForInput, text)
}

func TestWaitEndsWhenACommandListens(t *testing.T) {
	s := connect(t, newServer(t, nil, nil), nil)
	r, text := call[commandResult](t, s, "run", object{"command": os.Args[0], "args": []string{"listen"}, "wait_ms": 600_000})
	require.Equal(t, "running", r.State)
	require.Len(t, r.Listening, 1, text)
	require.Contains(t, text, ", listening on http://localhost:")
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.Listening[0], "http://"))
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	running := func() int64 {
		l, _ := call[listResult](t, s, "list", nil)
		return l.Commands[0].RunMS
	}
	before := running()
	w, _ := call[commandResult](t, s, "wait", object{"id": r.ID, "wait_ms": 1000}) // the model knows: it waits
	require.Equal(t, r.Listening, w.Listening)
	require.GreaterOrEqual(t, running(), before+900)
}

package acpterm_test

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

// Lines that are no messages are skipped; the next good one works.
func TestStreamSkipsWhatIsNoMessage(t *testing.T) {
	client, agentEnd := pipePair(t)
	m := newManager(t, nil)
	conn := jsonrpc2.NewConn(t.Context(), acpterm.NewStream(client), acpterm.NewHandler(m, nil))
	go func() {
		for _, line := range []string{
			"Debugger listening on ws://127.0.0.1:9229", "", "   ", "{", `{"jsonrpc":"2.0","id":1,"meth`, "7", "null", "[]", `"text"`,
			`{"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"2.0","id":1,"method":7}`, `{"jsonrpc":"2.0","id":{},"method":"x"}`,
			`{"jsonrpc":"2.0","id":1,"method":"x","result":1}`, `{"jsonrpc":"2.0","id":1.5,"method":"x"}`, "\xff\xfe\x00",
			`{"jsonrpc":"2.0","id":77,"result":"of nothing"}`, `{"jsonrpc":"2.0","id":78,"error":null,"result":null}`,
			strings.Repeat("noise ", 1<<20),
			`{"jsonrpc":"2.0","id":"good","method":"terminal/output","params":{"sessionId":"s","terminalId":"x"}}`,
		} {
			io.WriteString(agentEnd, line+"\n")
		}
	}()
	var resp jsonrpc2.Response
	require.NoError(t, acpterm.NewStream(agentEnd).ReadObject(&resp))
	require.Equal(t, "good", resp.ID.Str)
	require.Equal(t, int64(-32002), resp.Error.Code)
	agentEnd.Close()
	<-conn.DisconnectNotify()
}

func TestStreamWritesOneLineAMessage(t *testing.T) {
	a, b := net.Pipe()
	go func() {
		s := acpterm.NewStream(a)
		s.WriteObject(map[string]string{"text": "two\nlines"})
		s.Close()
	}()
	all, err := io.ReadAll(b)
	require.NoError(t, err)
	require.Equal(t, `{"text":"two\nlines"}`+"\n", string(all))
}

// A last line without its newline is a message all the same; half of one ends the stream.
func TestStreamAtItsEnd(t *testing.T) {
	for text, whole := range map[string]bool{
		`{"jsonrpc":"2.0","method":"x"}`: true,
		`{"jsonrpc":"2.0","meth`:         false,
		``:                               false,
	} {
		a, b := net.Pipe()
		go func() { io.WriteString(a, text); a.Close() }()
		var req jsonrpc2.Request
		s := acpterm.NewStream(b)
		if whole {
			require.NoError(t, s.ReadObject(&req))
			require.Equal(t, "x", req.Method)
		}
		require.ErrorIs(t, s.ReadObject(&req), io.EOF)
	}
}

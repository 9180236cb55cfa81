//go:build unix

package mcpserver

// Lines that are not messages, on each way to a session.

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/mcpserver/internal/relay"
)

// checkLines checks that a session answers lines that are not messages, and goes on. Its longest line has 4 KiB.
func checkLines(t *testing.T, conn io.ReadWriter) {
	t.Helper()
	answers := bufio.NewReader(conn)
	exchange := func(sent string, answer ...string) {
		t.Helper()
		_, err := io.WriteString(conn, sent+"\n")
		require.NoError(t, err)
		for _, pattern := range answer {
			line, err := answers.ReadString('\n')
			require.NoError(t, err)
			require.Regexp(t, pattern, line, "%.100s", sent)
		}
	}
	fault := func(id string, code int) string { return fmt.Sprintf(`"id":%s,"error":\{"code":%d,`, id, code) }
	exchange(initializeRequest, `"id":1,"result"`)
	exchange(initialized)
	const ping = `{"jsonrpc":"2.0","id":%s,"method":"ping"}`
	for i, around := range []string{"%s", "%s ", "%s\t", "\t %s \t", "%s\r", "\n%s\n"} {
		id := fmt.Sprint(10 + i)
		exchange(fmt.Sprintf(around, fmt.Sprintf(ping, id)), `"id":`+id+`,"result"`)
	}
	exchange("not JSON", fault("null", -32700))
	exchange(`{"jsonrpc":"2.0","id":77,"method":`, fault("null", -32700))
	exchange("{\"jsonrpc\":\"2.0\",\"id\":78,\n\"method\":\"ping\"}", fault("null", -32700), fault("null", -32700))
	exchange(fmt.Sprintf(ping, "79")+fmt.Sprintf(ping, "80"), fault("null", -32700))
	exchange(`{"jsonrpc":"2.0","id":"`+strings.Repeat("x", 100_000)+`","method":"ping"}`, fault("null", -32600))
	exchange("["+fmt.Sprintf(ping, "81")+"]", fault("null", -32600))
	exchange(`{"id":82,"method":"ping"}`, fault("82", -32600))
	exchange(`{"jsonrpc":"1.0","id":"a\"b","method":"ping"}`, fault(regexp.QuoteMeta(`"a\"b"`), -32600))
	exchange(`{"jsonrpc":"1.0","method":"ping"}`)
	exchange(`{"jsonrpc":"2.0","id":{},"method":"ping"}`, fault("null", -32600))
	exchange(fmt.Sprintf(ping, "8.50"), `"id":8.50,"result"`)
}

func TestLinesOverStdio(t *testing.T) {
	s := newServer(t, nil, nil)
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- s.Run(t.Context(), &mcp.IOTransport{Reader: far, Writer: far, MaxLineLength: 4096})
	}()
	checkLines(t, near)
	require.NoError(t, near.Close())
	require.NoError(t, <-served)
}

func TestLinesOfARelay(t *testing.T) {
	f := newFront(t, blocking, ListenOptions{MaxBody: 4096})
	e := f.entry(agentStdio)
	conn := f.dialRelay(e)
	_, err := io.WriteString(conn, valueOf(e, relay.TokenVariable)+"\n")
	require.NoError(t, err)
	checkLines(t, conn)
}

func TestBodiesThatAreNoMessage(t *testing.T) {
	f := newFront(t, blocking, ListenOptions{})
	e := f.entry(agentHTTP)
	id := f.initialize(e)
	for _, body := range []string{"", "not JSON", `{"jsonrpc":"2.0","id":77,"method":`, listRequest + listRequest} {
		r := f.request(e, "POST", body)
		r.Header.Set("Mcp-Session-Id", id)
		response, text := f.send(r)
		require.Equal(t, http.StatusBadRequest, response.StatusCode)
		require.Contains(t, text, `"id":null,"error":{"code":-32700,`)
	}
	require.Equal(t, http.StatusBadRequest, f.ask(e, id, `{"id":1,"method":"ping"}`))
	require.Equal(t, http.StatusOK, f.ask(e, id, "\t"+strings.ReplaceAll(listRequest, ",", ",\n")+" \n"))
}

package view_test

// Limits of connections, over loopback.

import (
	"bufio"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/view"
)

// timeout bounds waits that end immediately unless the code is wrong.
const timeout = time.Minute

// dial opens a connection and sends a text.
func dial(t *testing.T, address, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(timeout))
	io.WriteString(conn, text)
	return conn
}

// withoutToken are the starts of connections without the token: nothing, an incomplete header, a refused request, a
// request without its body.
var withoutToken = []string{
	"",
	"GET / HTTP/1.1\r\nHost: localhost\r\nX-Header: ",
	"GET /wrong-token-of-some-length/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n",
}

// ask sends a request on a new connection. It returns the connection and the status.
func ask(t *testing.T, address, path string) (net.Conn, int) {
	t.Helper()
	conn := dial(t, address, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	io.Copy(io.Discard, response.Body)
	response.Body.Close()
	return conn, response.StatusCode
}

func TestConnectionsWithoutTheTokenAreBounded(t *testing.T) {
	v := newViewer(t, made(t, nil, acpterm.Options{}), view.Options{}, func(server *httptest.Server) {
		server.Config.ReadHeaderTimeout, server.Config.ReadTimeout = 0, 0 // only their number closes connections
	})
	address := v.server.Listener.Addr().String()
	for _, text := range withoutToken {
		closed := make(chan struct{}, 300)
		for i := range 300 {
			conn := dial(t, address, text)
			if i < 300-32 {
				go func() {
					if _, err := io.Copy(io.Discard, conn); !os.IsTimeout(err) {
						closed <- struct{}{}
					}
				}()
			}
		}
		for i := range 300 - 32 {
			select {
			case <-closed:
			case <-time.After(timeout):
				t.Fatalf("only %d connections were closed that sent %q", i, text)
			}
		}
		_, status := ask(t, address, v.view.Path())
		require.Equal(t, http.StatusOK, status)
	}
}

func TestRefusedRequestEndsItsConnection(t *testing.T) {
	v := newViewer(t, made(t, nil, acpterm.Options{}), view.Options{})
	conn, status := ask(t, v.server.Listener.Addr().String(), "/")
	require.Equal(t, http.StatusForbidden, status)
	_, err := conn.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}

func TestConnectionsWithTheTokenAreBounded(t *testing.T) {
	v := newViewer(t, made(t, nil, acpterm.Options{}), view.Options{MaxStreams: 3})
	address := v.server.Listener.Addr().String()
	var first net.Conn
	for i := range 3 + 32 {
		conn, status := ask(t, address, v.view.Path())
		require.Equal(t, http.StatusOK, status, i)
		if i == 0 {
			first = conn
		}
	}
	refused, status := ask(t, address, v.view.Path())
	require.Equal(t, http.StatusServiceUnavailable, status)
	_, err := refused.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	first.Close()
	for deadline := time.Now().Add(timeout); status != http.StatusOK; _, status = ask(t, address, v.view.Path()) {
		require.True(t, time.Now().Before(deadline), "refused after a connection was closed")
	}
}

func TestServerLimitsTheTimeOfRequests(t *testing.T) {
	v := must(view.New(made(t, nil, acpterm.Options{}), nil))
	defer v.Close()
	server := v.Server()
	require.Positive(t, server.ReadHeaderTimeout)
	require.Positive(t, server.ReadTimeout)
	require.Positive(t, server.WriteTimeout)
	require.Positive(t, server.IdleTimeout)
	require.Positive(t, server.MaxHeaderBytes)
}

func TestTLSAndHTTP2(t *testing.T) {
	t.Parallel()
	v, terminal, texts := newSteps(t, func(server *httptest.Server) {
		server.EnableHTTP2 = true
		server.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes of closed connections
	})
	require.Equal(t, 2, v.request("GET", "", nil).ProtoMajor)
	s := v.open(output(terminal), "")
	for range 2 * 32 { // they close each other, and not the stream's connection
		conn := tls.Client(dial(t, v.server.Listener.Addr().String(), ""), &tls.Config{InsecureSkipVerify: true})
		require.NoError(t, conn.Handshake())
	}
	texts <- "one"
	text, _, _ := s.text(func(text string) bool { return text == "one" })
	require.Equal(t, "one", text)
	close(texts)
}

package view_test

// Limits of connections, over loopback.

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/terminaltest/children"
	"github.com/acpterm/acpterm/view"
	"github.com/stretchr/testify/require"
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

// The host is a child process with few descriptors.
func TestOpenConnectionsBlockNoCreates(t *testing.T) {
	host := exec.Command(children.Program(), children.Args("host")[1:]...)
	host.Stderr = os.Stderr
	orders, err := host.StdinPipe()
	require.NoError(t, err)
	stdout, err := host.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, host.Start())
	t.Cleanup(func() {
		orders.Close()
		require.NoError(t, host.Wait())
	})
	answers := bufio.NewReader(stdout)
	answer := func() string {
		line, err := answers.ReadString('\n')
		require.NoError(t, err)
		return strings.TrimSpace(line)
	}
	page, err := url.Parse(answer())
	require.NoError(t, err)

	for i := range 300 {
		dial(t, page.Host, withoutToken[i%len(withoutToken)])
		if i%10 == 9 {
			fmt.Fprintln(orders, "create")
			require.Equal(t, "created", answer(), "with %d connections", i+1)
		}
	}
	for range 10 {
		_, status := ask(t, page.Host, page.Path)
		require.Equal(t, http.StatusOK, status)
	}
}

// host embeds the view, and runs a command for each line of its input.
func host() {
	limitDescriptors()
	m := must(acpterm.NewManager(nil))
	v := must(view.New(m, nil))
	server := v.Server()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go server.Serve(listener)
	fmt.Println(v.URL(listener.Addr()))
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if err := createOne(m); err != nil {
			fmt.Println(err)
		} else {
			fmt.Println("created")
		}
	}
	v.Close()
	server.Close()
	m.Close()
}

func createOne(m *acpterm.Manager) error {
	ctx := context.Background()
	terminal, err := m.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s", Command: children.Program(),
		Args: children.Args("exit", "0")[1:]}, nil)
	if err != nil {
		return err
	}
	if _, err := terminal.Wait(ctx); err != nil {
		return err
	}
	return m.Release(ctx, "s", terminal.ID())
}

func TestConnectionsWithoutTheTokenAreBounded(t *testing.T) {
	v := newViewer(t, made(t, nil, acpterm.Options{}), view.Options{}, func(server *httptest.Server) {
		server.Config.ReadHeaderTimeout, server.Config.ReadTimeout = 0, 0 // only their number closes connections
	})
	address := v.server.Listener.Addr().String()
	closed := make(chan struct{}, 300)
	var last net.Conn
	for i := range 300 {
		last = dial(t, address, "")
		if i < 300-32 {
			go func(conn net.Conn) {
				if _, err := conn.Read(make([]byte, 1)); err != nil && !os.IsTimeout(err) {
					closed <- struct{}{}
				}
			}(last)
		}
	}
	for i := range 300 - 32 {
		select {
		case <-closed:
		case <-time.After(timeout):
			t.Fatalf("only %d connections were closed", i)
		}
	}
	fmt.Fprintf(last, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", v.view.Path())
	response, err := http.ReadResponse(bufio.NewReader(last), nil)
	require.NoError(t, err)
	response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
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

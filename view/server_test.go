package view_test

// What connections may take of a host: real ones, over loopback.

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
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
	"github.com/stretchr/testify/require"
)

// hang is how long a test waits for what has to happen.
const hang = time.Minute

// dial opens a connection of its own and sends a text.
func dial(t *testing.T, address, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(hang))
	io.WriteString(conn, text)
	return conn
}

// withoutToken are what a connection can send that has no token: nothing, half a header, a request that is refused, one
// whose body never comes.
var withoutToken = []string{
	"",
	"GET / HTTP/1.1\r\nHost: localhost\r\nX-Header: ",
	"GET /wrong-token-of-some-length/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n",
}

// ask sends a request on a connection of its own, and returns that and the status.
func ask(t *testing.T, address, path string) (net.Conn, int) {
	t.Helper()
	conn := dial(t, address, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	io.Copy(io.Discard, response.Body)
	response.Body.Close()
	return conn, response.StatusCode
}

// TestCreatesGoOnWhileConnectionsAreHeldOpen has a host of its own, with few descriptors.
func TestCreatesGoOnWhileConnectionsAreHeldOpen(t *testing.T) {
	host := exec.Command(self(t), "child", "host")
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

// host is a program that embeds the view. It starts a command for each line that it reads.
func host() {
	limitDescriptors()
	m := acpterm.NewManager(nil)
	v := view.Handler(m, nil)
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
	terminal, err := m.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s", Command: os.Args[0],
		Args: []string{"child", "nothing"}})
	if err != nil {
		return err
	}
	if _, err := terminal.Wait(ctx); err != nil {
		return err
	}
	return m.Release(ctx, "s", terminal.ID())
}

func TestConnectionsWithoutTheTokenAreBounded(t *testing.T) {
	v := view.Handler(made(t, nil, acpterm.Options{}), nil)
	server := httptest.NewUnstartedServer(nil)
	server.Config = v.Server()
	server.Config.ReadHeaderTimeout, server.Config.ReadTimeout = 0, 0 // it is the number that closes them here
	server.Start()
	t.Cleanup(func() {
		v.Close()
		server.Close()
	})
	address := server.Listener.Addr().String()
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
		case <-time.After(hang):
			t.Fatalf("only %d connections were closed", i)
		}
	}
	fmt.Fprintf(last, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", v.Path())
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
	for deadline := time.Now().Add(hang); status != http.StatusOK; _, status = ask(t, address, v.view.Path()) {
		require.True(t, time.Now().Before(deadline), "no room after a connection was closed")
	}
}

func TestServerLimitsTheTimeOfRequests(t *testing.T) {
	v := view.Handler(made(t, nil, acpterm.Options{}), nil)
	defer v.Close()
	server := v.Server()
	require.Positive(t, server.ReadHeaderTimeout)
	require.Positive(t, server.ReadTimeout)
	require.Positive(t, server.WriteTimeout)
	require.Positive(t, server.IdleTimeout)
	require.Positive(t, server.MaxHeaderBytes)
}

func TestServerSpeaksTLSAndHTTP2(t *testing.T) {
	texts := make(chan string)
	m := made(t, acptermtest.Commands{"make": steps(texts)}, acpterm.Options{})
	v := view.Handler(m, &view.Options{Token: token})
	server := httptest.NewUnstartedServer(nil)
	server.Config = v.Server()
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes with what is closed
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(func() {
		v.Close()
		server.Close()
	})
	w := &viewer{t, m, v, server}
	answer := w.request("GET", "", nil)
	require.Equal(t, 2, answer.ProtoMajor)
	terminal := w.create("s", "make")
	s := w.open(output(terminal), "")
	for range 2 * 32 { // which close one another, and not that one
		conn := tls.Client(dial(t, server.Listener.Addr().String(), ""), &tls.Config{InsecureSkipVerify: true})
		require.NoError(t, conn.Handshake())
	}
	texts <- "one"
	text, _, _ := s.text(func(text string) bool { return text == "one" })
	require.Equal(t, "one", text)
	close(texts)
}

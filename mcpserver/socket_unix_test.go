//go:build linux || darwin || freebsd

package mcpserver

// The socket of relays: its permissions, and other users.

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/mcpserver/internal/relay"
)

func TestSocketIsPrivateAndRemoved(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	f.entry(agentHTTP)
	path := valueOf(f.entry(agentStdio), relay.SocketVariable)
	require.Equal(t, path, valueOf(f.entry(agentStdio), relay.SocketVariable))
	dir, err := os.Stat(filepath.Dir(path))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), dir.Mode().Perm())
	socket, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), socket.Mode().Perm())
	require.NoError(t, f.listener.Close())
	require.NoDirExists(t, filepath.Dir(path))
}

func TestSocketPathIsShort(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	require.NoError(t, os.Mkdir(long, 0o700))
	t.Setenv("TMPDIR", long)
	f := newFront(t, blocking, ListenOptions{})
	e := f.entry(agentStdio)
	require.Less(t, len(valueOf(e, relay.SocketVariable)), 104)
	f.connect(e)
	left, err := os.ReadDir(long)
	require.NoError(t, err)
	require.Empty(t, left)
}

// dialSocket connects to the socket of an entry, and sends its token.
func (f *front) dialSocket(e *Entry) net.Conn {
	f.Helper()
	conn := f.dialRelay(e)
	_, err := io.WriteString(conn, valueOf(e, relay.TokenVariable)+"\n")
	require.NoError(f, err)
	return conn
}

func TestSocketFlood(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	conn := f.dialSocket(f.entry(agentStdio))
	_, err := io.WriteString(conn, initializeRequest+"\n"+initialized+"\n")
	for i := 0; err == nil; i++ { // until the listener closes the connection, because no answer is read
		_, err = fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":"%d","method":"tools/list"}`+"\n", i)
	}
}

func TestCloseDoesNotWaitForReaders(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	e := f.entry(agentStdio)
	conn := f.dialSocket(e)
	_, err := io.WriteString(conn, initializeRequest+"\n"+initialized+"\n")
	require.NoError(t, err)
	for i := range maxUnanswered / 2 { // the responses do not fit into the socket's buffer
		_, err = fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":"%d","method":"tools/list"}`+"\n", i)
		require.NoError(t, err)
	}
	_, err = conn.Read(make([]byte, 1))
	require.NoError(t, err)
	require.NoError(t, e.Close())
}

func TestSocketTooManyWithoutToken(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{headerTimeout: time.Hour})
	e := f.entry(agentStdio)
	s := f.connect(e)
	var silent []net.Conn
	for range maxUnadmitted + 1 {
		conn := f.dialRelay(e)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
		silent = append(silent, conn)
	}
	_, err := silent[0].Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	f.connect(e)
	require.NoError(t, s.Ping(t.Context(), nil))
}

func TestSocketTooManyWithToken(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{MaxSessions: maxConnections + 1})
	e := f.entry(agentStdio)
	var last net.Conn
	opens := func() bool {
		last = f.dialSocket(e)
		io.WriteString(last, initializeRequest+"\n")
		n, _ := last.Read(make([]byte, 1))
		return n == 1
	}
	for range maxConnections {
		require.True(t, opens())
	}
	served := last
	require.False(t, opens())
	f.connect(f.entry(agentStdio))
	require.NoError(t, served.Close())
	require.Eventually(t, opens, time.Minute, time.Millisecond)
}

func TestCloseDoesNotWaitForTokens(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{headerTimeout: time.Hour})
	e := f.entry(agentStdio)
	f.dialRelay(e)
	f.connect(e) // is accepted after that
	closed := make(chan error, 1)
	go func() { closed <- f.listener.Close() }()
	select {
	case err := <-closed:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		require.Fail(t, "Close waits for a token")
	}
}

func TestSocketRefusesBatches(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	e := f.entry(agentStdio)
	for _, line := range []string{
		"[" + initializeRequest + "]", " \t[" + initializeRequest + "," + listRequest + "]", "[]",
		initializeRequest + "[" + listRequest + "]", initializeRequest + listRequest, "{", "null", "x",
	} {
		conn := f.dialSocket(e)
		_, err := io.WriteString(conn, "\n"+line+"\n")
		require.NoError(t, err)
		answer, err := bufio.NewReader(conn).ReadString('\n')
		require.NoError(t, err)
		require.Regexp(t, `^\{"jsonrpc":"2.0","id":null,"error":\{"code":-32[67]00,`, answer, line)
	}
}

func TestSocketLimitsLines(t *testing.T) {
	t.Parallel()
	const limit = 1 << 10
	f := newFront(t, blocking, ListenOptions{MaxBody: limit})
	e := f.entry(agentStdio)
	for size, want := range map[int]string{limit: `"id":1,"result"`, limit + 1: `"id":null,"error":{"code":-32600,`} {
		conn := f.dialSocket(e)
		_, err := io.WriteString(conn, initializeRequest+strings.Repeat(" ", size-len(initializeRequest))+"\n")
		require.NoError(t, err)
		answer, err := bufio.NewReader(conn).ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, answer, want, size)
	}
}

func TestSocketIDsInUseCountOnce(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	conn := f.dialSocket(f.entry(agentStdio))
	_, err := io.WriteString(conn, initializeRequest+"\n"+initialized+"\n"+
		`{"jsonrpc":"2.0","id":"used","method":"tools/call","params":{"name":"run",`+
		`"arguments":{"command":"serve","args":[],"wait_ms":600000}}}`+"\n"+
		strings.Repeat(`{"jsonrpc":"2.0","id":"used","method":"ping"}`+"\n", 2*maxUnanswered)+
		`{"jsonrpc":"2.0","id":"last","method":"ping"}`+"\n")
	require.NoError(t, err)
	responses := bufio.NewScanner(conn)
	for responses.Scan() && !strings.Contains(responses.Text(), `"last"`) {
		require.NotContains(t, responses.Text(), `"used"`)
	}
	require.Contains(t, responses.Text(), `"last"`, responses.Err())
}

// failingListener fails a few times, as if too many files were open.
type failingListener struct {
	net.Listener
	failures int
}

func (l *failingListener) Accept() (net.Conn, error) {
	if l.failures > 0 {
		l.failures--
		return nil, syscall.EMFILE
	}
	return l.Listener.Accept()
}

func TestSocketAcceptsAfterFailures(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	s, err := newSocket()
	require.NoError(t, err)
	s.Listener = &failingListener{s.Listener, 3}
	_, err = f.listener.use(s)
	require.NoError(t, err)
	require.NoError(t, f.connect(f.entry(agentStdio)).Ping(t.Context(), nil))
}

func TestSocketIsTriedAgain(t *testing.T) {
	f := newFront(t, blocking, ListenOptions{})
	dir := filepath.Join(t.TempDir(), "d")
	t.Setenv("TMPDIR", dir)
	_, err := f.server.Entry(f.listener, "", []byte(agentStdio))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, f.connect(f.entry(agentStdio)).Ping(t.Context(), nil))
}

// nobody is the user ID of nobody.
const nobody = 65534

// asNobody returns a command that runs the test binary, or a relay, as another user.
func asNobody(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	dir, err := os.MkdirTemp("/tmp", "acpterm-test-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	binary, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	path := filepath.Join(dir, "test")
	require.NoError(t, os.WriteFile(path, binary, 0o755))
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd
}

func TestOtherUserCannotConnect(t *testing.T) {
	f := newFront(t, blocking, ListenOptions{})
	e := f.entry(agentStdio)
	path := valueOf(e, relay.SocketVariable)
	env := []string{relay.SocketVariable + "=" + path, relay.TokenVariable + "=" + valueOf(e, relay.TokenVariable)}
	require.ErrorContains(t, exchange(asNobody(t, env, relay.Argument), initializeRequest+"\n"), "permission denied")

	require.NoError(t, os.Chmod(filepath.Dir(path), 0o777))
	require.NoError(t, os.Chmod(path, 0o777))
	// The relay itself refuses a socket of another user, so the other user has to use another program.
	require.ErrorContains(t, exchange(asNobody(t, env, relay.Argument), initializeRequest+"\n"), "another user")
	out, err := asNobody(t, nil, "child", "dial", path, valueOf(e, relay.TokenVariable)).CombinedOutput()
	require.NoError(t, err)
	require.Equal(t, "connected\nclosed\n", string(out))
	f.connect(e)
}

func TestRelayRefusesSocketOfOtherUser(t *testing.T) {
	f := newFront(t, blocking, ListenOptions{})
	cmd := asNobody(t, nil, "child", "listen")
	dir, err := os.MkdirTemp("/tmp", "acpterm-test-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chown(dir, nobody, nobody))
	path := filepath.Join(dir, "s")
	cmd.Args = append(cmd.Args, path)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	leaktest.Start(t, cmd)
	says := bufio.NewScanner(stdout)
	require.True(t, says.Scan())
	require.Equal(t, "listening", says.Text())
	e := f.entry(agentStdio)
	setValue(e, relay.SocketVariable, path)
	require.ErrorContains(t, exchange(relayCommand(e), initializeRequest+"\n"), "another user")
	require.True(t, says.Scan())
	require.Equal(t, "received 0 bytes", says.Text())
	require.NoError(t, cmd.Wait())
}

// otherUser is a program of another user.
func otherUser(which string, args []string) {
	switch which {
	case "dial": // SOCKET TOKEN
		conn, err := net.Dial("unix", args[0])
		must(err)
		fmt.Println("connected")
		io.WriteString(conn, args[1]+"\n"+initializeRequest+"\n")
		n, err := conn.Read(make([]byte, 1))
		if n == 0 && (err == io.EOF || errors.Is(err, syscall.ECONNRESET)) {
			fmt.Println("closed")
		}
	case "listen": // SOCKET
		l, err := net.Listen("unix", args[0])
		must(err)
		must(os.Chmod(args[0], 0o777))
		fmt.Println("listening")
		conn, err := l.Accept()
		must(err)
		received, _ := io.ReadAll(conn)
		fmt.Printf("received %d bytes\n", len(received))
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

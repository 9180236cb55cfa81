package acpterm

// Whose turn it is to read a connection.

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// turns is a pipe that is read by turns. The thread is not for what has a "!" in it.
type turns struct {
	*requests
	loop   *loop
	file   *os.File // is read from
	writer *os.File
	read   chan string // what the thread has read
	back   chan bool   // awaits that have returned
}

func newTurns(t *testing.T) *turns {
	file, writer, err := os.Pipe()
	require.NoError(t, err)
	ts := &turns{loop: new(loop), file: file, writer: writer, read: make(chan string), back: make(chan bool)}
	ts.requests = newRequests(JoinStdio(file, writer), ts.loop, func(read func([]byte) (int, error)) (all bool) {
		buf := make([]byte, 100)
		n, err := read(buf)
		if err == errNotYet {
			return true
		}
		text := string(buf[:n])
		if err != nil {
			text = err.Error()
		}
		_, err = read(buf)
		require.Equal(t, errNotYet, err)
		ts.read <- text
		return n > 0 && !strings.Contains(text, "!")
	})
	require.NotNil(t, ts.requests)
	t.Cleanup(func() {
		writer.Close()
		file.Close()
		ts.end()
		ts.loop.close()
	})
	return ts
}

// leave leaves reading to the thread. That it is back comes over the channel.
func (ts *turns) leave() {
	go func() {
		ts.await()
		ts.back <- true
	}()
}

func (ts *turns) write(text string) { ts.writer.WriteString(text) }

// The thread reads until it comes to something that is not for it, and then again when it is left to.
func TestTheThreadReadsWhatIsForIt(t *testing.T) {
	ts := newTurns(t)
	ts.write("was there before")
	for range 3 {
		ts.leave()
		for _, text := range []string{"", "one", "two"} {
			if text != "" {
				ts.write(text)
			}
			<-ts.read
		}
		ts.write("!")
		require.Equal(t, "!", <-ts.read)
		<-ts.back
		ts.write("waits for its turn")
		ts.readable() // is called now and then without a reason
		require.False(t, ts.loop.watcher.ready(), "it would be called again and again")
	}
	ts.leave()
	require.Equal(t, "waits for its turn", <-ts.read)
	ts.writer.Close()
	require.Equal(t, "EOF", <-ts.read)
	<-ts.back
}

// Whoever closes the file ends the turns, and what is written then finds nobody to read it.
func TestAClosedFileEndsTheThreadsTurn(t *testing.T) {
	ts := newTurns(t)
	ts.leave()
	ts.write("one")
	require.Equal(t, "one", <-ts.read)
	ts.file.Close()
	<-ts.back
	_, err := ts.writer.WriteString("two")
	require.ErrorIs(t, err, unix.EPIPE)
	ts.await() // returns at once
}

// That the manager is closed does, too, in whoever's turn it comes; there are bytes then for the goroutine.
func TestTheEndOfTurns(t *testing.T) {
	for name, during := range map[string]bool{"while the thread waits": false, "while it serves": true} {
		t.Run(name, func(t *testing.T) {
			ts := newTurns(t)
			ts.leave()
			ts.write("one")
			if !during {
				<-ts.read
				ts.end()
			} else {
				require.Eventually(t, func() bool {
					ts.mu.Lock()
					defer ts.mu.Unlock()
					return ts.serving
				}, 10*time.Second, time.Millisecond)
				ts.end()
				_, err := unix.FcntlInt(uintptr(ts.fd), unix.F_GETFD, 0)
				require.NoError(t, err, "it reads from that")
				<-ts.read
			}
			<-ts.back
			ts.loop.close()
			ts.await()
			ts.write("two")
			buf := make([]byte, 10)
			n, err := ts.file.Read(buf)
			require.NoError(t, err)
			require.Equal(t, "two", string(buf[:n]))
		})
	}
}

// A start that hangs holds up no reading.
func TestAStartThatHangsHoldsUpNoRequest(t *testing.T) {
	ts := newTurns(t)
	m := &Manager{}
	ts.requests.loop = &m.loop
	ts.leave()
	goOn := hang(m, func() {})
	ts.write("one")
	require.Equal(t, "one", <-ts.read)
	goOn()
	ts.end()
	<-ts.back
	m.loop.close()
}

// Of other connections it is not known that they can be read by turns.
func TestWhatIsNotReadByTurns(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	defer file.Close()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer w.Close()
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	require.Nil(t, newRequests(a, new(loop), nil))
	require.Nil(t, newRequests(JoinStdio(a, w), new(loop), nil))
	require.Nil(t, newRequests(JoinStdio(file, w), new(loop), nil))
	require.Nil(t, newRequests(r, new(loop), nil), "it might be written to as well")
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(pair[1])
	socket := os.NewFile(uintptr(pair[0]), "socket")
	defer socket.Close()
	require.Nil(t, newRequests(JoinStdio(socket, w), new(loop), nil))
	r.Fd() // which makes it a file that blocks
	require.Nil(t, newRequests(JoinStdio(r, w), new(loop), nil))
	r.Close()
	require.Nil(t, newRequests(JoinStdio(r, w), new(loop), nil), "it is closed")
}

// A manager may see many connections come and go.
func TestNothingIsLeftOfAConnection(t *testing.T) {
	m := NewManager(nil)
	defer m.Close()
	left := func() int {
		m.closing.mu.Lock()
		defer m.closing.mu.Unlock()
		return m.closing.reactions.Len()
	}
	for range 3 {
		fromAgent, toClient, err := os.Pipe()
		require.NoError(t, err)
		fromClient, toAgent, err := os.Pipe()
		require.NoError(t, err)
		conn := NewHandler(m, nil).Connect(t.Context(), NewStream(JoinStdio(fromAgent, toAgent)))
		require.Equal(t, 1, left())
		toClient.Close()
		<-conn.DisconnectNotify()
		fromClient.Close()
		require.Eventually(t, func() bool { return left() == 0 }, 10*time.Second, time.Millisecond)
	}
}

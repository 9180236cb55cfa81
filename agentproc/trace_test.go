package agentproc_test

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/acpterm/acpterm/agentproc"
	"github.com/stretchr/testify/require"
)

// lineLog records the calls of a trace.
type lineLog struct {
	received, sent []string
	receivedBytes  int64
}

func (l *lineLog) add(line agentproc.TraceLine) {
	if line.Sent {
		l.sent = append(l.sent, string(line.Text))
	} else {
		l.received = append(l.received, string(line.Text))
		l.receivedBytes += line.Bytes
	}
}

// duplex is a connection with separate reader and writer.
type duplex struct {
	io.Reader
	io.Writer
}

func (duplex) Close() error { return nil }

// Lines are traced whole, even if they pass in pieces, and the bytes pass unchanged.
func TestTrace(t *testing.T) {
	var log lineLog
	var written strings.Builder
	const said = "no message\n{\"id\":1}\nunfinished"
	conn := agentproc.Trace(duplex{strings.NewReader(said), &written}, log.add)
	for _, piece := range []string{"{\"a\":", "1}\n{\"b\":2}", "\n", "rest"} {
		_, err := io.WriteString(conn, piece)
		require.NoError(t, err)
	}
	read, err := io.ReadAll(bufio.NewReaderSize(conn, 16))
	require.NoError(t, err)
	require.Equal(t, said, string(read))
	require.Equal(t, "{\"a\":1}\n{\"b\":2}\nrest", written.String())
	require.Equal(t, []string{`{"a":1}`, `{"b":2}`}, log.sent)
	require.Equal(t, []string{"no message", `{"id":1}`, "unfinished"}, log.received, "the last one at the end")
	require.NoError(t, conn.Close())
}

// The trace of a long line contains its beginning and its length.
func TestTraceOfLongLines(t *testing.T) {
	var log lineLog
	text := strings.Repeat("x", 200_000)
	conn := agentproc.Trace(duplex{strings.NewReader(text + "\nshort\n"), io.Discard}, log.add)
	_, err := io.Copy(io.Discard, conn)
	require.NoError(t, err)
	require.Equal(t, []string{text[:64<<10], "short"}, log.received)
	require.EqualValues(t, len(text)+len("short"), log.receivedBytes)
}

// A panicking trace does not end a connection to a real agent.
func TestTraceThatPanics(t *testing.T) {
	a := startAgent(t, agentCommand("echo"), nil)
	conn := agentproc.Trace(a, func(agentproc.TraceLine) { panic("a test's Trace panics") })
	fmt.Fprintln(conn, "hello")
	require.Equal(t, "hello", readLine(t, conn))
}

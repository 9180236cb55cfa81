package acpterm_test

import (
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// lineLog is what a trace has been called with.
type lineLog struct {
	mu             sync.Mutex
	received, sent []string
	receivedBytes  int64
}

func (l *lineLog) add(line acpterm.TraceLine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if line.Sent {
		l.sent = append(l.sent, string(line.Text))
	} else {
		l.received = append(l.received, string(line.Text))
		l.receivedBytes += line.Bytes
	}
}

// What passes is traced as it passes, what is skipped too, and replies that are written without jsonrpc2.
func TestStreamTrace(t *testing.T) {
	var log lineLog
	options := quietly()
	options.Trace = log.add
	p := connectPeer(t, newManager(t, nil), nil, options)
	asked := request(`1`, acpterm.MethodOutput, of("none"))
	p.write("no message")
	p.write(asked)
	var answers []string
	for range 2 {
		line, err := p.reader.ReadString('\n')
		require.NoError(t, err)
		answers = append(answers, strings.TrimSuffix(line, "\n"))
	}
	p.close()
	log.mu.Lock()
	defer log.mu.Unlock()
	require.Equal(t, []string{"no message", strings.TrimSuffix(asked, "\n")}, log.received)
	require.Equal(t, answers, log.sent)
}

// Of a long line the trace has the beginning, and a line without an end is traced at the end of the connection.
func TestStreamTraceOfLongLines(t *testing.T) {
	var log lineLog
	text := strings.Repeat("x", 200_000)
	conn := &bytesConn{Reader: strings.NewReader(text + "\nshort\nunfinished")}
	options := quietly()
	options.LineLimit, options.Trace = 100, log.add
	_, err := io.Copy(io.Discard, streamReader{acpterm.NewStream(conn, options)})
	require.NoError(t, err)
	log.mu.Lock() // the answers are still being written
	defer log.mu.Unlock()
	require.Equal(t, []string{text[:64<<10], "short", "unfinished"}, log.received)
	require.EqualValues(t, len(text)+len("short")+len("unfinished"), log.receivedBytes)
}

// streamReader reads a Stream to its end.
type streamReader struct{ stream *acpterm.Stream }

func (r streamReader) Read([]byte) (int, error) {
	var message any
	return 0, r.stream.ReadObject(&message)
}

// A trace that panics ends nothing.
func TestStreamTraceThatPanics(t *testing.T) {
	options := quietly()
	options.Trace = func(acpterm.TraceLine) { panic("a test's Trace panics") }
	p := connectPeer(t, newManager(t, nil), nil, options)
	p.write(request(`1`, acpterm.MethodOutput, of("none")))
	_, err := p.reader.ReadString('\n')
	require.NoError(t, err)
}

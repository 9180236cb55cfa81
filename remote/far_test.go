package remote

import (
	"bufio"
	"context"
	"io"
	"net"
	"regexp"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/remote/internal/frame"
	"github.com/stretchr/testify/require"
)

// far is a remote side played by a test.
type far struct {
	t    testing.TB
	conn io.ReadWriteCloser
	in   *bufio.Reader
	*frame.Reader
	*frame.Writer
}

// farTransport returns a Transport and the remote sides of its connections, which have not sent anything yet.
func farTransport(t testing.TB) (Transport, <-chan *far) {
	fars := make(chan *far, 100)
	return openFunc(func(context.Context) (io.ReadWriteCloser, error) {
		near, conn := net.Pipe()
		in := bufio.NewReader(conn)
		f := &far{t: t, conn: conn, in: in, Reader: frame.NewReader(in, frame.MaxRequest), Writer: frame.NewWriter(conn)}
		t.Cleanup(func() { conn.Close() })
		fars <- f
		return near, nil
	}), fars
}

// against returns a Runner whose first connection a function plays.
func against(t testing.TB, play func(*far)) *Runner {
	transport, fars := farTransport(t)
	r := newRunner(t, Options{Transport: transport})
	go func() { play(<-fars) }()
	return r
}

// marker reads the bootstrap line and returns the marker.
func (f *far) marker() string {
	line, err := f.in.ReadString('\n')
	require.NoError(f.t, err)
	parts := regexp.MustCompile(`"([A-Z2-7]+)" "([A-Z2-7]+)" "\$\*"`).FindStringSubmatch(line)
	require.NotNil(f.t, parts, line)
	return "\n" + parts[1] + parts[2] + " "
}

func (f *far) write(text string) {
	_, err := io.WriteString(f.conn, text)
	require.NoError(f.t, err)
}

func (f *far) answer(a frame.Answer) { require.NoError(f.t, f.Message(a)) }

// greet sends a helper's first messages.
func (f *far) greet() {
	f.write(f.marker() + "run\n")
	f.answer(frame.Answer{Hello: hello()})
}

func hello() *frame.Hello {
	return &frame.Hello{
		Version: frame.Version, System: "linux", Arch: runtime.GOARCH, Dir: frame.Bytes("/home"),
		Env: frame.Texts([]string{"PATH=/bin", "odd", "=odd", "X=\xff"}), // two entries are not variables
	}
}

// request returns the next request, except reports of what was read, or nil at the end of the connection.
func (f *far) request() *frame.Request {
	for {
		var r frame.Request
		output, err := f.Read(&r)
		if err != nil {
			return nil
		}
		require.Nil(f.t, output)
		if r.Read == 0 {
			return &r
		}
	}
}

// answerClose answers the next request, which must be a close.
func (f *far) answerClose() {
	r := f.request()
	if r == nil || r.Close == nil {
		f.t.Errorf("%+v is no close", r)
		return
	}
	f.answer(frame.Answer{Closed: r.Close})
}

// lines collects the text written to it. Its methods are safe for concurrent use.
type lines struct {
	racetest.Buffer
	closed atomic.Int32
}

func (l *lines) Close() error {
	l.closed.Add(1)
	return nil
}

// serve greets, and answers the first start as that of a running process. Then it calls then.
func (f *far) serve(then func(process uint64)) {
	f.greet()
	for {
		r := f.request()
		switch {
		case r == nil:
			return
		case r.Start != nil:
			f.answer(frame.Answer{Reply: &frame.Reply{ID: r.ID, Started: &frame.Started{PID: 42}}})
			then(r.Start.Process)
		}
	}
}

func startRequest(output io.WriteCloser) acpterm.StartRequest {
	return acpterm.StartRequest{
		TerminalID: "term_1", Command: acpterm.Command{Args: []string{"x"}, Dir: "/", Path: "/bin/x"}, Output: output,
	}
}

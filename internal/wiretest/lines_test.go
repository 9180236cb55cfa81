package wiretest

// The framing, over real pipes: whatever comes, the next good line works, and every id comes back unchanged.

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/internal/longtest"
)

// skippedLine has the arguments of HandlerOptions.SkippedLines.
type skippedLine struct {
	Text   []byte
	Bytes  int64
	Reason string
}

func passTo(skipped chan<- skippedLine) func([]byte, int64, string) {
	return func(text []byte, size int64, reason string) { skipped <- skippedLine{bytes.Clone(text), size, reason} }
}

func TestStreamAnswersWhatIsNoMessage(t *testing.T) {
	const unanswered, parseError, invalidRequest = 0, -32700, -32600
	skipped := make(chan skippedLine, 1)
	p := hosttest.ConnectPeer(t, hosttest.NewManager(t, nil), &acpterm.HandlerOptions{SkippedLines: passTo(skipped)})
	for _, bad := range []struct {
		line string
		code int64
		id   string
	}{
		{"Debugger listening on ws://127.0.0.1:9229", parseError, "null"},
		{"{", parseError, "null"},
		{`{"jsonrpc":"2.0","id":1,"meth`, parseError, "null"},
		{"\xff\xfe\x00", parseError, "null"},
		{strings.Repeat("noise ", 5<<20/6), parseError, "null"},
		{strings.Repeat("[", 20000) + strings.Repeat("]", 20000), parseError, "null"}, // deeper than encoding/json goes
		{"7", invalidRequest, "null"},
		{"null", invalidRequest, "null"},
		{`"text"`, invalidRequest, "null"},
		{"[]", invalidRequest, "null"},
		{`[{"jsonrpc":"2.0","id":1,"method":"x"}]`, invalidRequest, "null"},
		{"{}", invalidRequest, "null"},
		{`{"jsonrpc":"2.0"}`, invalidRequest, "null"},
		{`{"jsonrpc":"2.0","id":1}`, invalidRequest, "null"}, // it might be a response, so we must not answer its id
		{`{"jsonrpc":"2.0","id":1,"method":7}`, invalidRequest, "1"},
		{`{"jsonrpc":"2.0","id":"a","method":null}`, invalidRequest, `"a"`},
		{`{"jsonrpc":"2.0","id":1,"method":"x","result":1}`, invalidRequest, "null"},
		{`{"jsonrpc":"2.0","id":1,"method":"x","method":5}`, invalidRequest, "null"},
		{`{"jsonrpc":"2.0","id":1,"Method":5,"method":"x"}`, invalidRequest, "null"},
		{`{"jsonrpc":"2.0","id":1,"method":"x","reſult":1e999}`, invalidRequest, "null"},
		{`{"jsonrpc":"2.0","id":null,"method":"x"}`, invalidRequest, "null"},
		{`{"jsonrpc":"2.0","id":{},"method":"x"}`, invalidRequest, "null"},
		{`{"jsonrpc":"2.0","id":[1],"method":"x"}`, invalidRequest, "null"},
		{`{"jsonrpc":"2.0","id":true,"method":"x"}`, invalidRequest, "null"},
		// Ids are held until the answer.
		{`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 1023) + `","method":"x"}`, invalidRequest, "null"},
		{`{"jsonrpc":"2.0","id":` + strings.Repeat("1", 1025) + `,"method":7}`, invalidRequest, "null"},
		// Responses are not answered, or two peers would answer each other forever.
		{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`, unanswered, ""},
		{`{"jsonrpc":"2.0","id":-1,"result":1}`, unanswered, ""},
		{`{"jsonrpc":"2.0","result":1}`, unanswered, ""},
		{`{"jsonrpc":"2.0","id":5,"result":1e999}`, unanswered, ""},
		{`{"jsonrpc":"2.0","id":5,"error":"text"}`, unanswered, ""},
		{`{"jsonrpc":"2.0","id":5,"error":null}`, unanswered, ""},
	} {
		p.Write(bad.line)
		l := <-skipped
		require.Equal(t, strings.TrimSpace(bad.line), string(l.Text))
		require.EqualValues(t, len(bad.line), l.Bytes)
		require.NotEmpty(t, l.Reason)
		if bad.code != 0 {
			r := p.Read()
			require.Equal(t, bad.id, string(r.ID), "%.100s", bad.line)
			require.Equal(t, bad.code, r.Error.Code, "%.100s", bad.line)
			want := fmt.Sprintf(`{"kind":"invalid_message","reason":"the line %s"}`, l.Reason)
			require.JSONEq(t, want, string(*r.Error.Data))
		}
		p.Works()
	}
	// Lines that jsonrpc2 accepts.
	for _, good := range []string{
		`{"jsonrpc":"2.0","id":78,"error":null,"result":null}`, `{"jsonrpc":"2.0","method":"notification","params":5}`,
		`{"method":"x","jsonrpc":"1.0","extra":{"a":[]}}`,
		"\t{ \"method\" : \"x\" , \"meta\" : { \"}\" : \"\\\"\" } } \r",
		"", "   \t", "\r", // neither a message nor a fault
	} {
		p.Write(good)
		p.Works()
	}
	require.Empty(t, skipped)
}

// An unreadable response fails its call, which would otherwise wait forever.
func TestAnUnreadableResponseFailsItsCall(t *testing.T) {
	p := hosttest.ConnectPeer(t, hosttest.NewManager(t, nil), hosttest.Quietly())
	for _, bad := range []string{`"result":1e999`, `"error":"text"`, `"error":null`, `"error":{"code":"x"}`} {
		call, err := p.Conn.DispatchCall(t.Context(), "session/new", nil)
		require.NoError(t, err)
		id := p.Read().ID
		p.Write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, id, bad))
		var failure *jsonrpc2.Error
		require.ErrorAs(t, call.Wait(t.Context(), nil), &failure)
		require.EqualValues(t, -32603, failure.Code)
	}
}

// Text that an agent prints by mistake is logged, without characters that could steer a terminal. A broken request may
// contain a secret.
func TestSkippedLinesAreLogged(t *testing.T) {
	log := hosttest.CaptureLog(t)
	p := hosttest.ConnectPeer(t, hosttest.NewManager(t, nil), nil)
	for _, line := range []string{
		"careful\x1b[2J\u202e" + strings.Repeat("x", 1000),
		`{"method":"terminal/create","params":{"env":[{"name":"TOKEN","value":"secret"`,
		`["secret"`, `"secret`,
	} {
		p.Write(line)
		r := p.Read()
		require.EqualValues(t, -32700, r.Error.Code)
		require.NotContains(t, r.Error.Message+string(*r.Error.Data), "careful")
	}
	p.Write("")
	p.Works()
	require.Equal(t, 4, strings.Count(log.String(), "is not JSON"), log.String())
	require.Contains(t, log.String(), "bytes=1014")
	require.Contains(t, log.String(), `careful\x1b[2J\u202exxx`)
	require.NotContains(t, log.String(), strings.Repeat("x", 120))
	require.NotContains(t, log.String(), "secret")
	require.Equal(t, 4, strings.Count(log.String(), "\n"))
}

// A panic in the hook is logged, and the line is still answered and skipped.
func TestSkippedLinesHookThatPanics(t *testing.T) {
	log := hosttest.CaptureLog(t)
	hook := func([]byte, int64, string) { panic("a mistake of the host's") }
	p := hosttest.ConnectPeer(t, hosttest.NewManager(t, nil), &acpterm.HandlerOptions{SkippedLines: hook})
	for range 2 {
		p.Write("noise")
		require.EqualValues(t, -32700, p.Read().Error.Code)
		p.Works()
	}
	require.Equal(t, 2, strings.Count(log.String(), "a mistake of the host's"))
	require.Contains(t, log.String(), "TestSkippedLinesHookThatPanics")
}

func TestStreamGivesIDsBackAsTheyCame(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	next := &recorder{}
	p := hosttest.ConnectPeer(t, m, &acpterm.HandlerOptions{Next: next})
	term := hosttest.Create(t, m, hosttest.ChildRequest("sleep"))
	for _, id := range []string{
		`0`, `1`, `-1`, `"x"`, `""`, `"0"`, `"<&>"`, `"é"`,
		`9223372036854775807`, `-9223372036854775808`, `9223372036854775808`,
		`18446744073709551615`, `18446744073709551616`,
		`1.5`, `1e3`, `1E400`, `-0`, `1.0`,
		`"raw-id:7"`, `"raw-id:"`, `"\ud800"`, `"\ufffd"`, "\"a\xffb\"", "\"a\xff\xfeb\"",
	} {
		for _, ask := range []struct{ method, params string }{
			{"next/method", `{}`},
			{acpterm.MethodOutput, `{"sessionId":"s","terminalId":"` + string(term.ID()) + `"}`},
			{acpterm.MethodOutput, `{}`},
			{acpterm.MethodWaitForExit, `{}`},
		} {
			p.Write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, ask.method, ask.params))
			r := p.Read()
			if strings.HasPrefix(id, `"`) {
				require.JSONEq(t, id, string(r.ID))
			} else {
				require.Equal(t, id, string(r.ID))
			}
			require.Equal(t, ask.params == `{}` && ask.method != "next/method", r.Error != nil)
		}
		if id == `"\ud800"` {
			continue // jsonrpc2 turns it into U+FFFD in the params of a cancel, so that it names no request
		}
		p.Write(hosttest.Request(id, acpterm.MethodWaitForExit, hosttest.Of(term.ID())))
		p.Write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%s}}`, id))
		r := p.Read()
		require.NotNil(t, r.Error, id)
		require.EqualValues(t, -32800, r.Error.Code)
	}
	require.NotContains(t, next.seen, "$/cancel_request")
}

func TestStreamSkipsLinesThatAreTooLong(t *testing.T) {
	skipped := make(chan skippedLine, 1)
	p := hosttest.ConnectPeer(t, hosttest.NewManager(t, nil), &acpterm.HandlerOptions{
		LineLimit: 100 << 10, SkippedLines: passTo(skipped),
	})
	good, spaces := hosttest.Request(`1`, acpterm.MethodOutput, hosttest.Of("none")), bytes.Repeat([]byte(" "), 64<<10)
	for _, size := range []int{100<<10 + 1, 1 << 20, 200 << 20} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := io.WriteString(p.Writer, good)
		require.NoError(t, err)
		for left := size - len(good); left > 0; {
			n, err := p.Writer.Write(spaces[:min(left, len(spaces))])
			require.NoError(t, err)
			left -= n
		}
		p.Write("")
		l := <-skipped
		runtime.ReadMemStats(&after)
		require.EqualValues(t, size, l.Bytes)
		require.True(t, bytes.HasPrefix(l.Text, []byte(good)))
		require.LessOrEqual(t, len(l.Text), 64<<10)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2<<20))
		r := p.Read()
		require.EqualValues(t, -32600, r.Error.Code)
		require.Equal(t, "null", string(r.ID))
		p.Works()
	}
	p.Write(good + strings.Repeat(" ", 100<<10-len(good)))
	require.EqualValues(t, -32002, p.Read().Error.Code, "as long as may be")
}

// A long line needs the memory of two lines: it is read in chunks, and joined. One over the limit is not joined. Only
// errors, and lines whose id is replaced, are copied again on their way to the embedder's library.
func TestALongLineNeedsLittleMemory(t *testing.T) {
	const limit = 16 << 20
	long := strings.Repeat("x", limit-1000)
	for name, c := range map[string]struct {
		line  string
		limit int64
		most  int // in lines
	}{
		"over the default limit": {strings.Repeat("x", 70<<20), 0, 1},
		"no message":             {long, limit, 2},
		"a notification":         {`{"jsonrpc":"2.0","method":"x","params":"` + long + `"}`, limit, 2},
		"a create":               {hosttest.Request(`1`, acpterm.MethodCreate, hosttest.Object{"sessionId": long}), limit, 2},
		"a response":             {`{"jsonrpc":"2.0","id":1,"result":"` + long + `"}`, limit, 2},
		"an error":               {`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"","data":"` + long + `"}}`, limit, 3},
		"an id that is replaced": {hosttest.Request(`1.5`, "x", long), limit, 3},
		"many small values":      {`{"jsonrpc":"2.0","id":1,"result":[[]` + strings.Repeat(",[]", len(long)/3) + `]}`, limit, 2},
	} {
		t.Run(name, func(t *testing.T) {
			options := hosttest.Quietly()
			options.LineLimit = c.limit
			conn := &hosttest.BytesConn{Reader: strings.NewReader(c.line + "\n")}
			rest := hosttest.Rest(t, conn, options)
			var before, after runtime.MemStats
			piece, read := make([]byte, 32<<10), 0
			runtime.GC()
			runtime.ReadMemStats(&before)
			for {
				n, err := rest.Read(piece)
				read += n
				if err != nil {
					require.Equal(t, io.EOF, err)
					break
				}
			}
			runtime.ReadMemStats(&after)
			require.True(t, read == 0 || read > len(c.line), "%d bytes were read", read)
			const small = 6 << 20 // until the line has its first chunk, and what chunks leave unused
			most := uint64(c.most*len(c.line) + small)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, most, "bytes allocated for a line of %d", len(c.line))
		})
	}
}

// An agent that writes for a long time before it reads anything still gets an answer to each line. Its unread answers
// need no memory.
func TestGarbageGrowsNothing(t *testing.T) {
	const lines, room = 12_500, 1 << 20
	p := hosttest.ConnectPeer(t, hosttest.NewManager(t, nil), hosttest.Quietly())
	p.Works()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	garbage := []byte("log text\n[]\n{}\n7\n" + `{"id":"a","method":1}` + "\n")
	for range lines / 5 {
		_, err := p.Writer.Write(garbage)
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { // lines still being read are garbage
		runtime.GC()
		runtime.ReadMemStats(&after)
		return int64(after.HeapAlloc)-int64(before.HeapAlloc) < room
	}, time.Minute, time.Millisecond)
	codes := make(map[int64]int)
	for range lines {
		codes[p.Read().Error.Code]++
	}
	require.Equal(t, map[int64]int{-32700: lines / 5, -32600: lines - lines/5}, codes)
	p.Works()
}

func TestStreamWritesOneLineAMessage(t *testing.T) {
	a, b := net.Pipe()
	go func() {
		s := hosttest.Rest(t, a, nil)
		io.WriteString(s, `{"text":"two\nlines"}`+"\n")
		s.Close()
	}()
	all, err := io.ReadAll(b)
	require.NoError(t, err)
	require.Equal(t, `{"text":"two\nlines"}`+"\n", string(all))
}

// Lines stay whole even if many goroutines write at once, in pieces, and the peer reads a little at a time.
func TestStreamWritesWholeLines(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	p := hosttest.ConnectPeer(t, m, hosttest.Quietly())
	short, long := hosttest.Create(t, m, hosttest.ChildRequest("print", "x")), hosttest.Create(t, m, hosttest.ChildRequest("flood", "100000", "1000"))
	for _, term := range []*acpterm.Terminal{short, long} {
		hosttest.AwaitExit(t, term)
	}
	rounds := longtest.Times(10, 30)
	go func() {
		for i := range rounds {
			for j, term := range []*acpterm.Terminal{short, long} {
				p.Write(hosttest.Request(fmt.Sprint(10*i+j), acpterm.MethodOutput, hosttest.Of(term.ID())))
				p.Write(hosttest.Request(fmt.Sprint(10*i+j+2), acpterm.MethodWaitForExit, hosttest.Of(term.ID())))
				p.Write("garbage")
				p.Write(hosttest.Request(fmt.Sprint(10*i+j+4), "no/such", nil))
			}
		}
	}()
	p.Reader = bufio.NewReader(oneByteReader{p.Reader})
	ids := make(map[string]int)
	for range rounds * 8 {
		ids[string(p.Read().ID)]++
	}
	require.Equal(t, 2*rounds, ids["null"])
	delete(ids, "null")
	require.Len(t, ids, 6*rounds)
}

type oneByteReader struct{ io.Reader }

func (r oneByteReader) Read(p []byte) (int, error) { return r.Reader.Read(p[:1]) }

// A last line without its newline is still a message; half of one ends the stream.
func TestStreamAtItsEnd(t *testing.T) {
	for text, whole := range map[string]bool{
		`{"jsonrpc":"2.0","method":"x"}`: true,
		`{"jsonrpc":"2.0","meth`:         false,
		``:                               false,
	} {
		a, b := net.Pipe()
		go func() { io.WriteString(a, text); a.Close() }()
		all, err := io.ReadAll(hosttest.Rest(t, b, hosttest.Quietly()))
		require.NoError(t, err)
		if whole {
			require.Equal(t, text+"\n", string(all))
		} else {
			require.Empty(t, all)
		}
	}
}

// A connection closed by its owner has ended, whatever kind of connection it is.
func TestStreamOfAClosedConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	dialed, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	defer dialed.Close()
	accepted, err := listener.Accept()
	require.NoError(t, err)
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	defer writer.Close()
	inMemory, other := net.Pipe()
	defer other.Close()
	for _, conn := range []io.ReadWriteCloser{accepted, reader, inMemory} {
		r := hosttest.Rest(t, conn, hosttest.Quietly())
		require.NoError(t, conn.Close())
		_, err := r.Read(make([]byte, 10))
		require.ErrorIs(t, err, io.EOF)
	}
}

// halfWriter writes ten bytes of each write and fails.
type halfWriter struct {
	io.ReadWriteCloser
	written bytes.Buffer
}

func (w *halfWriter) Write(p []byte) (int, error) {
	w.written.Write(p[:10])
	return 10, io.ErrShortWrite
}

func TestStreamWritesNothingAfterHalfALine(t *testing.T) {
	w := &halfWriter{ReadWriteCloser: agentproc.JoinStdio(nil, nil)}
	r := hosttest.Rest(t, w, nil)
	for range 2 {
		_, err := io.WriteString(r, `"a text that is long enough"`+"\n")
		require.ErrorIs(t, err, io.ErrShortWrite)
	}
	require.Len(t, w.written.String(), 10)
}

// FuzzStream checks that jsonrpc2 can decode everything it gets, whatever bytes come, and that the next good line
// works.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		"", "{", "[]", "7\n", `{"method":"x"}`, `{"id":-1,"method":"x"}`,
		`{"id":1.5,"method":"x","params":[1e999]}`, `{"id":"\ud800","method":"x"}`,
		`{"id":"raw-id:7","method":"x"}`, `{"id":3,"result":{}}`, `{"id":3,"error":{"code":1.5}}`, `{"METHOD":"x"}`,
		`{"\u006dethod":"x","id":null}`,
		`{"method":"terminal/output","id":1,"params":{"sessionId":"s"}}`, "{\"method\":\"\xff\"}",
		`{"id":1,"method":"x","meta":[],"x":"\"}{"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		good := strings.NewReader("\n" + `{"jsonrpc":"2.0","id":"good","method":"good"}` + "\n")
		conn := &hosttest.BytesConn{Reader: io.MultiReader(bytes.NewReader(data), good)}
		got := make(chan *jsonrpc2.Request, 10_000)
		options := hosttest.Quietly()
		options.LineLimit = 10_000
		stream := jsonrpc2.NewPlainObjectStream(hosttest.Rest(t, conn, options))
		client := jsonrpc2.NewConn(t.Context(), stream, requests(got), jsonrpc2.SetLogger(failingLogger{t}))
		<-client.DisconnectNotify()
		close(got)
		var last *jsonrpc2.Request
		for req := range got {
			last = req
		}
		require.NotNil(t, last)
		require.Equal(t, "good", last.Method)
		require.Equal(t, jsonrpc2.ID{Str: "good", IsString: true}, last.ID)
	})
}

// requests is a handler that passes on its requests.
type requests chan *jsonrpc2.Request

func (r requests) Handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) { r <- req }

// failingLogger fails the test when jsonrpc2 reports a line that it could not decode.
type failingLogger struct{ t *testing.T }

func (l failingLogger) Printf(format string, v ...any) {
	if text := fmt.Sprintf(format, v...); !strings.Contains(text, "no corresponding request") {
		l.t.Error(text)
	}
}

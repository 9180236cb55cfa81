package acpterm

// What an answer to terminal/output costs over a connection, beside stock jsonrpc2 and beside what cannot be done
// without. The ratios are in BENCHMARKS.md.
//
//	go test -run '^$' -bench 'Reply|Poll|Escap' -benchtime 300x . ./internal/wire

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/acpterm/acpterm/internal/wire"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

// testOutput looks like a test run's output: colours, quotes, tabs and ticks.
func testOutput(size int) []byte {
	const lines = "\x1b[32m✓\x1b[0m \tTestParse/\"quoted\"_name \x1b[90m(0.03s)\x1b[39m\n" +
		"    parse_test.go:42: expected <nil> & got \"unexpected end of input\" at C:\\src\\parse.go:17\n" +
		"=== RUN   TestEverythingElse/with_a_rather_long_name_that_fills_the_line_as_they_do\n"
	return []byte(strings.Repeat(lines, size/len(lines)+1)[:size])
}

// answerer is one way to serve terminal/output on a connection.
type answerer struct {
	name  string
	serve func(ctx context.Context, conn io.ReadWriteCloser, m *Manager, t *Terminal)
}

// naive is what a client's author would write: jsonrpc2 as it is, and a handler that replies with the output.
type naive struct{ manager *Manager }

func (n naive) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	var params TerminalOutputRequest
	if err := json.Unmarshal(*req.Params, &params); err != nil {
		panic(err)
	}
	t, err := n.manager.Terminal(params.SessionID, params.TerminalID)
	if err != nil {
		panic(err)
	}
	conn.Reply(ctx, req.ID, t.Output())
}

// custom is a connection of a type that nobody knows.
type custom struct{ io.ReadWriteCloser }

var answerers = []answerer{
	{"acpterm", func(ctx context.Context, conn io.ReadWriteCloser, m *Manager, _ *Terminal) {
		NewHandler(m, nil).Connect(ctx, NewStream(conn))
	}},
	{"acpterm-by-newconn", func(ctx context.Context, conn io.ReadWriteCloser, m *Manager, _ *Terminal) {
		s := NewStream(conn)
		jsonrpc2.NewConn(ctx, s, NewHandler(m, &HandlerOptions{Stream: s}))
	}},
	{"acpterm-custom-connection", func(ctx context.Context, conn io.ReadWriteCloser, m *Manager, _ *Terminal) {
		NewHandler(m, nil).Connect(ctx, NewStream(custom{conn}))
	}},
	{"stock", func(ctx context.Context, conn io.ReadWriteCloser, m *Manager, _ *Terminal) {
		jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(conn), jsonrpc2.AsyncHandler(naive{m}),
			jsonrpc2.SetLogger(log.New(io.Discard, "", 0)))
	}},
	// A ready line, moved through the pipe.
	{"floor", func(_ context.Context, conn io.ReadWriteCloser, _ *Manager, t *Terminal) {
		line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 12345, "result": t.Output()})
		if err != nil {
			panic(err)
		}
		line = append(line, '\n')
		go func() {
			for requests := bufio.NewReader(conn); ; conn.Write(line) {
				if _, err := requests.ReadSlice('\n'); err != nil {
					return
				}
			}
		}()
	}},
}

// BenchmarkPoll polls nothing; a megabyte that does not change; a megabyte of which 4 KiB are new each time; and a
// megabyte of which all is.
func BenchmarkPoll(b *testing.B) {
	for _, output := range []struct {
		name  string
		begin int
		news  int
	}{{"nothing", 0, 0}, {"unchanged", 1 << 20, 0}, {"growing", 1 << 20, 4 << 10}, {"new", 1 << 20, 1 << 20}} {
		for _, way := range answerers {
			b.Run(output.name+"/"+way.name, func(b *testing.B) {
				m := NewManager(nil)
				b.Cleanup(func() { // not Close: the terminal was never started
					m.closing.Set()
					m.processes.Close()
				})
				t := outputOf(1 << 20)
				t.id, t.session = m.ids.next("s"), "s"
				require.NoError(b, m.register(t, settings{}))
				t.ring.write(testOutput(output.begin), maxReserve)
				poll := agentEnd(b, way, m, t)
				news := testOutput(output.news)
				poll()
				b.ReportAllocs()
				for b.Loop() {
					if len(news) > 0 {
						b.StopTimer()
						t.ring.write(news, maxReserve)
						b.StartTimer()
					}
					poll()
				}
			})
		}
	}
}

// agentEnd is the other end of a connection that is served: it asks, and reads the answer without looking at it.
func agentEnd(b *testing.B, way answerer, m *Manager, t *Terminal) (poll func()) {
	fromAgent, toClient, err := os.Pipe()
	require.NoError(b, err)
	fromClient, toAgent, err := os.Pipe()
	require.NoError(b, err)
	b.Cleanup(func() {
		for _, file := range []*os.File{toClient, fromClient, fromAgent, toAgent} {
			file.Close()
		}
	})
	way.serve(b.Context(), JoinStdio(fromAgent, toAgent), m, t)
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":12345,"method":"terminal/output",`+
		`"params":{"sessionId":%q,"terminalId":%q}}`+"\n", t.session, t.id)
	buf := make([]byte, 1<<20)
	return func() {
		if _, err := toClient.Write(line); err != nil {
			b.Fatal(err)
		}
		for {
			n, err := fromClient.Read(buf)
			if err != nil {
				b.Fatal(err)
			}
			if buf[n-1] == '\n' {
				return
			}
		}
	}
}

// discarding is a connection whose peer takes everything at once and says nothing.
type discarding struct{ io.Reader }

func (discarding) Write(p []byte) (int, error) { return len(p), nil }
func (discarding) Close() error                { return nil }

// BenchmarkReply is the reply alone, with neither a request to read nor a pipe to move it through, of a megabyte that
// is new each time and of one that does not change. BenchmarkEscaping of internal/wire is one pass that escapes it.
func BenchmarkReply(b *testing.B) {
	text := testOutput(1 << 20)
	for _, news := range []struct {
		name string
		text []byte
	}{{"new", text}, {"unchanged", nil}} {
		t := outputOf(1 << 20)
		t.ring.write(text, maxReserve)
		run := func(name string, reply func()) {
			b.Run(news.name+"/"+name, func(b *testing.B) {
				reply()
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					t.ring.write(news.text, maxReserve)
					b.StartTimer()
					reply()
				}
			})
		}
		var cache wire.Cache
		stream := NewStream(discarding{})
		run("acpterm", func() {
			stream.lines.WritePieces(func(write func([]byte) error) error {
				return cache.Reply(terminalOutput{t}, []byte("7"), write)
			})
		})
		silent, _ := io.Pipe()
		conn := jsonrpc2.NewConn(b.Context(), jsonrpc2.NewPlainObjectStream(discarding{silent}), naive{})
		run("stock", func() { conn.Reply(b.Context(), jsonrpc2.ID{Num: 7}, t.Output()) })
	}
}

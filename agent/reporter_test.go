package agent_test

// The client's state of a reported terminal. The client of these tests applies the updates about terminals as ACP v2
// says.

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agent"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

// reported is a terminal whose command writes the pieces given by the test.
type reported struct {
	*acpterm.Terminal
	manager *acpterm.Manager
	written []byte
	pieces  chan []byte
}

// newReported starts a command in the session "s". It exits with 7 when pieces is closed.
func newReported(t *testing.T, limit uint64) *reported {
	r := &reported{pieces: make(chan []byte)}
	r.manager = acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{
		"make": func(p *acptermtest.Process) int {
			p.Ignore(syscall.SIGTERM)
			for {
				select {
				case piece, more := <-r.pieces:
					if !more {
						return 7
					}
					p.Write(piece)
				case <-p.Context().Done():
					return 0
				}
			}
		},
	}})
	term, err := r.manager.Create(t.Context(), acpterm.CreateTerminalRequest{
		SessionID: "s", Command: "make", Args: []string{"all it"}, Cwd: "/src", OutputByteLimit: &limit,
	}, nil)
	require.NoError(t, err)
	r.Terminal = term
	return r
}

// write makes the command write a piece, and returns after that.
func (r *reported) write(piece []byte) {
	r.written = append(r.written, piece...)
	r.pieces <- piece
	synctest.Wait()
}

func (r *reported) release(t *testing.T) {
	require.NoError(t, r.manager.Release(t.Context(), "s", r.ID()))
	synctest.Wait()
}

// reporting runs a test of a Reporter with a connection and a command, of whose output limit bytes are kept.
func reporting(t *testing.T, limit uint64, test func(t *testing.T, l *link, r *agent.Reporter, term *reported)) {
	synctest.Test(t, func(t *testing.T) {
		l, r := newLink(newMirror(t), nil)
		defer r.Close()
		test(t, l, r, newReported(t, limit))
	})
}

func TestReportOfACommand(t *testing.T) {
	reporting(t, 1000, func(t *testing.T, l *link, r *agent.Reporter, term *reported) {
		m := l.mirror
		r.Report(term.Terminal, nil)
		r.Report(term.Terminal, nil)
		synctest.Wait()
		require.Equal(t, mirrored{
			command: new(`make "all it"`), cwd: new("/src"), output: []byte{}, cancellable: true, snapshots: 1,
		}, m.terminal(term.ID()))

		term.write([]byte("a\xff\xe2"))
		require.Equal(t, "a\xff", string(m.terminal(term.ID()).output))
		term.write([]byte("\x9c\x93b"))
		require.Equal(t, "a\xff\xe2\x9c\x93b", string(m.terminal(term.ID()).output))
		term.write([]byte("\xe2"))
		close(term.pieces)
		synctest.Wait()
		got := m.terminal(term.ID())
		require.Equal(t, "a\xff\xe2\x9c\x93b\xe2", string(got.output))
		require.Equal(t, "exit code 7", got.exit.String())
		require.False(t, got.cancellable)
		require.Equal(t, []string{"terminal_update", "terminal_output_chunk", "terminal_output_chunk",
			"terminal_output_chunk", "terminal_update"}, m.tags())
		term.release(t)
		require.Len(t, m.tags(), 5)
	})
}

// Processes that outlive their command keep writing after the exit status.
func TestReportOfWhatOutlivesItsCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		more := make(chan struct{})
		manager := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{
			"make": func(p *acptermtest.Process) int {
				p.Spawn(func(p *acptermtest.Process) int {
					<-more
					return acptermtest.Print("late", 0)(p)
				})
				return acptermtest.Print("soon ", 0)(p)
			},
		}})
		term, err := manager.Create(t.Context(), request, nil)
		require.NoError(t, err)
		m := newMirror(t)
		_, r := newLink(m, nil)
		r.Report(term, nil)
		synctest.Wait()
		require.NotNil(t, m.terminal(term.ID()).exit)
		require.Equal(t, "soon ", string(m.terminal(term.ID()).output))
		close(more)
		synctest.Wait()
		require.Equal(t, "soon late", string(m.terminal(term.ID()).output))
		require.NoError(t, r.Flush(t.Context(), term))
		r.Close()
	})
}

// A client has exactly the bytes of the output, except those dropped before it read them. This holds for any pieces,
// also of invalid UTF-8, and however the client reads, replays and reconnects.
func TestClientHasWhatWasWritten(t *testing.T) {
	drops, seeds := 0, uint64(longtest.Times(15, 80))
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			limits := []uint64{0, 1, 7, 300, 100_000, 1 << 30}
			limit := limits[random.IntN(len(limits))]
			term := newReported(t, limit)
			m := newMirror(t)
			l, r := newLink(m, nil)
			r.Report(term.Terminal, nil)
			for range 1 + random.IntN(30) {
				switch random.IntN(8) {
				case 0:
					l.stall()
				case 1, 2:
					l.resume()
				case 3:
					l.resume()
					require.NoError(t, r.Replay(t.Context(), "s"))
				case 4: // reconnect, sometimes to a client without any state
					l.cut()
					r.Close()
					if random.IntN(2) == 0 {
						m = newMirror(t)
					}
					l, r = newLink(m, nil)
					r.Report(term.Terminal, nil)
				default:
					term.write(randomOutput(random))
				}
				synctest.Wait()
				if len(l.reads) > 0 {
					requireMirrored(t, term, m, limit, false, seed)
				}
			}
			if random.IntN(2) == 0 {
				close(term.pieces)
				synctest.Wait()
			}
			term.release(t)
			l.resume()
			synctest.Wait()
			requireMirrored(t, term, m, limit, true, seed)
			require.NotNil(t, m.terminal(term.ID()).exit)
			require.Equal(t, term.ExitStatus(), m.terminal(term.ID()).exit)
			if len(m.terminal(term.ID()).output) < len(term.written) {
				drops++
			}
			r.Close()
			l.cut()
		})
	}
	require.Greater(t, drops, int(seeds/10))
}

// requireMirrored compares the output of a client that has read everything with the command's output.
func requireMirrored(t *testing.T, term *reported, m *mirror, limit uint64, whole bool, seed uint64) {
	t.Helper()
	got := m.terminal(term.ID()).output
	withheld := 3 // of an incomplete character
	if whole {
		withheld = 0
	}
	for end := len(term.written); end >= max(0, len(term.written)-withheld); end-- {
		if bytes.HasSuffix(term.written[:end], got) {
			least := min(int(min(limit, 1<<40)), end)
			require.GreaterOrEqual(t, len(got), least-withheld, "seed %d", seed)
			return
		}
	}
	require.Fail(t, "the client has other bytes", "seed %d: %d bytes of %d", seed, len(got), len(term.written))
}

// randomOutput returns the output of one write. Most writes are small.
func randomOutput(random *rand.Rand) []byte {
	sizes := []int{20, 20, 20, 20, 20, 20, 5000, 5000, 5000, 150_000}
	size := random.IntN(sizes[random.IntN(len(sizes))])
	alphabet := []string{"a", "\n", "\x1b[31m", "é", "✓", "😀", "\xff", "\xe2\x9c", "\xf0", "\x80", "\x00"}
	var b bytes.Buffer
	for b.Len() < size {
		b.WriteString(alphabet[random.IntN(len(alphabet))])
	}
	return b.Bytes()[:size] // may end in the middle of a character
}

// A client that does not read delays no command, and little output is kept for it. When it resumes reading, it gets the
// end of the output in a few messages.
func TestClientThatMissedOutputGetsASnapshot(t *testing.T) {
	reporting(t, 10, func(t *testing.T, l *link, r *agent.Reporter, term *reported) {
		r.Report(term.Terminal, nil)
		synctest.Wait()
		l.stall()
		line := append(bytes.Repeat([]byte("0123456789"), 1000), '\n')
		for range 1000 {
			term.write(line)
		}
		l.resume()
		synctest.Wait()
		got := l.mirror.terminal(term.ID())
		require.True(t, bytes.HasSuffix(term.written, got.output))
		require.GreaterOrEqual(t, len(got.output), 10)
		require.Less(t, len(got.output), 2<<20)
		require.Greater(t, got.snapshots, 1)
		require.Less(t, len(l.mirror.tags()), 6)
	})
}

// A report may begin before the connection exists. It ends with the connection.
func TestReportOverAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{"make": acptermtest.Block}})
		term, err := m.Create(t.Context(), request, nil)
		require.NoError(t, err)
		r := agent.NewReporter(nil)
		r.Report(term, nil)
		synctest.Wait()
		clientEnd, agentEnd := net.Pipe()
		mirror := newMirror(t)
		client := jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(clientEnd), jsonrpc2.HandlerWithError(
			func(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
				mirror.apply(*req.Params)
				return nil, nil
			}))
		defer client.Close()
		// The client sends its first request before the agent has its connection.
		answered := make(chan error)
		go func() { answered <- client.Call(context.Background(), "session/resume", nil, nil) }()
		synctest.Wait()
		conn := jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(agentEnd), r.Handler(jsonrpc2.HandlerWithError(
			func(ctx context.Context, _ *jsonrpc2.Conn, _ *jsonrpc2.Request) (any, error) {
				return nil, r.Replay(ctx, "s")
			})))
		defer conn.Close()
		require.NoError(t, <-answered)
		require.Equal(t, "make", *mirror.terminal(term.ID()).command)
		require.NoError(t, r.Flush(t.Context(), term))
		client.Close()
		synctest.Wait()
		require.Equal(t, acpterm.StateRunning, term.State(), "the terminal is not the Reporter's")
		params := json.RawMessage(`{"sessionId":"s","terminalId":"` + string(term.ID()) + `"}`)
		r.Cancel(params, func(err error) { require.ErrorContains(t, err, "is unknown") })
		synctest.Wait()
		require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	})
}

func TestFlushWaitsForWhatThereIs(t *testing.T) {
	reporting(t, 1000, func(t *testing.T, l *link, r *agent.Reporter, term *reported) {
		m := l.mirror
		require.NoError(t, r.Flush(t.Context(), term.Terminal), "it is not reported")
		l.stall()
		r.Report(term.Terminal, nil)
		term.write([]byte("text"))
		close(term.pieces)
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, r.Flush(ctx, term.Terminal), acpterm.ErrCancelled)
		done := make(chan error)
		go func() { done <- r.Flush(t.Context(), term.Terminal) }()
		synctest.Wait()
		require.Nil(t, m.terminal(term.ID()).exit)
		l.resume()
		require.NoError(t, <-done)
		require.NotNil(t, m.terminal(term.ID()).exit)
		before := m.forget()
		require.NoError(t, r.Replay(t.Context(), "other"))
		require.Empty(t, m.tags())
		require.NoError(t, r.Replay(t.Context(), "s"))
		before.cancellable, before.snapshots = false, 1
		require.Equal(t, before, m.terminal(term.ID()))
		term.release(t)
		require.NoError(t, r.Flush(t.Context(), term.Terminal), "it is not reported any more")
	})
}

// After a failed write, nothing is sent, and a waiting Flush fails.
func TestReporterOfABrokenConnection(t *testing.T) {
	reporting(t, 1000, func(t *testing.T, l *link, r *agent.Reporter, term *reported) {
		l.stall()
		r.Report(term.Terminal, nil)
		done := make(chan error)
		go func() { done <- r.Flush(t.Context(), term.Terminal) }()
		synctest.Wait()
		l.cut()
		err := <-done
		require.ErrorIs(t, err, errCut)
		require.EqualError(t, err,
			fmt.Sprintf("agent: session/update: terminal %q: the connection is cut", string(term.ID())))
		synctest.Wait()
		require.Empty(t, l.mirror.tags())
		r.Report(term.Terminal, nil)
		close(term.pieces)
		term.release(t)
		require.Empty(t, l.mirror.tags())
		r.Close() // twice
	})
}

// messagesVariable names a file. These tests append each message to it as a line, for internal/checks/conformance.
const messagesVariable = "ACPTERM_AGENT_MESSAGES"

// recordMessage appends a message to that file. def is the message's definition in the schema.
func recordMessage(t *testing.T, def string, message []byte) {
	name := os.Getenv(messagesVariable)
	if name == "" {
		return
	}
	line, err := json.Marshal(map[string]any{"definition": def, "message": json.RawMessage(message)})
	require.NoError(t, err)
	file, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	require.NoError(t, err)
	_, err = file.Write(append(line, '\n'))
	require.NoError(t, errors.Join(err, file.Close()))
}

// mirror is a client's state of a session's terminals. It outlives the client's connections.
type mirror struct {
	t         *testing.T
	mu        sync.Mutex
	terminals map[acpterm.TerminalID]*mirrored
	updates   []string // the tags of the updates
}

// mirrored is the state of a terminal. A nil field is unknown.
type mirrored struct {
	command, cwd *string
	output       []byte
	exit         *acpterm.TerminalExitStatus
	cancellable  bool
	snapshots    int
}

func newMirror(t *testing.T) *mirror {
	return &mirror{t: t, terminals: make(map[acpterm.TerminalID]*mirrored)}
}

// terminal returns a copy of a terminal's state.
func (m *mirror) terminal(id acpterm.TerminalID) mirrored {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.terminals[id] == nil {
		return mirrored{}
	}
	c := *m.terminals[id]
	c.output = bytes.Clone(c.output)
	return c
}

// forget forgets everything. It returns the only terminal.
func (m *mirror) forget() (was mirrored) {
	m.mu.Lock()
	defer m.mu.Unlock()
	require.Len(m.t, m.terminals, 1)
	for _, term := range m.terminals {
		was = *term
	}
	clear(m.terminals)
	m.updates = nil
	return was
}

// note adds a tag.
func (m *mirror) note(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.updates = append(m.updates, what)
}

// tags returns the tags of the updates so far.
func (m *mirror) tags() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.updates...)
}

// apply applies a session/update if it is about a terminal.
func (m *mirror) apply(params []byte) {
	var n struct {
		SessionID string
		Update    map[string]json.RawMessage
	}
	require.NoError(m.t, json.Unmarshal(params, &n))
	require.Equal(m.t, "s", n.SessionID)
	m.mu.Lock()
	defer m.mu.Unlock()
	tag := decode[string](m.t, n.Update["sessionUpdate"])
	m.updates = append(m.updates, tag)
	if tag != "terminal_update" && tag != "terminal_output_chunk" {
		return
	}
	id := decode[acpterm.TerminalID](m.t, n.Update["terminalId"])
	if m.terminals[id] == nil {
		m.terminals[id] = &mirrored{}
	}
	term := m.terminals[id]
	if tag == "terminal_output_chunk" {
		term.output = append(term.output, decodeBytes(m.t, n.Update["data"])...)
		return
	}
	for field, value := range n.Update {
		switch field {
		case "command":
			term.command = decode[*string](m.t, value)
		case "cwd":
			term.cwd = decode[*string](m.t, value)
		case "exitStatus":
			term.exit = decode[*acpterm.TerminalExitStatus](m.t, value)
		case "capabilities":
			term.cancellable = decode[map[string]json.RawMessage](m.t, value)["cancel"] != nil
		case "output":
			term.snapshots++
			term.output = decodeBytes(m.t, decode[map[string]json.RawMessage](m.t, value)["data"])
		}
	}
}

func decode[T any](t *testing.T, data []byte) (v T) {
	require.NoError(t, json.Unmarshal(data, &v), "%s", data)
	return v
}

func decodeBytes(t *testing.T, data []byte) []byte {
	raw, err := base64.StdEncoding.DecodeString(decode[string](t, data))
	require.NoError(t, err)
	return raw
}

// link is a connection to a mirror. It can stop reading.
type link struct {
	mirror *mirror
	broken context.Context
	cut    context.CancelFunc
	reads  chan struct{} // with an element while the link reads
}

var errCut = errors.New("the connection is cut")

// newLink returns a reading connection, and a Reporter over it.
func newLink(m *mirror, options *agent.ReporterOptions) (*link, *agent.Reporter) {
	l := &link{mirror: m, reads: make(chan struct{}, 1)}
	l.resume()
	l.broken, l.cut = context.WithCancel(context.Background())
	r := agent.NewReporter(options)
	r.Connect(l.notify)
	return l, r
}

// stall stops reading until resume.
func (l *link) stall() {
	select {
	case <-l.reads:
	default:
	}
}

func (l *link) resume() {
	select {
	case l.reads <- struct{}{}:
	default:
	}
}

func (l *link) notify(_ context.Context, method string, params any) error {
	require.Equal(l.mirror.t, "session/update", method)
	encoded, err := json.Marshal(params)
	require.NoError(l.mirror.t, err)
	select {
	case <-l.reads:
		l.resume()
	case <-l.broken.Done():
		return errCut
	}
	recordMessage(l.mirror.t, "UpdateSessionNotification", encoded)
	l.mirror.apply(encoded)
	return nil
}

package wiretest

// Handler.Filter: a connection for a JSON-RPC library other than jsonrpc2.

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/stretchr/testify/require"
)

// filtered is a handler's connection. The library uses rest, and agent is the other end.
type filtered struct {
	t           *testing.T
	manager     *acpterm.Manager
	handler     *acpterm.Handler
	rest        io.ReadWriteCloser
	agent       io.ReadWriteCloser
	restLines   chan string // closed at the end of rest
	agentReader *bufio.Reader
}

func newFiltered(ctx context.Context, t *testing.T) *filtered {
	ours, theirs := hosttest.PipePair(t)
	m := hosttest.NewManager(t, nil)
	h := acpterm.NewHandler(m, hosttest.Quietly())
	f := &filtered{t: t, manager: m, handler: h, agent: theirs, restLines: make(chan string, 10)}
	f.rest = f.handler.Filter(ctx, ours)
	f.agentReader = bufio.NewReader(theirs)
	go func() {
		defer close(f.restLines)
		for lines := bufio.NewScanner(f.rest); lines.Scan(); {
			f.restLines <- lines.Text()
		}
	}()
	return f
}

// send writes a line as the agent.
func (f *filtered) send(format string, args ...any) {
	_, err := fmt.Fprintf(f.agent, format+"\n", args...)
	require.NoError(f.t, err)
}

// receive reads a line sent to the agent.
func (f *filtered) receive() string {
	line, err := f.agentReader.ReadString('\n')
	require.NoError(f.t, err)
	return line
}

// create creates a terminal as the agent does, and returns it.
func (f *filtered) create(args ...string) *acpterm.Terminal {
	params, err := json.Marshal(hosttest.ChildRequest(args[0], args[1:]...))
	require.NoError(f.t, err)
	f.send(`{"jsonrpc":"2.0","id":"create","method":"terminal/create","params":%s}`, params)
	var answer struct {
		ID     string
		Result acpterm.CreateTerminalResponse
	}
	require.NoError(f.t, json.Unmarshal([]byte(f.receive()), &answer))
	require.Equal(f.t, "create", answer.ID)
	terminal, err := f.manager.Terminal(hosttest.ChildRequest("exit").SessionID, answer.Result.TerminalID)
	require.NoError(f.t, err)
	return terminal
}

func TestFilterPassesOnWhatIsNotOfTerminals(t *testing.T) {
	f := newFiltered(t.Context(), t)
	f.send(`no message`)
	require.Contains(t, f.receive(), `-32700`)
	f.create("exit", "0")
	// An id that jsonrpc2 does not support is a string to the library and goes back unchanged. Answers may be written
	// in pieces.
	for id, inside := range map[string]string{
		`7`: `7`, `"a"`: `"a"`, `-1`: `"raw-id:-1"`, `1.5`: `"raw-id:1.5"`, `"raw-id:x"`: `"raw-id:\"raw-id:x\""`,
	} {
		const request = `{"jsonrpc":"2.0","id":%s,"method":"session/request_permission","params":{}}`
		f.send(request, id)
		require.Equal(t, fmt.Sprintf(request, inside), <-f.restLines)
		for _, piece := range []string{`{"jsonrpc":"2.0",`, `"id":` + inside, `,"result":{}}` + "\n"} {
			_, err := io.WriteString(f.rest, piece)
			require.NoError(t, err)
		}
		require.JSONEq(t, `{"jsonrpc":"2.0","id":`+id+`,"result":{}}`, f.receive())
	}
	answer := `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}`
	f.send("%s", answer)
	require.Equal(t, answer, <-f.restLines)
	_, err := io.WriteString(f.rest, "{\n")
	require.Error(t, err)
}

// A cancel finds a request that came just before, and is not passed on.
func TestFilterServesCancels(t *testing.T) {
	f := newFiltered(t.Context(), t)
	terminal := f.create("sleep")
	params, err := json.Marshal(hosttest.Of(terminal.ID()))
	require.NoError(t, err)
	for range 20 {
		f.send(`{"jsonrpc":"2.0","id":7,"method":"terminal/wait_for_exit","params":%s}`+"\n"+
			`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}`, params)
		require.Contains(t, f.receive(), `-32800`)
	}
	require.Equal(t, acpterm.StateRunning, terminal.State())
	require.Empty(t, f.restLines)
}

// The end of the connection releases its terminals, whichever side ends it.
func TestFilterAtItsEnd(t *testing.T) {
	for name, end := range map[string]func(*filtered, context.CancelFunc){
		"the agent":   func(f *filtered, _ context.CancelFunc) { f.agent.Close() },
		"the library": func(f *filtered, _ context.CancelFunc) { f.rest.Close() },
		"ctx":         func(_ *filtered, cancel context.CancelFunc) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			f := newFiltered(ctx, t)
			terminal := f.create("sleep")
			end(f, cancel)
			_, err := terminal.Wait(t.Context())
			require.NoError(t, err)
			require.Equal(t, acpterm.EndedByRelease, terminal.EndedBy())
			for range f.restLines {
				t.Error("nothing is left to read")
			}
			require.NoError(t, f.handler.Close())
		})
	}
}

// An invalid line makes the Write fail after the preceding lines, and affects nothing else. A blank line does not
// count.
func TestFilterWritesWhatIsValid(t *testing.T) {
	f := newFiltered(t.Context(), t)
	defer f.rest.Close()
	n, err := io.WriteString(f.rest, "\n \n{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\nbad\n{\"jsonrpc\":\"2.0\",\"method\":\"b\"}\n")
	require.Error(t, err)
	require.Contains(t, f.receive(), `"a"`)
	rest := "{\"jsonrpc\":\"2.0\",\"method\":\"b\"}\n"
	require.Equal(t, len("\n \n{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\nbad\n"), n)
	_, err = io.WriteString(f.rest, rest)
	require.NoError(t, err)
	require.Contains(t, f.receive(), `"b"`)
}

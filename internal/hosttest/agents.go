package hosttest

// Agents on the other end of a connection over real pipes: one uses jsonrpc2, and one reads and writes bytes.

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

// PipePair returns both ends of a connection made of two pipes, like an agent's standard input and output.
func PipePair(t testing.TB) (client, agent io.ReadWriteCloser) {
	t.Helper()
	fromAgent, toClient, err := os.Pipe()
	require.NoError(t, err)
	fromClient, toAgent, err := os.Pipe()
	require.NoError(t, err)
	return agentproc.JoinStdio(fromAgent, toAgent), agentproc.JoinStdio(fromClient, toClient)
}

// Agent is the agent's end of a connection. A Handler serves the client's end.
type Agent struct {
	*jsonrpc2.Conn
	T       testing.TB
	Handler *acpterm.Handler
}

// Connect serves a manager to an agent. When the test ends, it ends the connection and waits until everything is
// served.
func Connect(t testing.TB, m *acpterm.Manager, options *acpterm.HandlerOptions) *Agent {
	t.Helper()
	client, agentEnd := PipePair(t)
	h, conn := Connection(context.Background(), m, client, options)
	a := &Agent{T: t, Handler: h}
	a.Conn = jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(agentEnd), NoHandler{})
	t.Cleanup(func() {
		a.Close()
		<-conn.DisconnectNotify()
		require.NoError(t, h.Close())
	})
	return a
}

// Connection serves a manager on a connection through Handler.Filter and jsonrpc2, or through Handler.Handle alone if
// ACPTERM_TEST_HANDLE is set.
func Connection(
	ctx context.Context, m *acpterm.Manager, conn io.ReadWriteCloser, options *acpterm.HandlerOptions,
) (*acpterm.Handler, *jsonrpc2.Conn) {
	h := acpterm.NewHandler(m, options)
	if os.Getenv("ACPTERM_TEST_HANDLE") == "" {
		conn = h.Filter(ctx, conn)
	}
	return h, jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(conn), h)
}

type NoHandler struct{}

func (NoHandler) Handle(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) {}

type Object = map[string]any

// Do sends a request and returns the unmodified result.
func (a *Agent) Do(method string, params any) (json.RawMessage, error) {
	var result json.RawMessage
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := a.Call(ctx, method, params, &result)
	return result, err
}

// MustDo is Do for requests that must succeed.
func (a *Agent) MustDo(method string, params any) json.RawMessage {
	a.T.Helper()
	result, err := a.Do(method, params)
	require.NoError(a.T, err)
	return result
}

// Create starts a child over the wire.
func (a *Agent) Create(name string, args ...string) acpterm.TerminalID {
	a.T.Helper()
	return a.CreateRequest(ChildRequest(name, args...))
}

// CreateReady is Create for a child that prints "ready", and waits for that.
func (a *Agent) CreateReady(name string) acpterm.TerminalID {
	a.T.Helper()
	id := a.Create(name)
	a.Poll(id, "ready\n")
	return id
}

// Begin sends a request and returns a waiter for its answer.
func (a *Agent) Begin(method string, params any) jsonrpc2.Waiter {
	a.T.Helper()
	waiter, err := a.DispatchCall(a.T.Context(), method, params)
	require.NoError(a.T, err)
	return waiter
}

func (a *Agent) CreateRequest(params any) acpterm.TerminalID {
	a.T.Helper()
	var created acpterm.CreateTerminalResponse
	require.NoError(a.T, json.Unmarshal(a.MustDo(acpterm.MethodCreate, params), &created))
	return created.TerminalID
}

func Of(id acpterm.TerminalID) Object { return Object{"sessionId": "s", "terminalId": id} }

func (a *Agent) Output(id acpterm.TerminalID) (out acpterm.TerminalOutputResponse) {
	a.T.Helper()
	require.NoError(a.T, json.Unmarshal(a.MustDo(acpterm.MethodOutput, Of(id)), &out))
	return out
}

// Poll requests the output until it contains the text, as agents do.
func (a *Agent) Poll(id acpterm.TerminalID, text string) {
	a.T.Helper()
	for {
		out := a.Output(id)
		if strings.Contains(out.Output, text) {
			return
		}
		require.Nil(a.T, out.ExitStatus, "%q was never printed, but %q", text, out.Output)
	}
}

// Failed checks the code and the data of an error, and that the connection still works.
func (a *Agent) Failed(err error, code int64, data string) {
	a.T.Helper()
	var e *jsonrpc2.Error
	require.ErrorAs(a.T, err, &e)
	require.Equal(a.T, code, e.Code, e.Message)
	require.NotEmpty(a.T, e.Message)
	require.NotNil(a.T, e.Data)
	require.JSONEq(a.T, data, string(*e.Data))
	_, err = a.Do("no/such", nil)
	require.ErrorAs(a.T, err, &e)
	require.Equal(a.T, int64(jsonrpc2.CodeMethodNotFound), e.Code)
}

// Peer is an agent that reads and writes bytes at the other end of a connection.
type Peer struct {
	t      testing.TB
	Conn   *jsonrpc2.Conn
	Reader *bufio.Reader
	Writer io.WriteCloser // writes, and ends the connection
}

// ConnectPeer serves a manager to a Peer. The connection ends with the test.
func ConnectPeer(t testing.TB, m *acpterm.Manager, options *acpterm.HandlerOptions) *Peer {
	t.Helper()
	client, agentEnd := PipePair(t)
	handler, conn := Connection(t.Context(), m, client, options)
	p := &Peer{t, conn, bufio.NewReaderSize(agentEnd, 1<<20), agentEnd}
	t.Cleanup(func() {
		p.Close()
		<-conn.DisconnectNotify()
		require.NoError(t, handler.Close())
	})
	return p
}

func (p *Peer) Close() { p.Writer.Close() }

func (p *Peer) Write(line string) {
	p.t.Helper()
	_, err := io.WriteString(p.Writer, line+"\n")
	require.NoError(p.t, err)
}

// Response is a response, not decoded further.
type Response struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *jsonrpc2.Error `json:"error"`
}

// Read returns the next line.
func (p *Peer) Read() (r Response) {
	p.t.Helper()
	line, err := p.Reader.ReadBytes('\n')
	require.NoError(p.t, err)
	require.NoError(p.t, json.Unmarshal(line, &r), "%s", line)
	return r
}

// Request returns the line of a request.
func Request(id, method string, params any) string {
	encoded, err := json.Marshal(params)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, encoded)
}

// Ask writes a request, and returns the next line.
func (p *Peer) Ask(id, method string, params any) Response {
	p.t.Helper()
	p.Write(Request(id, method, params))
	return p.Read()
}

// Works checks that the connection still works.
func (p *Peer) Works() {
	p.t.Helper()
	r := p.Ask(`"still"`, acpterm.MethodOutput, Of("none"))
	require.Equal(p.t, `"still"`, string(r.ID))
	require.EqualValues(p.t, -32002, r.Error.Code)
}

package acpterm_test

// Agents at the other end of a connection over real pipes: one that speaks jsonrpc2, and one that speaks bytes.

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

// pipePair is a connection made of two pipes, as an agent's standard input and output are.
func pipePair(t testing.TB) (client, agent io.ReadWriteCloser) {
	t.Helper()
	fromAgent, toClient, err := os.Pipe()
	require.NoError(t, err)
	fromClient, toAgent, err := os.Pipe()
	require.NoError(t, err)
	return agentproc.JoinStdio(fromAgent, toAgent), agentproc.JoinStdio(fromClient, toClient)
}

// agent is the agent's end of a connection whose client's end is served by a Handler.
type agent struct {
	*jsonrpc2.Conn
	t       testing.TB
	handler *acpterm.Handler
}

// connect serves a manager to an agent. The connection is ended and everything served when the test ends.
func connect(t testing.TB, m *acpterm.Manager, options *acpterm.HandlerOptions) *agent {
	t.Helper()
	client, agentEnd := pipePair(t)
	h, conn := connection(context.Background(), m, client, options)
	a := &agent{t: t, handler: h}
	a.Conn = jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(agentEnd), noHandler{})
	t.Cleanup(func() {
		a.Close()
		<-conn.DisconnectNotify()
		require.NoError(t, h.Close())
	})
	return a
}

// connection serves a manager on a connection, by Handler.Filter and jsonrpc2, or, if ACPTERM_TEST_HANDLE is set, by
// Handler.Handle alone.
func connection(
	ctx context.Context, m *acpterm.Manager, conn io.ReadWriteCloser, options *acpterm.HandlerOptions,
) (*acpterm.Handler, *jsonrpc2.Conn) {
	h := acpterm.NewHandler(m, options)
	if os.Getenv("ACPTERM_TEST_HANDLE") == "" {
		conn = h.Filter(ctx, conn)
	}
	return h, jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(conn), h)
}

type noHandler struct{}

func (noHandler) Handle(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) {}

type object = map[string]any

// call sends a request and returns the result as it came.
func (a *agent) call(method string, params any) (json.RawMessage, error) {
	var result json.RawMessage
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := a.Call(ctx, method, params, &result)
	return result, err
}

// mustCall is call for what must succeed.
func (a *agent) mustCall(method string, params any) json.RawMessage {
	a.t.Helper()
	result, err := a.call(method, params)
	require.NoError(a.t, err)
	return result
}

// create starts a child over the wire.
func (a *agent) create(name string, args ...string) acpterm.TerminalID {
	a.t.Helper()
	return a.createRequest(childRequest(name, args...))
}

// createReady is create for a child that says "ready", and waits for that.
func (a *agent) createReady(name string) acpterm.TerminalID {
	a.t.Helper()
	id := a.create(name)
	a.poll(id, "ready\n")
	return id
}

// begin sends a request, and returns what waits for its answer.
func (a *agent) begin(method string, params any) jsonrpc2.Waiter {
	a.t.Helper()
	waiter, err := a.DispatchCall(a.t.Context(), method, params)
	require.NoError(a.t, err)
	return waiter
}

func (a *agent) createRequest(params any) acpterm.TerminalID {
	a.t.Helper()
	var created acpterm.CreateTerminalResponse
	require.NoError(a.t, json.Unmarshal(a.mustCall(acpterm.MethodCreate, params), &created))
	return created.TerminalID
}

func of(id acpterm.TerminalID) object { return object{"sessionId": "s", "terminalId": id} }

func (a *agent) output(id acpterm.TerminalID) (out acpterm.TerminalOutputResponse) {
	a.t.Helper()
	require.NoError(a.t, json.Unmarshal(a.mustCall(acpterm.MethodOutput, of(id)), &out))
	return out
}

// poll asks for the output until it has the text, as agents do.
func (a *agent) poll(id acpterm.TerminalID, text string) {
	a.t.Helper()
	for !strings.Contains(a.output(id).Output, text) {
	}
}

// failed checks the code and the data of an error, and that the connection goes on.
func (a *agent) failed(err error, code int64, data string) {
	a.t.Helper()
	var e *jsonrpc2.Error
	require.ErrorAs(a.t, err, &e)
	require.Equal(a.t, code, e.Code, e.Message)
	require.NotEmpty(a.t, e.Message)
	require.NotNil(a.t, e.Data)
	require.JSONEq(a.t, data, string(*e.Data))
	_, err = a.call("no/such", nil)
	require.ErrorAs(a.t, err, &e)
	require.Equal(a.t, int64(jsonrpc2.CodeMethodNotFound), e.Code)
}

// peer is an agent that speaks bytes: the other end of a connection.
type peer struct {
	t      testing.TB
	conn   *jsonrpc2.Conn
	reader *bufio.Reader
	writer io.WriteCloser // writes, and ends the connection
}

// connectPeer serves a manager to one. The connection ends with the test.
func connectPeer(t testing.TB, m *acpterm.Manager, options *acpterm.HandlerOptions) *peer {
	t.Helper()
	client, agentEnd := pipePair(t)
	handler, conn := connection(t.Context(), m, client, options)
	p := &peer{t, conn, bufio.NewReaderSize(agentEnd, 1<<20), agentEnd}
	t.Cleanup(func() {
		p.close()
		<-conn.DisconnectNotify()
		require.NoError(t, handler.Close())
	})
	return p
}

func (p *peer) close() { p.writer.Close() }

// write writes a line.
func (p *peer) write(line string) {
	p.t.Helper()
	_, err := io.WriteString(p.writer, line+"\n")
	require.NoError(p.t, err)
}

// response is one as it came.
type response struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *jsonrpc2.Error `json:"error"`
}

// read returns the next line.
func (p *peer) read() (r response) {
	p.t.Helper()
	line, err := p.reader.ReadBytes('\n')
	require.NoError(p.t, err)
	require.NoError(p.t, json.Unmarshal(line, &r), "%s", line)
	return r
}

// request is a line that asks for something.
func request(id, method string, params any) string {
	encoded, err := json.Marshal(params)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, encoded)
}

// ask writes a request, and returns the next line.
func (p *peer) ask(id, method string, params any) response {
	p.t.Helper()
	p.write(request(id, method, params))
	return p.read()
}

// works checks that the connection does.
func (p *peer) works() {
	p.t.Helper()
	r := p.ask(`"still"`, acpterm.MethodOutput, of("none"))
	require.Equal(p.t, `"still"`, string(r.ID))
	require.EqualValues(p.t, -32002, r.Error.Code)
}

package agent_test

// A client with a configurable fault for each method. It runs in a bubble of testing/synctest, which also fails the
// test if a goroutine remains.

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/sourcegraph/jsonrpc2"
)

// fault is the client's fault in handling a method.
type fault string

const (
	none         fault = ""
	slow         fault = "slow" // answers after delay
	fails        fault = "internal error"
	notFound     fault = "terminal not found"
	malformed    fault = "malformed result"
	noReply      fault = "no reply"
	stopsReading fault = "stops reading" // and does not answer
	disconnects  fault = "disconnects"
)

// delay is shorter than the default grace.
const delay = 5 * time.Second

// scripted is a client's handler.
type scripted struct {
	faults    map[string]fault
	results   map[string]string // instead of the default results
	errors    map[string]*jsonrpc2.Error
	completes bool // the command ends by itself
	on        func(method string)

	seen    []string // methods without "terminal/", in the order of the requests
	params  map[string]json.RawMessage
	cancels int

	end   func() // ends the command
	ended <-chan struct{}
}

// requests returns the requests that the client has read, except cancellations.
func (s *scripted) requests() string {
	synctest.Wait()
	return strings.Join(s.seen, " ")
}

// Handle is called by the reading goroutine.
func (s *scripted) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	s.params[req.Method] = *req.Params
	if req.Method == "$/cancel_request" {
		s.cancels++
		return
	}
	s.seen = append(s.seen, strings.TrimPrefix(req.Method, "terminal/"))
	if s.on != nil {
		s.on(req.Method)
	}
	if e := s.errors[req.Method]; e != nil {
		conn.ReplyWithError(ctx, req.ID, e)
		return
	}
	switch s.faults[req.Method] {
	case noReply:
	case stopsReading:
		<-conn.DisconnectNotify()
	case disconnects:
		conn.Close()
	case fails:
		conn.ReplyWithError(ctx, req.ID, &jsonrpc2.Error{Code: -32603})
	case notFound:
		conn.ReplyWithError(ctx, req.ID, &jsonrpc2.Error{Code: -32002})
	case malformed:
		conn.Reply(ctx, req.ID, []int{1})
	case slow:
		time.AfterFunc(delay, func() { s.reply(conn, req) })
	default:
		go s.reply(conn, req)
	}
}

func (s *scripted) reply(conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	result := `{}`
	switch req.Method {
	case acpterm.MethodCreate:
		result = `{"terminalId":"t1"}`
	case acpterm.MethodOutput:
		result = `{"output":"out","truncated":true}`
	case acpterm.MethodKill, acpterm.MethodRelease:
		s.end()
	case acpterm.MethodWaitForExit:
		result = `{"exitCode":3}`
		if !s.completes {
			select {
			case <-s.ended:
			case <-conn.DisconnectNotify():
			}
			result = `{"signal":"SIGKILL"}`
		}
	}
	if r, ok := s.results[req.Method]; ok {
		result = r
	}
	conn.Reply(context.Background(), req.ID, json.RawMessage(result))
}

var (
	terminals = acpterm.ClientCapabilities{Terminal: true}
	request   = acpterm.CreateTerminalRequest{SessionID: "s", Command: "make"}
)

// with runs a test against a scripted client, in a bubble.
func with(t *testing.T, s *scripted, test func(t *testing.T, c *agent.Client, conn *jsonrpc2.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		running, end := context.WithCancel(context.Background())
		s.ended, s.end = running.Done(), end
		s.params = make(map[string]json.RawMessage)
		conn, _ := connect(t, nil, s)
		t.Cleanup(end)
		test(t, agent.NewClient(conn, terminals, nil), conn)
	})
}

// connect connects an agent and a client by a pipe, until the end of the test.
func connect(
	t *testing.T, ofAgent, ofClient jsonrpc2.Handler, options ...jsonrpc2.ConnOpt,
) (agent, client *jsonrpc2.Conn) {
	clientEnd, agentEnd := net.Pipe()
	agent = jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(agentEnd), ofAgent)
	client = jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(clientEnd), ofClient, options...)
	t.Cleanup(func() {
		client.Close()
		agent.Close()
		synctest.Wait()
	})
	return agent, client
}

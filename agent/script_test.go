package agent_test

// A client that follows a script: at each step it is prompt, slow, silent or deaf, answers nonsense or vanishes. It lives
// in a bubble of testing/synctest, which also sees to it that no goroutine is left.

import (
	"context"
	"encoding/json"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/sourcegraph/jsonrpc2"
)

// behaviour is how the client takes a request.
type behaviour int

const (
	prompt   behaviour = iota
	slow               // answers after five seconds
	fails              // answers with an internal error
	notFound           // answers that it does not know the terminal
	nonsense           // answers something that is not in the schema
	silent             // never answers
	deaf               // never answers, and reads no more
	vanishes           // ends the connection
)

// slowness is less than the grace.
const slowness = 5 * time.Second

// scripted is a client's end.
type scripted struct {
	behaves map[string]behaviour
	results map[string]string // in place of the usual ones
	errors  map[string]*jsonrpc2.Error
	ends    bool // whether the command ends by itself
	on      func(method string)
	conn    *jsonrpc2.Conn

	mu     sync.Mutex
	seen   []string
	params map[string]json.RawMessage

	killed func()
	dead   context.Context
}

// methods returns the requests that the client has read, in their order.
func (s *scripted) methods() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, m := range s.seen {
		if m != acpterm.MethodCancelRequest {
			all = append(all, m)
		}
	}
	return all
}

// cancels returns how many requests were cancelled.
func (s *scripted) cancels() int {
	all := s.methods()
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen) - len(all)
}

// Handle is called by the goroutine that reads.
func (s *scripted) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	s.mu.Lock()
	s.seen = append(s.seen, req.Method)
	if req.Params != nil {
		s.params[req.Method] = *req.Params
	}
	s.mu.Unlock()
	if s.on != nil {
		s.on(req.Method)
	}
	if req.Notif {
		return
	}
	if e := s.errors[req.Method]; e != nil {
		conn.ReplyWithError(ctx, req.ID, e)
		return
	}
	switch s.behaves[req.Method] {
	case silent:
	case deaf:
		<-conn.DisconnectNotify()
	case vanishes:
		conn.Close()
	case fails:
		conn.ReplyWithError(ctx, req.ID, &jsonrpc2.Error{Code: -32603, Message: "out of luck"})
	case notFound:
		conn.ReplyWithError(ctx, req.ID, &jsonrpc2.Error{Code: -32002, Message: "no such thing"})
	case nonsense:
		conn.Reply(ctx, req.ID, []int{1})
	case slow:
		go func() {
			time.Sleep(slowness)
			s.reply(conn, req)
		}()
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
		s.killed()
	case acpterm.MethodWaitForExit:
		result = `{"exitCode":3}`
		if !s.ends {
			select {
			case <-s.dead.Done():
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

var terminals = acpterm.ClientCapabilities{Terminal: true}

// with runs a test against a scripted client, in a bubble.
func with(t *testing.T, s *scripted, test func(t *testing.T, c *agent.Client, conn *jsonrpc2.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		s.dead, s.killed = context.WithCancel(context.Background())
		s.params = make(map[string]json.RawMessage)
		clientEnd, agentEnd := net.Pipe()
		s.conn = jsonrpc2.NewConn(context.Background(), acpterm.NewStream(clientEnd), s)
		conn := jsonrpc2.NewConn(context.Background(), acpterm.NewStream(agentEnd), nil)
		defer func() {
			s.conn.Close()
			conn.Close()
			s.killed()
			synctest.Wait()
		}()
		test(t, agent.NewClient(conn, terminals), conn)
	})
}

package mcpserver

// What an ACP client tells an agent about a Server, and the token that this contains.

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/mcpserver/internal/relay"
)

// An Entry is an element of mcpServers in session/new, session/load and session/resume, which makes the agent connect
// to a Server. Its JSON value is that of the schema type McpServer. It contains a secret.
//
// The secret expires when the Entry or its Listener is closed, and not before that, because agents may connect late and
// more than once. Callers should call Close when the agent's session is closed, or its process has ended.
type Entry struct {
	// Type is "http" or "stdio". In version 1 of ACP, it is empty for stdio.
	Type string `json:"type,omitempty"`
	Name string `json:"name"`

	// URL and Headers are set for HTTP.
	URL     string   `json:"url,omitempty"`
	Headers []Header `json:"headers,omitzero"`

	// Command, Args and Env start the relay.
	Command string                `json:"command,omitempty"`
	Args    []string              `json:"args,omitzero"`
	Env     []acpterm.EnvVariable `json:"env,omitzero"`

	server   *Server
	listener *Listener
	key      [sha256.Size]byte
	handler  *mcp.StreamableHTTPHandler
	created  time.Time

	slots chan struct{} // semaphore of sessions, including those being opened and closed

	mu     sync.Mutex
	closed bool
	links  map[*link]bool
	busy   sync.WaitGroup // the sessions in slots
}

// A Header is an HTTP header to set in requests (schema type HttpHeader).
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Entry returns an entry with a new token. An agent can open MCP sessions of s with it until the entry is closed.
// initialize is the agent's response to initialize. The entry is for HTTP if the agent supports it, and otherwise for
// stdio. name is the name that the agent gives the Server, usually as a prefix of the tools; if empty, it is "acpterm".
// Over HTTP, a Server speaks the versions of MCP up to 2025-11-25.
//
// Entry returns an error if initialize is not a response of ACP version 1 or 2, if the agent supports neither
// transport, or if the relay's socket or program cannot be used.
func (s *Server) Entry(l *Listener, name string, initialize json.RawMessage) (*Entry, error) {
	agent, err := readAgent(initialize)
	if err != nil {
		return nil, fmt.Errorf("mcpserver: Entry: %w", err)
	}
	e := s.newEntry(l, name)
	token := rand.Text()
	switch {
	case agent.http:
		e.Type = "http"
		e.URL = "http://" + l.addr + urlPath
		e.Headers = []Header{{Name: "Authorization", Value: "Bearer " + token}}
	case agent.stdio:
		err = e.setRelay(agent.version, token)
	default:
		err = errors.New("the agent supports MCP servers neither over HTTP nor over stdio")
	}
	if err != nil {
		return nil, fmt.Errorf("mcpserver: Entry: %w", err)
	}
	e.handler = mcp.NewStreamableHTTPHandler(serverOf, &mcp.StreamableHTTPOptions{
		MaxRequestBodyBytes: l.options.MaxBody, Logger: s.options.Logger,
	})
	if err := l.add(token, e); err != nil {
		return nil, fmt.Errorf("mcpserver: Entry: %w", err)
	}
	return e, nil
}

func (s *Server) newEntry(l *Listener, name string) *Entry {
	return &Entry{
		Name: cmp.Or(name, "acpterm"), server: s, listener: l,
		created: time.Now(), links: make(map[*link]bool), slots: make(chan struct{}, l.options.MaxSessions),
	}
}

// setRelay sets the fields for stdio.
func (e *Entry) setRelay(version int, token string) error {
	program, err := e.listener.relay()
	if err != nil {
		return err
	}
	s, err := e.listener.socket()
	if err != nil {
		return err
	}
	if version > 1 {
		e.Type = "stdio"
	}
	e.Command = program
	e.Args = []string{relay.Argument}
	e.Env = []acpterm.EnvVariable{{Name: relay.SocketVariable, Value: s.path}, {Name: relay.TokenVariable, Value: token}}
	return nil
}

// Close makes the token invalid and ends the entry's MCP sessions. It waits until their terminals are released, and
// returns the errors of that. Subsequent calls wait too. As with Server.Close, policies and functions in options must not
// call it.
func (e *Entry) Close() error {
	e.listener.revoke(e)
	e.mu.Lock()
	e.closed = true
	var all []func() error
	for k := range e.links {
		all = append(all, k.session.close)
	}
	e.mu.Unlock()
	err := closeAll(all)
	e.busy.Wait()
	return err
}

var (
	errRevoked  = errors.New("the token is no longer valid")
	errSessions = errors.New("too many MCP sessions are open")
)

// open opens a session of the entry's Server. Each open link must be removed.
func (e *Entry) open() (*link, error) {
	if err := e.reserve(); err != nil {
		return nil, err
	}
	s, err := e.server.open(context.Background())
	if err != nil {
		e.release()
		return nil, err
	}
	k := &link{entry: e, session: s, done: make(chan struct{}), opened: time.Now(), requests: 1}
	e.mu.Lock()
	closed := e.closed
	e.links[k] = true
	e.mu.Unlock()
	if closed { // in the meantime
		s.close()
		e.remove(k)
		return nil, errRevoked
	}
	return k, nil
}

// reserve counts a session to be opened.
func (e *Entry) reserve() error {
	if !e.takeSlot() {
		return errSessions
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		<-e.slots
		return errRevoked
	}
	e.busy.Add(1)
	return nil
}

// takeSlot takes one of the slots. If all are taken, it ends an idle session, and waits a moment, because clients
// receive the last response of a session before its end.
func (e *Entry) takeSlot() bool {
	select {
	case e.slots <- struct{}{}:
		return true
	default:
	}
	e.closeIdle()
	timeout := time.NewTimer(slotTimeout)
	defer timeout.Stop()
	select {
	case e.slots <- struct{}{}:
		return true
	case <-timeout.C:
		return false
	}
}

// remove forgets a session whose terminals have been released.
func (e *Entry) remove(k *link) {
	e.mu.Lock()
	if k.idle != nil {
		k.idle.Stop()
	}
	delete(e.links, k)
	e.mu.Unlock()
	e.release()
	close(k.done)
}

// release ends what reserve began.
func (e *Entry) release() {
	<-e.slots
	e.busy.Done()
}

// agent holds the facts about an agent on which an entry depends.
type agent struct {
	version     int // of ACP
	http, stdio bool
}

// readAgent reads a response to initialize.
func readAgent(initialize json.RawMessage) (agent, error) {
	var response struct {
		ProtocolVersion   int             `json:"protocolVersion"`
		AgentCapabilities json.RawMessage `json:"agentCapabilities"` // of version 1
		Capabilities      json.RawMessage `json:"capabilities"`      // of version 2
	}
	if err := json.Unmarshal(initialize, &response); err != nil {
		return agent{}, fmt.Errorf("read the response to initialize: %w", err)
	}
	switch response.ProtocolVersion {
	case 1:
		mcp := member(response.AgentCapabilities, "mcpCapabilities")
		supports := func(name string) bool { return string(member(mcp, name)) == "true" }
		return agent{version: 1, http: supports("http"), stdio: true}, nil
	case 2:
		mcp := member(response.Capabilities, "session", "mcp")
		supports := func(name string) bool { return isObject(member(mcp, name)) }
		return agent{version: 2, http: supports("http"), stdio: supports("stdio")}, nil
	}
	return agent{}, fmt.Errorf("protocol version %d is unknown", response.ProtocolVersion)
}

// member returns a member of nested objects, or nil. As in the schema, a value of another type counts as absent.
func member(value json.RawMessage, names ...string) json.RawMessage {
	for _, name := range names {
		var object map[string]json.RawMessage
		if json.Unmarshal(value, &object) != nil {
			return nil
		}
		value = object[name]
	}
	return value
}

func isObject(value json.RawMessage) bool { return strings.HasPrefix(string(value), "{") }

// serverKey is the context key of the server of a request that opens an MCP session.
type serverKey struct{}

// serverOf returns the server of a request. The SDK calls it several times for each.
func serverOf(r *http.Request) *mcp.Server {
	server, _ := r.Context().Value(serverKey{}).(*mcp.Server)
	return server
}

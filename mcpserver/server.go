package mcpserver

// The server: one session of the Manager for each MCP session.

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/acpterm/acpterm"
)

// Options configures a Server. The zero value is ready to use.
type Options struct {
	// Session specifies the options of each session, such as its roots and its policy. If nil, the Manager's apply.
	Session *acpterm.SessionOptions
}

// A Server serves a Manager's terminals to MCP clients. Callers should call Close when done.
//
// It is safe for concurrent use by multiple goroutines.
type Server struct {
	manager *acpterm.Manager
	options Options

	mu       sync.Mutex
	closed   bool
	sessions map[*session]bool
}

// New returns a Server that runs commands using m. It makes a copy of opts, and uses the defaults if opts is nil.
func New(m *acpterm.Manager, opts *Options) *Server {
	s := &Server{manager: m, sessions: make(map[*session]bool)}
	if opts != nil {
		s.options = *opts
	}
	return s
}

// Run serves one MCP session on a transport, until the client ends it or ctx is done. When Run returns, the terminals
// of the session have been released. Run may be called several times, also concurrently. After Close, it returns an
// error of kind ErrClosing.
func (s *Server) Run(ctx context.Context, t mcp.Transport) error {
	session, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer session.close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(session.ctx, cancel)()
	return session.server.Run(ctx, t)
}

// Close ends all sessions and waits until their terminals are released. Later sessions are refused. Subsequent calls
// wait too. The Manager is not closed.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	var all []*session
	for session := range s.sessions {
		all = append(all, session)
	}
	s.mu.Unlock()
	var closing sync.WaitGroup
	errs := make([]error, len(all))
	for i, session := range all {
		closing.Go(func() { errs[i] = session.close() })
	}
	closing.Wait()
	return errors.Join(errs...)
}

// session is one MCP session, which is one session of the Manager.
type session struct {
	id     acpterm.SessionID
	server *mcp.Server
	ctx    context.Context // done when the session begins to close
	close  func() error    // releases the terminals, and waits until they are gone
}

// open opens a session with an ID that nobody else knows.
func (s *Server) open(context.Context) (*session, error) {
	id := acpterm.SessionID("mcp_" + rand.Text())
	if err := s.manager.OpenSession(id, s.options.Session); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &session{id: id, ctx: ctx}
	c.close = sync.OnceValue(func() error {
		cancel()
		err := s.manager.CloseSession(context.Background(), id)
		s.mu.Lock()
		delete(s.sessions, c)
		s.mu.Unlock()
		return err
	})
	c.server = mcp.NewServer(&mcp.Implementation{Name: "acpterm"}, nil)
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.sessions[c] = true
	}
	s.mu.Unlock()
	if closed {
		c.close()
		return nil, &acpterm.Error{Op: "open session", Kind: acpterm.ErrClosing}
	}
	return c, nil
}

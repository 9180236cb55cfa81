package mcpserver

// An MCP session, which is one session of the Manager. Its ID is random, and never leaves the host. And calls of the
// host's functions, which may panic.

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/acpterm/acpterm"
)

// session is one MCP session.
type session struct {
	id      acpterm.SessionID
	manager *acpterm.Manager
	options *Options
	dir     string // that relative working directories refer to, or empty
	server  *mcp.Server
	calls   chan struct{} // has an element for each call
	quiet   time.Duration // the longest wait of a call without progress notifications; if 0, unlimited

	ctx    context.Context // done when the session begins to close
	cancel context.CancelFunc
	close  func() error // releases the terminals, and waits until their trees are gone

	creates  sync.WaitGroup // calls of Manager.Create and Terminal.Write; none is added once closed is set
	searches sync.WaitGroup // of output for errors; none is added once there are no creates

	mu       sync.Mutex
	closed   bool
	pending  map[string]*creation // that wait for an answer, by the state that the client returns with it
	commands map[*acpterm.Terminal]*command
	ids      map[string]acpterm.TerminalID // by the ids for the model
}

// open opens a session. ctx applies only to this call.
func (s *Server) open(ctx context.Context) (*session, error) {
	if ctx.Err() != nil {
		return nil, &acpterm.Error{Op: "open session", Kind: acpterm.ErrCancelled, Err: context.Cause(ctx)}
	}
	if !s.beginOpen() {
		return nil, closing("open session")
	}
	defer s.opening.Done()
	return s.newSession()
}

// newSession opens a session, after beginOpen.
func (s *Server) newSession() (*session, error) {
	c := &session{
		id: acpterm.SessionID("mcp_" + rand.Text()), manager: s.manager, options: &s.options,
		calls: make(chan struct{}, maxCalls), pending: make(map[string]*creation),
		commands: make(map[*acpterm.Terminal]*command), ids: make(map[string]acpterm.TerminalID),
	}
	var options acpterm.SessionOptions
	if s.options.Session != nil {
		options = *s.options.Session
	}
	policies := acpterm.Policies{s.options.inputPolicy()}
	if options.Policy != nil { // first, so that records name its rule
		policies = acpterm.Policies{options.Policy, policies}
	}
	options.Policy = policies
	c.dir = options.Commands.Dir
	if c.dir == "" && len(options.Roots) > 0 {
		c.dir = options.Roots[0]
	}
	if err := s.manager.OpenSession(c.id, &options); err != nil {
		return nil, err
	}
	closed, err := s.opened(c.id)
	if err != nil {
		return nil, errors.Join(err, s.manager.CloseSession(context.Background(), c.id))
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.close = sync.OnceValue(func() error {
		c.cancel()
		c.mu.Lock()
		c.closed = true
		c.mu.Unlock()
		err := s.manager.ReleaseSession(context.Background(), c.id)
		c.creates.Wait() // first: after CloseSession, commands would run without the session's options
		err = errors.Join(err, s.manager.CloseSession(context.Background(), c.id))
		c.searches.Wait()
		closed() // before it is deleted, so that Server.Close waits
		s.mu.Lock()
		delete(s.sessions, c)
		s.mu.Unlock()
		return err
	})
	c.server = mcp.NewServer(
		&mcp.Implementation{Name: "acpterm", Title: "Terminals", Version: s.options.Version},
		&mcp.ServerOptions{
			Instructions: c.instructions(), Logger: s.options.Logger,
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}, // the list never changes
		})
	c.server.AddReceivingMiddleware(c.guard)
	c.addTools()
	s.mu.Lock()
	refused := s.closed
	if !refused {
		s.sessions[c] = true
	}
	s.mu.Unlock()
	if refused {
		c.close()
		return nil, closing("open session")
	}
	return c, nil
}

// beginOpen counts a session that is being opened. It returns false if the Server is closed.
func (s *Server) beginOpen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.opening.Add(1)
	}
	return !s.closed
}

// opened calls Options.Opened, and returns a function to be called when the session has ended.
func (s *Server) opened(id acpterm.SessionID) (closed func(), err error) {
	closed = func() {}
	if s.options.Opened == nil {
		return closed, nil
	}
	err = callHost("Opened", func() {
		if f := s.options.Opened(id); f != nil {
			closed = func() { callHost("closed", f) }
		}
	})
	if err != nil {
		return nil, &acpterm.Error{Op: "open session", Kind: acpterm.ErrInternal, SessionID: id, Err: err}
	}
	return closed, nil
}

// instructions returns text about all tools together, for the model.
func (c *session) instructions() string {
	text := "These tools run commands in terminals. run starts a command, waits for it for a while and returns its id. " +
		"A command that is still running continues in the background: wait for it, read its output, or kill it. " +
		"Standard input is at end of file, so use options that ask no questions, or start the command with pty and " +
		"answer with write. " +
		"Long output is cut in the middle, and each cut is marked with the offset to read on from."
	if c.dir != "" {
		text += " Commands run in " + c.dir + " unless cwd says otherwise."
	}
	if c.options.Instructions != "" {
		text += "\n\n" + c.options.Instructions
	}
	return text
}

// beginCreate counts a call of Manager.Create or Terminal.Write. It returns false if the session is closing.
func (c *session) beginCreate() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.creates.Add(1)
	}
	return !c.closed
}

// within returns a context that ends with ctx, and when the session begins to close.
func (c *session) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// cwd returns the working directory for a request. Relative paths refer to c.dir, on the machine that runs commands.
func (c *session) cwd(asked string) string {
	switch {
	case asked == "" || c.dir == "" || filepath.IsAbs(asked) || path.IsAbs(asked):
		return asked
	case strings.HasPrefix(c.dir, "/"):
		return path.Join(c.dir, asked)
	default:
		return filepath.Join(c.dir, asked)
	}
}

// callHost calls f, which calls the host's function called name. It logs a panic with its stack, and returns an error
// without the value of the panic, which may be secret: the agent gets the error.
func callHost(name string, f func()) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			slog.Error("acpterm: the host's function panicked", "function", name,
				"panic", fmt.Sprint(panicked), "stack", string(debug.Stack()))
			err = fmt.Errorf("the host's %s function panicked", name)
		}
	}()
	f()
	return nil
}

package mcpserver

// The server: it opens a session of the Manager for each MCP session, and closes all of them.

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/acpterm/acpterm"
)

// Options configures a Server. The zero value is ready to use.
type Options struct {
	// Session specifies the options of every session, such as its roots and its policy. If nil, those of the Manager
	// apply. Agents may pass relative working directories only if Roots or Commands.Dir is set.
	Session *acpterm.SessionOptions

	// MaxText is the maximum number of bytes of output in a result. Longer output is cut in the middle: the first
	// quarter of MaxText shows its beginning (a sixteenth, if there are errors to show), which each terminal keeps in addition to CommandOptions.OutputByteLimit.
	// The default is 16 KiB, and values below 1 KiB count as 1 KiB.
	MaxText int

	// MaxWait is the maximum time that a call waits for a command. Longer waits asked for by the agent are shortened to
	// it. The default is 10 minutes. Note that many clients give up after a minute. Over HTTP, a call waits for at most
	// 4 minutes unless the client asks for progress.
	MaxWait time.Duration

	// Input, if non-nil, is a policy on commands that the model may type into, because it has started them with pty. It
	// is consulted in addition to the policies of the Manager and of Session, which do not see the programs that a
	// pager, an editor or an interpreter starts. If nil, Options.Approve of the Manager is asked about each such
	// command. To remember its answers, use a policy that asks, and wrap it with policy.Approvals.
	Input acpterm.Policy

	// Instructions is shown to the model by most clients, after a few sentences about the tools.
	Instructions string

	// Denied is shown to the model after each denial, for example a list of the commands that are allowed.
	Denied string

	// Version is the program's version, for the client. It may be empty.
	Version string

	// Opened, if non-nil, is called with the ID of each session of the Manager before its first command, for example to
	// name the session in package view. The function that it returns, which may be nil, is called when the session has
	// ended and its terminals are released. Both may be called concurrently. Close, Entry.Close and Listener.Close wait
	// for both, so neither may call these. If Opened panics, the session is refused. If the host closes the Manager's
	// session itself, later commands are denied.
	Opened func(acpterm.SessionID) (closed func())

	// Created, if non-nil, is called with each new terminal, like acpterm.HandlerOptions.Created. The call of run waits
	// until it returns, but another call of the agent can list the terminal before. It may be called concurrently. As
	// with Opened, it may not close the Server, an Entry or a Listener. If Created panics, the call fails, and the
	// terminal is released.
	Created func(*acpterm.Terminal)

	// Logger receives what happens on the connections, at level Info and above. By default, nothing is logged.
	Logger *slog.Logger
}

// The defaults and bounds of Options.
const (
	defaultMaxText = 16 << 10
	minText        = 1 << 10
	defaultMaxWait = 10 * time.Minute
)

func (o *Options) maxText() int {
	if o.MaxText == 0 {
		return defaultMaxText
	}
	return max(o.MaxText, minText)
}

func (o *Options) maxWait() time.Duration {
	if o.MaxWait <= 0 {
		return defaultMaxWait
	}
	return o.MaxWait
}

// A Server serves a Manager's terminals to MCP clients. Callers should call Close when done, before they close the
// Manager.
//
// It is safe for concurrent use by multiple goroutines.
type Server struct {
	manager *acpterm.Manager
	options Options
	opening sync.WaitGroup // sessions; none is added once closed is set

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
// of the session have been released, and their processes are gone. It returns nil if the client ended the session, the
// cause of ctx if it is done, and otherwise the error of the transport or an *acpterm.Error, for example of kind
// ErrClosing after Close. Run may be called more than once, and concurrently.
//
// A client that does not read does not keep Run from returning once ctx is done. With a transport such as
// mcp.StdioTransport, whose output cannot be closed, a goroutine may then remain in a write.
func (s *Server) Run(ctx context.Context, t mcp.Transport) error {
	c, err := s.open(ctx)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, c.cancel)
	defer stop()
	err = c.serve(t)
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case c.ctx.Err() != nil:
		err = closing("serve")
	}
	return errors.Join(err, c.close())
}

// unreadLimit is how long serve waits for a client to read, after the session was closed.
const unreadLimit = 5 * time.Second

// serve serves a session on a transport until either ends. If the session ends, its terminals are released first, even
// if calls cannot return because the client does not read.
func (c *session) serve(t mcp.Transport) error {
	connected := &connection{Transport: c.overLines(t)}
	served := make(chan error, 1)
	go func() { served <- c.server.Run(c.ctx, connected) }()
	select {
	case err := <-served:
		return err
	case <-c.ctx.Done():
	}
	c.close()
	select { // idle calls have returned, and the SDK closes the connection
	case err := <-served:
		return err
	case <-time.After(unreadLimit):
	}
	connected.close()
	select {
	case err := <-served:
		return err
	case <-time.After(unreadLimit):
		return nil
	}
}

// connection is a transport that remembers its connection.
type connection struct {
	mcp.Transport
	mu     sync.Mutex
	opened mcp.Connection
}

func (c *connection) Connect(ctx context.Context) (mcp.Connection, error) {
	opened, err := c.Transport.Connect(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened = opened
	return opened, err
}

// SupportsProtocolVersion implements mcp.ProtocolVersionSupporter, as the transport does.
func (c *connection) SupportsProtocolVersion(version string) bool {
	supporter, ok := c.Transport.(mcp.ProtocolVersionSupporter)
	return !ok || supporter.SupportsProtocolVersion(version)
}

func (c *connection) close() {
	c.mu.Lock()
	opened := c.opened
	c.mu.Unlock()
	if opened != nil {
		opened.Close()
	}
}

// Close ends all sessions, releases their terminals and waits until the processes are gone. It returns the joined
// errors of the releases. Later sessions are refused. Subsequent calls wait, too. The Manager stays open. Policies and
// Options.Approve must not call Close, which waits for them, and neither must the functions in Options.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	var all []func() error
	for c := range s.sessions {
		all = append(all, c.close)
	}
	s.mu.Unlock()
	err := closeAll(all)
	s.opening.Wait() // they are closed as soon as they are open
	return err
}

// closeAll calls all functions concurrently, and returns their joined errors.
func closeAll(all []func() error) error {
	var closing sync.WaitGroup
	errs := make([]error, len(all))
	for i, closeOne := range all {
		closing.Go(func() { errs[i] = closeOne() })
	}
	closing.Wait()
	return errors.Join(errs...)
}

func closing(op string) error { return &acpterm.Error{Op: op, Kind: acpterm.ErrClosing} }

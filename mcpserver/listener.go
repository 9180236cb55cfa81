package mcpserver

// The listener: it accepts HTTP requests and relays, and knows the token of each entry.

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

const (
	headerTimeout = 5 * time.Second
	bodyTimeout   = 10 * time.Second
	writeTimeout  = 10 * time.Second
	lastTimeout   = 5 * time.Second // of the last writes to a relay
	answerTimeout = time.Second     // of the last calls of a session to return
	slotTimeout   = time.Second     // of a session to end, so that another can begin
	keepTimeout   = 2 * time.Minute // of a connection without a request
	maxHeader     = 16 << 10

	// maxUnadmitted is the maximum number of connections before their first request with a token.
	maxUnadmitted = 32
	// maxConnections is the maximum number of connections with the token of one entry, and so of its requests over
	// HTTP.
	maxConnections = 128
)

// ListenOptions configures a Listener. The zero value is ready to use.
type ListenOptions struct {
	// Addr is the address for HTTP, a loopback IP address with a port. Listen refuses all other addresses and names.
	// The default is "127.0.0.1:0", which chooses a port.
	Addr string

	// Relay is the absolute path of a program that calls RunRelay when it starts, such as the host's own executable. It
	// is used by agents that cannot connect to HTTP servers. By default, acpterm-mcp-relay is looked up in PATH.
	Relay string

	// MaxSessions is the maximum number of open MCP sessions for each Entry. The default is 16. To open
	// another one over HTTP, the longest idle session without an open request and a running command is ended.
	MaxSessions int

	// MaxBody is the maximum size in bytes of an HTTP request's body or a relay's line.
	// The default is 2 MiB. Without the arguments of a tool, none may be longer than 64 KiB.
	MaxBody int64

	// IdleTimeout is how long an MCP session over HTTP may be without an open request before it is ended. A client that
	// listens for messages has an open request. The default is an hour.
	IdleTimeout time.Duration

	headerTimeout time.Duration // for a request's header and a relay's token; tests change it
}

// A Listener lets agents on this machine connect to Servers, over HTTP or through a relay. Server.Entry returns what to
// tell an agent. Callers should call Close when done.
//
// HTTP requests must contain the token of an Entry, and a Host header with the listener's address or localhost.
// Requests from web pages are refused. Slow connections are closed, and so is the oldest without a token if there are
// too many.
//
// It is safe for concurrent use by multiple goroutines.
type Listener struct {
	options ListenOptions
	addr    string
	http    *http.Server
	busy    sync.WaitGroup // the goroutines that accept

	mu      sync.Mutex
	closed  bool
	relays  *socket                      // nil until an entry needs it
	entries map[[sha256.Size]byte]*Entry // by the token's hash
}

// Listen starts listening for HTTP connections. It uses the defaults if options is nil. If an option is invalid, Listen
// returns an error naming it.
func Listen(options *ListenOptions) (*Listener, error) {
	l := &Listener{entries: make(map[[sha256.Size]byte]*Entry)}
	if options != nil {
		l.options = *options
	}
	if err := l.options.setDefaults(); err != nil {
		return nil, err
	}
	tcp, err := net.Listen("tcp", l.options.Addr)
	if err != nil {
		return nil, fmt.Errorf("mcpserver: Listen: %w", err)
	}
	l.addr = tcp.Addr().String()
	l.http = l.newHTTPServer()
	l.busy.Go(func() { l.http.Serve(slowListener{tcp}) })
	return l, nil
}

// setDefaults replaces zero values, and refuses invalid ones.
func (o *ListenOptions) setDefaults() error {
	o.Addr = cmp.Or(o.Addr, "127.0.0.1:0")
	addr, err := netip.ParseAddrPort(o.Addr)
	switch {
	case err != nil || !addr.Addr().Unmap().IsLoopback():
		return errors.New("mcpserver: ListenOptions.Addr must be a loopback IP address with a port, such as 127.0.0.1:0")
	case o.Relay != "" && !filepath.IsAbs(o.Relay):
		return errors.New("mcpserver: ListenOptions.Relay must be an absolute path")
	case o.MaxSessions < 0:
		return errors.New("mcpserver: ListenOptions.MaxSessions must not be negative")
	case o.MaxBody < 0 || o.MaxBody > 1<<30:
		return errors.New("mcpserver: ListenOptions.MaxBody must be between 0 and 1 GiB")
	case o.IdleTimeout < 0:
		return errors.New("mcpserver: ListenOptions.IdleTimeout must not be negative")
	}
	o.MaxSessions = cmp.Or(o.MaxSessions, 16)
	o.MaxBody = cmp.Or(o.MaxBody, 2<<20)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, time.Hour)
	o.headerTimeout = cmp.Or(o.headerTimeout, headerTimeout)
	return nil
}

// Close closes all entries, as by Entry.Close, and stops listening. It returns the joined errors of Entry.Close.
// Subsequent calls wait too.
func (l *Listener) Close() error {
	l.mu.Lock()
	l.closed = true
	relays := l.relays
	var all []func() error
	for _, e := range l.entries {
		all = append(all, e.Close)
	}
	l.mu.Unlock()
	if relays != nil {
		relays.close() // first, so that no file is left if the host exits before the entries are closed
	}
	err := closeAll(all)
	l.http.Close()
	l.busy.Wait()
	return err
}

// add makes the token of an entry valid.
func (l *Listener) add(token string, e *Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return net.ErrClosed
	}
	e.key = sha256.Sum256([]byte(token))
	l.entries[e.key] = e
	return nil
}

// find returns the entry of a token, or nil. Its time depends only on the hash of the given token, and so reveals
// nothing about the others.
func (l *Listener) find(token string) *Entry {
	key := sha256.Sum256([]byte(token))
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.entries[key]
}

// revoke makes the token of an entry invalid.
func (l *Listener) revoke(e *Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.entries, e.key)
}

// socket returns the socket for relays. It starts listening the first time.
func (l *Listener) socket() (*socket, error) {
	l.mu.Lock()
	s := l.relays
	l.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := newSocket()
	if err != nil {
		return nil, fmt.Errorf("listen for relays: %w", err)
	}
	used, err := l.use(s)
	if used != s {
		s.close()
	}
	return used, err
}

// use starts accepting relays on s, and returns it. If there is another socket already, use returns that one.
func (l *Listener) use(s *socket) (*socket, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, net.ErrClosed
	}
	if l.relays == nil {
		l.relays = s
		l.busy.Go(func() { l.acceptRelays(s) })
	}
	return l.relays, nil
}

// relay returns the path of the relay program.
func (l *Listener) relay() (string, error) {
	if l.options.Relay != "" {
		return l.options.Relay, nil
	}
	path, err := exec.LookPath("acpterm-mcp-relay")
	if err != nil {
		return "", fmt.Errorf("ListenOptions.Relay is not set: %w", err)
	}
	return filepath.Abs(path)
}

// slowListener closes connections whose client does not read.
type slowListener struct{ net.Listener }

func (l slowListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return slowConn{conn}, nil
}

// slowConn limits the time of each write, while responses may take any time.
type slowConn struct{ net.Conn }

func (c slowConn) Write(p []byte) (int, error) {
	c.SetWriteDeadline(time.Now().Add(writeTimeout))
	return c.Conn.Write(p)
}

// A socket accepts relays of this user only.
type socket struct {
	net.Listener
	path string // for relays
	dir  string // to be removed, or empty
}

func (s *socket) close() {
	s.Listener.Close()
	if s.dir != "" {
		os.RemoveAll(s.dir)
	}
}

// connKey is the context key of a request's net.Conn.
type connKey struct{}

// newHTTPServer returns the HTTP server. It has no WriteTimeout, which would end streams; see slowConn.
func (l *Listener) newHTTPServer() *http.Server {
	c := newConnections()
	return &http.Server{
		Handler:           l.handler(c),
		ReadHeaderTimeout: l.options.headerTimeout,
		ReadTimeout:       bodyTimeout,
		IdleTimeout:       keepTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(io.Discard, "", 0), // not the host's standard logger
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			c.add(conn)
			return context.WithValue(ctx, connKey{}, conn)
		},
		ConnState: func(conn net.Conn, state http.ConnState) {
			if state == http.StateClosed || state == http.StateHijacked {
				c.remove(conn)
			}
		},
	}
}

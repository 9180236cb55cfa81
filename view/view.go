// Package view serves a web page that shows an acpterm.Manager's terminals: running, past and denied commands, with
// live output.
//
//	v, err := view.New(m, nil)
//	server := v.Server()
//	go server.Serve(listener)
//	fmt.Println("Watch at", v.URL(listener.Addr()))
//	defer server.Close()
//	defer v.Close()
//
// # Access
//
// The URL's path has a random token, and every other path is forbidden. Requests from other machines are refused unless
// Options.AllowRemote is set. Requests for an unknown host name are refused, against DNS rebinding. The page is
// read-only unless Options.AllowStop lets it stop commands or Options.Input lets it type; it does so by requests that a
// page of another site cannot make. The token is in the path and not in a cookie, because browsers send a cookie to
// every port of a host: on localhost to the servers of other users. So a request that another site's page makes does
// not have it.
//
// The connection is not encrypted. For other machines serve the view with TLS, or forward a port.
//
// # Behind a proxy
//
// A proxy on this machine makes all requests come from this machine, so the proxy decides who may use the view. Name the
// host that browsers use in Options.Hosts, and have the proxy pass on the browser's Host header. Many proxies put their
// own there, nginx by default: the page then only reads, because the Host header does not name the page's origin, and
// says so when a user stops a command or types. Configure nginx so; the last three lines let WebSockets pass:
//
//	proxy_pass http://127.0.0.1:8080;
//	proxy_set_header Host $http_host; # $host has no port
//	proxy_http_version 1.1;
//	proxy_set_header Upgrade $http_upgrade;
//	proxy_set_header Connection "upgrade";
//
// If the proxy cannot pass on the Host header, name the pages' origins in Options.Origins.
//
// Middleware around the view must let an http.ResponseController flush: by http.Flusher, or by a method Unwrap. Without
// that streams are answered with 501, and the page says so.
//
// # In your own page
//
// A custom element shows one terminal. Any page from the same server can use it:
//
//	<script type="module" src="/<token>/assets/acp-terminal.js"></script>
//	<acp-terminal src="/<token>/terminals/<key>"></acp-terminal>
//
// View.ScriptPath and View.TerminalPath return these paths. The element works with a strict content security policy: it
// needs script-src, style-src and connect-src for its server, and nothing inline. The styles of the page do not reach into
// it. Its colours are the system's, or those of its attribute theme, "dark" or "light". A page may have elements of two
// views.
//
// Each visible terminal that runs, or that the agent owns and is not released, and each visible page with a list use one
// WebSocket; a hidden page uses one for its list, for the title and notifications, and none for terminals. Where a proxy
// passes no WebSockets, visible pages use requests in their place, of which a browser opens six over HTTP/1.1 for all its
// windows.
//
// # Several managers
//
// View.Add shows another manager's terminals in the same list, under a name: of a host with a manager for each agent.
// View.NameSession and Source.NameSession have the list show a name in place of a session's id.
//
// # Live output
//
// Browsers receive output as events with absolute offsets: while the command runs, at most 64 KiB twenty
// times a second, and four times a second if the command is faster. A browser that reconnects continues at its offset.
// One that is more than 1 MiB behind skips ahead and shows the number of missed bytes, and why. A page never blocks a
// command. A page that has received nothing for three Options.Heartbeat connects again.
//
// A page's memory does not grow with the output: its screen has the last 10,000 lines. Who scrolls or searches beyond
// them, or copies without a selection, has the page read all that is kept, and sees it in parts of about that size. The
// link Text is all that is kept, as the command wrote it, as plain text.
//
// Addresses in the output that begin with http:// or https:// can be clicked: the page shows the whole address and asks
// before it opens another window. Links that escape sequences make have no effect.
// Where the agent replaces the output of a terminal of its own, the page removes what it has and shows the new output.
//
// # Terminals with a PTY
//
// A terminal with a PTY has its own number of columns and rows on the page, and follows a Terminal.Resize. What the
// command writes moves the cursor, switches to the alternate screen and back, and so on, as in a terminal program. Of
// any terminal, titles, colours of the palette, links, the clipboard, mouse tracking, reports of the focus and requests
// for an answer have no effect: the page never answers a command by itself.
//
// With Options.Input a person can type while the terminal has the focus of the keyboard; what is typed and pasted
// reaches the command in that order. Control C copies if text is selected, and interrupts otherwise; Control V pastes,
// without control characters, and in brackets if the command has asked for that (mode 2004). Control Shift Enter stops
// typing, so that Tab leaves the terminal, and starts it again. Each request is one Terminal.Write, and so an
// acpterm.InputEvent, which has the number of bytes and not what was typed.
package view

// View: its options, handler and routes.

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/acpterm/acpterm"
)

// Options configure a View. A nil pointer means the zero value: all sessions, read-only, for this machine.
type Options struct {
	// Session is the only session whose terminals are shown. Empty: all sessions.
	Session acpterm.SessionID

	// AllowStop lets the page stop commands. False: it is read-only.
	AllowStop bool

	// Input lets the page type into terminals with a PTY. What one page sends arrives in order; what several pages send
	// to one terminal is written one request after the other, and never mixes within one. Terminals do not wait for each
	// other. At most 256 KiB wait for a command that does not read; the page tries again. False: it is read-only.
	Input bool

	// Token is the secret in the page's path: at least 16 letters, digits, '-' or '_'. New fails with any other.
	// Empty: a random one of 130 bits.
	Token string

	// AllowRemote answers requests from other machines, if the listener accepts them. False: only requests from
	// loopback addresses, and over sockets without addresses, are answered. The view does not encrypt the connection.
	AllowRemote bool

	// Hosts are additional host names, without a port, of the view: behind a proxy, or with AllowRemote. The loopback
	// names and the IP address of the connection are always valid.
	Hosts []string

	// Origins are additional origins of the view's pages, such as "https://view.example" or "http://localhost:8081". Pages
	// of these origins may stop commands and type. They are for a proxy that does not pass on the browser's Host header.
	// The default is none: pages have the origin that the Host header names.
	Origins []string

	// FrameAncestors are the origins, such as "https://editor.example", whose pages may show the view in a frame. Nil:
	// none.
	FrameAncestors []string

	// MaxPast is the number of ended and denied commands that are shown; the oldest are removed. 0: 100.
	MaxPast int

	// MaxPastBytes limits the bytes of output and requests that are kept for past commands; the oldest are removed,
	// except the last one. 0: 64 MiB.
	MaxPastBytes int64

	// Heartbeat is the time without a message after which a stream sends an empty one. A page that has received nothing
	// for three of them connects again: the connection is dead, although no end of it came. 0: 5 seconds. A proxy that
	// ends idle connections sooner needs less.
	Heartbeat time.Duration

	// MaxStreams is the number of concurrent event streams: one for each page, and one for each terminal that is shown.
	// Further ones are answered with 503, and the page retries. 0: 100.
	MaxStreams int
}

// View is an http.Handler that shows a manager's terminals. New makes one; Close ends it.
//
// All methods may be called concurrently.
type View struct {
	options Options
	origins []string // Options.Origins, as parseOrigin returns them
	table   *table
	mux     *http.ServeMux
	streams chan struct{} // semaphore of MaxStreams
	ctx     context.Context
	cancel  context.CancelFunc
	first   *Source
	typed   inputs
	assets  sync.Map // asset by file

	mu      sync.Mutex
	closed  bool
	sources []*Source
	added   int            // number of sources ever
	busy    sync.WaitGroup // requests and kills; see begin
}

// New returns a view of a manager: of its terminals now, and of later events. View.Add adds others. It is mounted at the root of a
// server, or below with http.StripPrefix. Close it before the server's Shutdown, which otherwise waits for the pages.
//
// View.Server makes a server for it that limits connections. Any other server needs limits of its own:
// ReadHeaderTimeout, ReadTimeout, WriteTimeout and IdleTimeout, which do not end the view's streams, and a limit of its
// connections, which would otherwise use the descriptors that commands need.
//
// It fails when the options cannot hold; the error names the field.
func New(m *acpterm.Manager, options *Options) (*View, error) {
	v := new(View)
	if options != nil {
		v.options = *options
	}
	v.options.Token = cmp.Or(v.options.Token, rand.Text())
	if !goodToken(v.options.Token) {
		return nil, errors.New("view: Options.Token must have at least 16 letters, digits, '-' or '_'")
	}
	for _, text := range v.options.Origins {
		origin, ok := parseOrigin(text)
		if !ok {
			return nil, errors.New(`view: Options.Origins must have origins, such as "https://view.example", without a path`)
		}
		v.origins = append(v.origins, origin)
	}
	for _, number := range []struct {
		option string
		value  int64
	}{
		{"Heartbeat", int64(v.options.Heartbeat)}, {"MaxPast", int64(v.options.MaxPast)},
		{"MaxPastBytes", v.options.MaxPastBytes}, {"MaxStreams", int64(v.options.MaxStreams)},
	} {
		if number.value < 0 {
			return nil, fmt.Errorf("view: Options.%s must not be negative", number.option)
		}
	}
	v.options.MaxPast = cmp.Or(v.options.MaxPast, 100)
	v.options.MaxPastBytes = cmp.Or(v.options.MaxPastBytes, 64<<20)
	v.options.Heartbeat = cmp.Or(v.options.Heartbeat, 5*time.Second)
	v.streams = make(chan struct{}, cmp.Or(v.options.MaxStreams, 100))
	v.ctx, v.cancel = context.WithCancel(context.Background())
	v.table = newTable(v.options)
	v.mux = v.routes()
	v.first = v.Add(m, "")
	return v, nil
}

// Close ends the connections of all pages, waits for pending requests and drops the past terminals. Later requests are
// answered with 503. Commands are not affected. What was typed and waits for a command to read is dropped, but for at
// most one request of each terminal, whose write ends when the command reads it or exits; Close does not wait for that.
// A second call does nothing.
func (v *View) Close() error {
	v.mu.Lock()
	v.closed = true
	v.mu.Unlock()
	v.cancel()
	v.typed.close()
	v.busy.Wait() // then no source is added any more
	v.mu.Lock()
	sources := v.sources
	v.sources = nil
	v.mu.Unlock()
	for _, s := range sources {
		s.stop()
	}
	v.table.clear()
	return nil
}

// Path is the page's path, "/<token>/". It is secret.
func (v *View) Path() string { return "/" + v.options.Token + "/" }

// ScriptPath is the path of the module that defines the custom element <acp-terminal>.
func (v *View) ScriptPath() string { return v.Path() + "assets/acp-terminal.js" }

// TerminalPath is the attribute src of an <acp-terminal> that shows a session's terminal of the manager that the view was
// made with, relative to the root of the handler. It is also the path of a page with that terminal alone.
func (v *View) TerminalPath(session acpterm.SessionID, id acpterm.TerminalID) string {
	return v.Path() + "terminals/" + keyOf(0, session, id)
}

// URL returns the page's URL on a listener without TLS. For a listener on all addresses it has the loopback address.
func (v *View) URL(addr net.Addr) string {
	host := addr.String()
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		host = (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: tcp.Port}).String()
	}
	return "http://" + host + v.Path()
}

// routes returns the handlers of the paths below the token.
func (v *View) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", v.page("index.html"))
	mux.HandleFunc("GET /terminals/{key}", v.page("terminal.html"))
	mux.HandleFunc("GET /assets/{file...}", v.serveAsset)
	mux.HandleFunc("GET /events", v.serveEvents)
	mux.HandleFunc("GET /terminals/{key}/output", v.serveOutput)
	mux.HandleFunc("GET /terminals/{key}/text", v.serveText)
	mux.HandleFunc("POST /terminals/{key}/stop", v.serveStop)
	mux.HandleFunc("POST /terminals/{key}/input", v.serveInput)
	return mux
}

// ServeHTTP answers a request that has the token.
func (v *View) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.setHeaders(w.Header())
	if !v.begin() {
		http.Error(w, "the view is closed", http.StatusServiceUnavailable)
		return
	}
	defer v.busy.Done()
	path, refusal := v.admit(r)
	switch {
	case refusal != "":
		w.Header().Set("Connection", "close")
		http.Error(w, refusal, http.StatusForbidden)
		return
	case !admitConnection(r):
		w.Header().Set("Connection", "close")
		w.Header().Set("Retry-After", "2")
		http.Error(w, "too many connections are open", http.StatusServiceUnavailable)
		return
	case path == "": // the token without a slash: a relative redirect, which works below StripPrefix
		w.Header().Set("Location", v.options.Token+"/")
		w.WriteHeader(http.StatusMovedPermanently)
		return
	}
	inner := r.Clone(r.Context())
	inner.URL.Path, inner.URL.RawPath = path, ""
	v.mux.ServeHTTP(w, inner)
}

// find returns the entry of a request's command, nil if it is not shown, and its terminal. It adds a terminal whose
// start event has not arrived.
func (v *View) find(r *http.Request) (e *entry, terminal *acpterm.Terminal) {
	key := r.PathValue("key")
	if e, terminal = v.table.find(key); e != nil {
		return e, terminal
	}
	v.mu.Lock()
	sources := slices.Clone(v.sources)
	v.mu.Unlock()
	for _, s := range sources {
		for _, terminal := range s.manager.Terminals() {
			if keyOf(s.number, terminal.SessionID(), terminal.ID()) == key {
				v.table.addTerminal(s, terminal)
			}
		}
	}
	return v.table.find(key)
}

// begin adds to busy, for which Close waits; it reports false after Close.
func (v *View) begin() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
		v.busy.Add(1)
	}
	return !v.closed
}

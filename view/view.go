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
// The URL's path contains a random token; every other path is forbidden. Requests from other machines are refused
// unless Options.AllowRemote is set. Requests for an unknown host name are refused, to prevent DNS rebinding. The page
// is read-only unless Options.AllowStop lets it stop commands or Options.Input lets it type; it does both with requests
// that a page of another site cannot make. The token is in the path and not in a cookie, because browsers send a cookie
// to every port of a host, so on localhost also to the servers of other users. A request made by another site's page
// does not contain the token.
//
// The connection is not encrypted. To serve other machines, use TLS or forward a port.
//
// # Behind a proxy
//
// Behind a proxy on this machine, all requests come from this machine, so the proxy decides who may use the view. Name
// the host that browsers use in Options.Hosts, and configure the proxy to pass on the browser's Host header. Many
// proxies, such as nginx by default, replace it with their own. The page is then read-only, because the Host header
// does not name the page's origin, and it says so when a user stops a command or types. Configure nginx as follows; the
// last three lines let WebSockets pass:
//
//	proxy_pass http://127.0.0.1:8080;
//	proxy_set_header Host $http_host; # $host has no port
//	proxy_http_version 1.1;
//	proxy_set_header Upgrade $http_upgrade;
//	proxy_set_header Connection "upgrade";
//
// If the proxy cannot pass on the Host header, name the pages' origins in Options.Origins.
//
// Middleware around the view must let an http.ResponseController flush, either with http.Flusher or with an Unwrap
// method. Otherwise streams are answered with 501, and the page says so.
//
// # In your own page
//
// A custom element shows one terminal. Any page from the same server can use it:
//
//	<script type="module" src="/<token>/assets/acp-terminal.js"></script>
//	<acp-terminal src="/<token>/terminals/<key>"></acp-terminal>
//
// View.ScriptPath and View.TerminalPath return these paths. The element works with a strict content security policy: it
// needs script-src, style-src and connect-src for its server, and nothing inline. The page's styles do not affect it.
// Its colours follow the system, or its theme attribute, "dark" or "light". A page may contain elements of two views.
//
// A visible page with a list uses one WebSocket. Each visible terminal uses one too, while its command runs or, if the agent
// owns it, until its release. A hidden page uses one for its list, for the title and notifications, and none for
// terminals. If a proxy does not pass WebSockets, visible pages use requests instead. Over HTTP/1.1 a browser opens six
// of those for all its windows.
//
// # Several managers
//
// View.Add shows another manager's terminals in the same list, under a name, for a host with one manager per agent.
// View.NameSession and Source.NameSession set a name that the list shows instead of a session's id.
//
// # Live output
//
// Browsers receive output as events with absolute offsets. While the command runs, they receive at most 64 KiB twenty
// times a second, or four times a second if the command is faster. A browser that reconnects continues at its offset.
// If it is more than 1 MiB behind, it skips ahead and shows the number of missed bytes, and why. A page never blocks a
// command. A page that receives nothing for three Options.Heartbeat reconnects.
//
// A page's memory does not grow with the output: its screen holds the last 10,000 lines. If the user scrolls or
// searches beyond them, or copies without a selection, the page reads all retained output and shows it in parts of
// about that size. The link Text opens all retained output as plain text, as the command wrote it.
//
// Addresses in the output that begin with http:// or https:// can be clicked: the page shows the whole address and asks
// before it opens another window. Links made by escape sequences have no effect. If the agent replaces the output of
// one of its own terminals, the page removes the old output and shows the new.
//
// # Terminals with a PTY
//
// A terminal with a PTY has its own number of columns and rows on the page, and follows Terminal.Resize. Its output
// moves the cursor, switches to the alternate screen and back, and so on, as in a terminal program. In every terminal,
// titles, palette colours, links, the clipboard, mouse tracking, focus reports and requests for an answer have no
// effect: the page never answers a command by itself.
//
// With Options.Input, the user can type while the terminal has the keyboard focus. Typed and pasted text reaches the
// command in order. Control C copies if text is selected, and interrupts otherwise. Control V pastes without control
// characters, and in brackets if the command asked for them (mode 2004). Control Shift Enter stops typing, so that Tab
// leaves the terminal, and starts it again. Each request is one Terminal.Write, and therefore one acpterm.InputEvent,
// which contains the number of bytes but not the text.
package view

// View with its options, handler and routes.

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
	// Session is the only session whose terminals are shown. If empty, all sessions are shown.
	Session acpterm.SessionID

	// AllowStop lets the page stop commands.
	AllowStop bool

	// Input lets the page type into terminals with a PTY. The input of one page arrives in order. If several pages type
	// into one terminal, their requests are written one after the other and never mix. Terminals do not wait for each
	// other. At most 256 KiB wait for a command that does not read its input; the page tries again.
	Input bool

	// Token is the secret in the page's path: at least 16 letters, digits, '-' or '_'. New fails with any other. If
	// empty, New generates a random token of 130 bits.
	Token string

	// AllowRemote answers requests from other machines, if the listener accepts them. By default, only requests from
	// loopback addresses, and over sockets without addresses, are answered. The view does not encrypt the connection.
	AllowRemote bool

	// Hosts lists additional host names of the view, without a port, for use behind a proxy or with AllowRemote. The
	// loopback names and the IP address of the connection are always valid.
	Hosts []string

	// Origins lists additional origins of the view's pages, such as "https://view.example" or "http://localhost:8081".
	// Pages of these origins may stop commands and type. Set them if a proxy does not pass on the browser's Host
	// header. By default, pages must have the origin that the Host header names.
	Origins []string

	// FrameAncestors lists the origins, such as "https://editor.example", whose pages may show the view in a frame. The
	// default is none.
	FrameAncestors []string

	// MaxPast is the maximum number of ended and denied commands to show; the oldest are removed. The default is 100.
	MaxPast int

	// MaxPastBytes limits the retained bytes of output and requests of past commands. The oldest commands are removed,
	// except the last one. The default is 64 MiB.
	MaxPastBytes int64

	// Heartbeat is the maximum time between two messages of a stream; after it, the stream sends an empty one. A page
	// that receives nothing for three of them reconnects: the connection is dead although it was never closed. The
	// default is 5 seconds. A proxy that closes idle connections sooner needs a shorter one.
	Heartbeat time.Duration

	// MaxStreams is the maximum number of concurrent event streams: one for each page and one for each shown terminal.
	// Further streams are answered with 503, and the page retries. The default is 100.
	MaxStreams int
}

// View is an http.Handler that shows a manager's terminals. New creates a View and Close closes it.
//
// All methods are safe for concurrent use.
type View struct {
	options Options
	origins []string // Options.Origins, normalized by parseOrigin
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
	added   int            // number of sources ever added
	busy    sync.WaitGroup // requests and kills; see begin
}

// New returns a view of a manager's existing and later terminals. View.Add adds other managers. Mount it at the root of
// a server, or below with http.StripPrefix. Close it before the server's Shutdown, which otherwise waits for the pages.
//
// View.Server returns a server that limits connections. Any other server needs its own limits: ReadHeaderTimeout,
// ReadTimeout, WriteTimeout and IdleTimeout, which do not end the view's streams, and a limit on its connections, which
// could otherwise use up the file descriptors that commands need.
//
// New fails if an option is invalid; the error names the field.
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

// Close closes the connections of all pages, waits for pending requests and drops the past terminals. Later requests
// are answered with 503. Commands are not affected. Input that waits for a command to read it is dropped, except for at
// most one request per terminal. Its write ends when the command reads it or exits, and Close does not wait for that. A
// second call does nothing.
func (v *View) Close() error {
	v.mu.Lock()
	v.closed = true
	v.mu.Unlock()
	v.cancel()
	v.typed.close()
	v.busy.Wait() // then no more sources are added
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

// Path returns the page's path, "/<token>/". It is secret.
func (v *View) Path() string { return "/" + v.options.Token + "/" }

// ScriptPath returns the path of the module that defines the custom element <acp-terminal>.
func (v *View) ScriptPath() string { return v.Path() + "assets/acp-terminal.js" }

// TerminalPath returns the src attribute of an <acp-terminal> that shows a terminal of the manager passed to New. It is
// relative to the root of the handler. It is also the path of a page with only that terminal.
func (v *View) TerminalPath(session acpterm.SessionID, id acpterm.TerminalID) string {
	return v.Path() + "terminals/" + keyOf(0, session, id)
}

// URL returns the page's URL on a listener without TLS. For a listener on all addresses it uses the loopback address.
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

// ServeHTTP answers a request whose path contains the token, and refuses all others.
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
	case path == "": // token without a slash: a relative redirect works below StripPrefix
		w.Header().Set("Location", v.options.Token+"/")
		w.WriteHeader(http.StatusMovedPermanently)
		return
	}
	inner := r.Clone(r.Context())
	inner.URL.Path, inner.URL.RawPath = path, ""
	v.mux.ServeHTTP(w, inner)
}

// find returns the entry of a request's command, or nil if it is not shown, and its terminal. It adds a terminal whose
// start event has not arrived yet.
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

// begin adds to busy, which Close waits for. It reports false after Close.
func (v *View) begin() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
		v.busy.Add(1)
	}
	return !v.closed
}

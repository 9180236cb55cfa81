// Package view serves a web page showing an acpterm.Manager's terminals: the running, past and denied commands, with
// their live output.
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
// The URL's path contains a random token, and requests for any other path are forbidden. Requests from other machines
// are refused unless Options.AllowRemote is set, and requests for unknown host names are refused to prevent DNS
// rebinding. The page is read-only unless Options.AllowStop lets it stop commands or Options.Input lets it type. Pages
// of other sites cannot make the requests needed for this. The token is part of the path rather than a cookie, because
// browsers send a host's cookies to all its ports, which on localhost includes other users' servers. Requests made by
// another site's page do not contain the token.
//
// Connections are not encrypted. To serve other machines, use TLS or forward a port.
//
// # Behind a proxy
//
// All requests through a proxy on this machine appear to come from this machine, so the proxy decides who may use the
// view. List the host name used by browsers in Options.Hosts, and configure the proxy to pass on the browser's Host
// header. Many proxies, including nginx by default, replace the header, so that it no longer matches the page's origin.
// The page is then read-only, and says so when a user tries to stop a command or to type. For nginx, use the following
// configuration. Its last three lines are needed for WebSockets:
//
//	proxy_pass http://127.0.0.1:8080;
//	proxy_set_header Host $http_host; # $host has no port
//	proxy_http_version 1.1;
//	proxy_set_header Upgrade $http_upgrade;
//	proxy_set_header Connection "upgrade";
//
// If the proxy cannot pass on the Host header, list the origins of its pages in Options.Origins.
//
// Middleware wrapping the view must let an http.ResponseController flush, either by implementing http.Flusher or with
// an Unwrap method. Otherwise, streams are answered with 501, and the page says so.
//
// # In your own page
//
// Any page from the same server can embed a single terminal as a custom element:
//
//	<script type="module" src="/<token>/assets/acp-terminal.js"></script>
//	<acp-terminal src="/<token>/terminals/<key>"></acp-terminal>
//
// View.ScriptPath and View.TerminalPath return these paths. The element works with a strict content security policy: it
// needs script-src, style-src and connect-src for its server, and nothing inline. The page's styles do not affect it.
// Its colours follow the system or its theme attribute, "dark" or "light". A page can mix elements of several views.
//
// A page with a list uses a WebSocket, even while hidden, to update its title and notify the user. Each visible
// terminal uses another, until its command has exited or, if the agent owns the terminal, until it is released. Where a
// proxy does not pass WebSockets, visible pages fall back to requests. Over HTTP/1.1, a browser opens only six of those
// across all of its windows.
//
// # Several managers
//
// A host with one manager per agent can call View.Add to show another manager's terminals in the same list, under a
// name. Use View.NameSession and Source.NameSession to set the name shown in the list instead of a session's id.
//
// # Live output
//
// Output is sent to browsers as events with absolute offsets. While a command is running, up to 64 KiB are sent twenty
// times a second, or four times a second if it writes faster. After reconnecting, a browser continues at its offset,
// unless it is more than 1 MiB behind, in which case it skips ahead and shows how many bytes were missed, and why. A
// page never blocks a command. A page that receives nothing for three times Options.Heartbeat reconnects.
//
// A page's memory use does not grow with the output, because its screen holds only the last 10,000 lines. If the user
// scrolls or searches beyond them, or copies without a selection, the page fetches all retained output and shows it in
// parts of about that size. The Text link opens all retained output as plain text, exactly as the command wrote it.
//
// Addresses in the output starting with http:// or https:// are clickable. The page then shows the full address and
// asks before opening another window. Links made by escape sequences are ignored. If the agent replaces the output of a
// terminal it owns, the page replaces it too.
//
// # Terminals with a PTY
//
// A terminal with a PTY is shown with its own number of columns and rows, which follow calls to Terminal.Resize. Its
// output can move the cursor, switch to the alternate screen and back, and so on, as in any terminal emulator. In all
// terminals, titles, palette colours, links, the clipboard, mouse tracking, focus reports and requests for an answer
// have no effect, which means that the page never answers a command by itself.
//
// If Options.Input is set, the user can type while the terminal has the keyboard focus. Typed and pasted text reaches
// the command in order. Control C copies the selected text, or interrupts the command if none is selected. Control V
// pastes text without control characters, bracketed if the command has requested it (mode 2004). Control Shift Enter
// turns typing off, so that Tab leaves the terminal, and on again. Each request results in a single Terminal.Write, and
// therefore in a single acpterm.InputEvent, which contains the number of bytes but not the text.
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

// Options configures a View. If nil or zero, the View shows all sessions, but is read-only and only accessible locally.
type Options struct {
	// Session, if non-empty, restricts the view to the terminals of this session.
	Session acpterm.SessionID

	// AllowStop lets the page stop commands.
	AllowStop bool

	// Input allows users to type into terminals with a PTY. Input from a page arrives in order. If several pages type
	// into the same terminal, their requests are written one after another and never mixed. Terminals do not wait for
	// each other. If a command does not read its input, up to 256 KiB are queued before pages must retry.
	Input bool

	// Token is the secret part of the page's path. It must consist of at least 16 letters, digits, '-' and '_', or else
	// New returns an error. If empty, a random token of 130 bits is generated.
	Token string

	// AllowRemote permits requests from other machines, as long as the listener accepts them. By default, requests must
	// come from a loopback address or a socket without an address. Note that connections are not encrypted.
	AllowRemote bool

	// Hosts lists additional host names of the view, without a port. Loopback names and the IP address of the
	// connection are always accepted. Hosts is required behind a proxy, and usually with AllowRemote.
	Hosts []string

	// Origins lists additional origins whose pages may stop commands and type, such as "https://view.example" or
	// "http://localhost:8081". By default, the origin must match the Host header, so Origins is needed if a proxy does
	// not pass on the Host header sent by the browser.
	Origins []string

	// FrameAncestors lists the origins whose pages may embed the view in a frame, such as "https://editor.example". By
	// default, embedding is not allowed.
	FrameAncestors []string

	// MaxPast is the maximum number of ended and denied commands to display. The default is 100.
	MaxPast int

	// MaxPastBytes is the maximum number of bytes used by past commands, including their output and requests. Beyond
	// that, the oldest commands are removed, but the most recent one is always kept. The default is 64 MiB.
	MaxPastBytes int64

	// Heartbeat is how long a stream may be idle before an empty message is sent on it. A page that receives nothing
	// for three intervals assumes that the connection is dead, and reconnects. The default is 5 seconds. Use a shorter
	// interval behind a proxy that closes idle connections earlier.
	Heartbeat time.Duration

	// MaxStreams is the maximum number of concurrent event streams. Each page and each visible terminal uses one. Any
	// further request gets a 503 response, which causes the page to retry. The default is 100.
	MaxStreams int
}

// A View is an http.Handler that displays the terminals of one or more managers. Callers should call Close when done.
//
// It is safe for concurrent use by multiple goroutines.
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

// New returns a View of a manager's existing and future terminals. Use View.Add to add others. Mount it at the root of
// a server, or below with http.StripPrefix. Close it before the server's Shutdown, which otherwise waits for the pages.
//
// View.Server returns a server with limits on its connections. If you use another server, set its ReadHeaderTimeout,
// ReadTimeout, WriteTimeout and IdleTimeout, which do not end the view's streams. Also limit its connections, because
// they could otherwise use up the file descriptors that commands need.
//
// If an option is invalid, New returns an error naming it.
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

// Close disconnects all pages, waits for pending requests, and discards past terminals. Subsequent requests get a 503
// response. Commands are not affected. Input that a command has not read yet is discarded, except for up to one request
// per terminal, which is written when the command reads it or dropped when the command exits. Close does not wait for
// that. Subsequent calls are no-ops.
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

// Path returns the URL path of the page, "/<token>/". Keep it secret.
func (v *View) Path() string { return "/" + v.options.Token + "/" }

// ScriptPath returns the path of the JavaScript module defining the custom element <acp-terminal>.
func (v *View) ScriptPath() string { return v.Path() + "assets/acp-terminal.js" }

// TerminalPath returns the src attribute for an <acp-terminal> element that shows a terminal of the manager passed to
// New. The path is relative to the root of the handler, and can also be opened directly in a browser.
func (v *View) TerminalPath(session acpterm.SessionID, id acpterm.TerminalID) string {
	return v.Path() + "terminals/" + keyOf(0, session, id)
}

// URL returns the http URL of the page, given the address of a listener. Unspecified addresses become loopback.
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

// ServeHTTP implements http.Handler. Requests without the token in their path are refused.
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

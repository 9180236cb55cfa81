// Package view serves a web page that shows the terminals of an acpterm.Manager, with running, past and denied commands
// and their live output.
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
// are refused unless Options.AllowRemote is set. To prevent DNS rebinding, requests for unknown host names are refused
// too. The page is read-only, unless Options.AllowStop lets it stop commands or Options.Input lets it type. Pages of
// other sites cannot make the requests it uses for this. The token is part of the path instead of a cookie, because
// browsers send a host's cookies to all its ports, which on localhost includes servers of other users. Requests made by
// another site's page do not contain the token.
//
// The connection is not encrypted. To serve other machines, use TLS or forward a port.
//
// # Behind a proxy
//
// If the view is behind a proxy on this machine, all requests come from this machine, so the proxy decides who may use
// the view. List the host name used by browsers in Options.Hosts, and configure the proxy to pass on the browser's Host
// header. Many proxies, such as nginx by default, replace it with their own. In that case the Host header does not
// match the page's origin, so the page is read-only, and says so when a user stops a command or types. For nginx, use
// the following. The last three lines are needed for WebSockets:
//
//	proxy_pass http://127.0.0.1:8080;
//	proxy_set_header Host $http_host; # $host has no port
//	proxy_http_version 1.1;
//	proxy_set_header Upgrade $http_upgrade;
//	proxy_set_header Connection "upgrade";
//
// If the proxy cannot pass on the Host header, list the pages' origins in Options.Origins.
//
// Middleware around the view must let an http.ResponseController flush, either by implementing http.Flusher or with an
// Unwrap method. Otherwise streams are answered with 501, and the page says so.
//
// # In your own page
//
// A custom element shows a single terminal. It can be used by any page from the same server:
//
//	<script type="module" src="/<token>/assets/acp-terminal.js"></script>
//	<acp-terminal src="/<token>/terminals/<key>"></acp-terminal>
//
// View.ScriptPath and View.TerminalPath return these paths. The element works with a strict content security policy. It
// needs script-src, style-src and connect-src for its server, and nothing inline. The page's styles do not affect it.
// Its colours follow the system or its theme attribute, "dark" or "light". Elements of two views may share a page.
//
// A visible page with a list uses a WebSocket, as does each visible terminal while its command is running or, if the
// agent owns it, until it is released. A hidden page uses one for its list, to update the title and notify the user,
// but none for terminals. If a proxy does not pass WebSockets, visible pages use requests instead. Over HTTP/1.1, a
// browser opens only six of those for all its windows.
//
// # Several managers
//
// A host with one manager per agent can use View.Add to show the terminals of another manager in the same list, under a
// name. View.NameSession and Source.NameSession set the name shown in the list instead of a session's id.
//
// # Live output
//
// Output is sent to browsers as events with absolute offsets. While a command is running, at most 64 KiB are sent
// twenty times a second, or four times a second if it is faster. After reconnecting, a browser continues at its offset,
// unless it is more than 1 MiB behind. Then it skips ahead and shows how many bytes were missed, and why. A page never
// blocks a command. If a page receives nothing for three times Options.Heartbeat, it reconnects.
//
// A page's memory use does not grow with the output, because its screen holds only the last 10,000 lines. If the user
// scrolls or searches beyond them, or copies without a selection, the page reads all retained output and shows it in
// parts of about that size. The link Text opens all retained output as plain text, as written by the command.
//
// Addresses in the output starting with http:// or https:// can be clicked. The page then shows the whole address and
// asks before opening another window. Links made by escape sequences have no effect. If the agent replaces the output
// of a terminal it owns, the page replaces it too.
//
// # Terminals with a PTY
//
// A terminal with a PTY has its own number of columns and rows on the page, updated by Terminal.Resize. Its output can
// move the cursor, switch to the alternate screen and back, and so on, as in a terminal program. In all terminals,
// titles, palette colours, links, the clipboard, mouse tracking, focus reports and requests for an answer have no
// effect, so the page never answers a command by itself.
//
// If Options.Input is set, the user can type while the terminal has the keyboard focus. Typed and pasted text reaches
// the command in order. Control C copies if text is selected, and interrupts otherwise. Control V pastes without
// control characters, and in brackets if requested by the command (mode 2004). Control Shift Enter turns typing off, so
// that Tab leaves the terminal, and on again. Each request results in a single Terminal.Write, and so in a single
// acpterm.InputEvent, which contains the number of bytes but not the text.
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

// Options configure a View. The defaults, also used for a nil pointer, are all sessions, read-only, for this machine.
type Options struct {
	// Session, if non-empty, is the only session whose terminals are shown. Otherwise all sessions are shown.
	Session acpterm.SessionID

	// AllowStop allows the page to stop commands.
	AllowStop bool

	// Input allows the page to type into terminals with a PTY. Input from a page arrives in order. If several pages
	// type into the same terminal, their requests are written one after the other and never mixed. Terminals do not
	// wait for each other. If a command does not read its input, up to 256 KiB are queued, and the page retries.
	Input bool

	// Token is the secret part of the page's path. It must consist of at least 16 letters, digits, '-' or '_';
	// otherwise New returns an error. If empty, New generates a random token of 130 bits.
	Token string

	// AllowRemote allows requests from other machines, if the listener accepts them. By default, only requests from
	// loopback addresses, or over sockets without addresses, are answered. The connection is not encrypted.
	AllowRemote bool

	// Hosts lists additional host names of the view, without a port, for use behind a proxy or with AllowRemote. The
	// loopback names and the connection's IP address are always valid.
	Hosts []string

	// Origins lists additional origins, such as "https://view.example" or "http://localhost:8081", whose pages may stop
	// commands and type. It is needed if a proxy does not pass on the browser's Host header. By default, a page's
	// origin must match the Host header.
	Origins []string

	// FrameAncestors lists the origins, such as "https://editor.example", whose pages may show the view in a frame. By
	// default, no page may.
	FrameAncestors []string

	// MaxPast is the maximum number of ended and denied commands shown, the oldest being removed. The default is 100.
	MaxPast int

	// MaxPastBytes is the maximum number of bytes retained for past commands, counting output and requests. The oldest
	// commands are removed first, but the last one is always kept. The default is 64 MiB.
	MaxPastBytes int64

	// Heartbeat is the maximum time between two messages of a stream. If there is nothing to send, it sends an empty
	// one. A page receiving nothing for three times as long reconnects, because the connection must be dead even if
	// never closed. The default is 5 seconds. Use a shorter time if a proxy closes idle connections sooner.
	Heartbeat time.Duration

	// MaxStreams is the maximum number of concurrent event streams. There is one for each page and one for each visible
	// terminal. Further streams are answered with 503, and the page retries. The default is 100.
	MaxStreams int
}

// View is an http.Handler that shows the terminals of its managers. Use New to create one, and Close to close it.
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

// New returns a view of a manager's existing and later terminals. Use View.Add to add others. Mount it at the root of a
// server, or below with http.StripPrefix. Close it before the server's Shutdown, which would wait for the pages.
//
// View.Server returns a server with limits on its connections. Any other server needs its own: ReadHeaderTimeout,
// ReadTimeout, WriteTimeout and IdleTimeout, which do not end the view's streams, and a limit on its connections, which
// could otherwise use up the file descriptors needed by commands.
//
// If an option is invalid, New returns an error naming the field.
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

// Close closes the connections of all pages, waits for pending requests and discards past terminals. Subsequent
// requests are answered with 503. Commands are not affected. Input waiting for a command to read it is discarded,
// except for at most one request per terminal, which is written when the command reads it or dropped when it exits.
// Close does not wait for that. Calling Close again has no effect.
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

// Path returns the page's path, "/<token>/", which should be kept secret.
func (v *View) Path() string { return "/" + v.options.Token + "/" }

// ScriptPath returns the path of the module defining the custom element <acp-terminal>.
func (v *View) ScriptPath() string { return v.Path() + "assets/acp-terminal.js" }

// TerminalPath returns the src attribute of an <acp-terminal> for a terminal of the manager passed to New. It is
// relative to the root of the handler. A page showing only that terminal is served at the same path.
func (v *View) TerminalPath(session acpterm.SessionID, id acpterm.TerminalID) string {
	return v.Path() + "terminals/" + keyOf(0, session, id)
}

// URL returns the page's URL on a listener without TLS. If it listens on all addresses, the loopback address is used.
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

// ServeHTTP answers requests whose path contains the token, and refuses all others.
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

// Package view serves a web page that shows the terminals of an acpterm.Manager: the running, past and denied commands,
// with their live output.
//
//	v, err := view.New(m, nil)
//	server := v.Server()
//	go server.Serve(listener)
//	fmt.Println("Watch at", v.URL(listener.Addr()))
//	defer server.Close()
//	defer v.Close()
//
// View.Add shows the terminals of another manager in the same list. View.NameSession gives a session a name.
// View.ScriptPath shows how to embed a single terminal in a page of your own.
//
// # Access
//
// The path of the URL contains a random token, and requests for any other path are forbidden. So are requests from
// other machines, unless Options.AllowRemote is set, and requests for unknown host names, to prevent DNS rebinding. By
// default, the page is read-only. Options.AllowStop lets it stop commands, and Options.Input lets users type. Pages
// from other sites cannot do either.
//
// The token is not in a cookie, because browsers send a host's cookies to all ports of that host, on localhost even to
// servers of other users, and along with requests made by pages from other sites.
//
// Connections are not encrypted. To serve other machines, use TLS, forward a port, or see Options.Hosts for a proxy.
//
// # Output
//
// A page never blocks a command. A page that is more than 1 MiB behind skips ahead, and says how many bytes it has
// missed, and why. After a lost connection, it resumes at the offset that it had reached. Its memory does not grow with
// the output: the screen holds the last 10,000 lines, and shows the rest of the retained output in parts when the user
// scrolls, searches or copies.
//
// The page never answers a command on its own. It ignores escape sequences for titles, palette colours, links, the
// clipboard, mouse tracking, focus reports and requests for an answer. It asks before it opens an address in the output.
//
// Lines have numbers, links and times, unless the terminal has a PTY. Numbers begin at the first retained line. Times
// are exact to a quarter of a second for the first quarter of an hour of a command; one after ≤ is the latest possible.
// Groups of GitHub ("::group::") and GitLab ("section_start:"), tests of Go, pytest, Jest and cargo, and the commands of
// a shell with marked prompts (OSC 133), also on a PTY, fold below headings. Errors and warnings have colours. The
// header counts the lines that report an error, a list leads to each of them, and F8 to the next. Long lines wrap at
// words.
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
	"github.com/acpterm/acpterm/archive"
)

// Options configures a View. If Options is nil or zero, the View shows all sessions, but it is read-only and can only
// be accessed locally.
type Options struct {
	// Session, if non-empty, restricts the view to the terminals of this session.
	Session acpterm.SessionID

	// AllowStop allows the page to stop commands, and to move them to the background (Terminal.MoveToBackground).
	AllowStop bool

	// Input allows users to type into terminals with a PTY, and to resize them. Input from a single page is written in
	// the order it was sent. If several pages are typing into the same terminal, their requests are written one at a
	// time and are never interleaved. Input to one terminal never waits for input to another. If a command is not
	// reading its input, up to 256 KiB will be queued. After that, pages must retry.
	//
	// The user types while the terminal has the keyboard focus; Control Shift Enter turns typing off and on again.
	// Control C interrupts the command, but copies if text is selected. Control V pastes text without control
	// characters, and brackets it if the command has requested that (mode 2004). Each request results in a single
	// Terminal.Write and acpterm.InputEvent, which contains the number of bytes but not the text.
	//
	// A PTY is shown with its own number of columns and rows. When a user clicks on it or types, the page resizes it to
	// fill the pane, until another page does.
	Input bool

	// Editor opens files that the output names with a line, such as "cart.go:7:2: undefined: x": with an address that the
	// browser opens, such as "vscode://file{file}:{line}:{column}", or with a command on this machine, such as
	// "code -g {file}:{line}", which is split at spaces and runs without a shell. {file} is the absolute path. A name
	// without one is resolved from the command's directory. Any page with the token can then run this command for existing
	// files. If Editor is empty, names are text. New returns an error if it has no {file}.
	Editor string

	// Token is the secret part of the page's path. It must consist of at least 16 letters, digits, '-' and '_';
	// otherwise, New returns an error. If Token is empty, a random token of 130 bits is generated.
	Token string

	// AllowRemote permits requests from other machines, provided that the listener accepts them. By default, requests
	// must come from a loopback address or from a socket that does not have an address. Note that connections are not
	// encrypted.
	AllowRemote bool

	// Hosts lists additional host names that browsers may use to reach the view, without a port. Loopback names and the
	// IP address of the connection are always accepted. Hosts must be set if the view is served from behind a proxy,
	// and usually must be set if AllowRemote is used.
	//
	// All requests that pass through a proxy on this machine appear to come from this machine, so it is up to the proxy
	// to decide who may use the view. It should forward the browser's Host header: if that does not match the origin of
	// the page, the page is read-only and explains why. For nginx, the last three lines are needed for WebSockets:
	//
	//	proxy_pass http://127.0.0.1:8080;
	//	proxy_set_header Host $http_host; # $host has no port
	//	proxy_http_version 1.1;
	//	proxy_set_header Upgrade $http_upgrade;
	//	proxy_set_header Connection "upgrade";
	Hosts []string

	// Origins lists additional origins whose pages are allowed to stop commands and to type, such as
	// "https://view.example" or "http://localhost:8081". By default, the origin must match the Host header, so Origins
	// must be set if a proxy does not forward the Host header sent by the browser.
	Origins []string

	// FrameAncestors lists the origins whose pages are allowed to embed the view in a frame, such as
	// "https://editor.example". By default, embedding is not allowed.
	FrameAncestors []string

	// MaxPast is the maximum number of ended and denied commands to display. The default is 100.
	MaxPast int

	// MaxPastBytes is the maximum number of bytes used by past commands, including their output and requests. If this
	// limit is exceeded, the oldest commands are removed, although the most recent one is always kept. The default is
	// 64 MiB.
	MaxPastBytes int64

	// Archive, if set, has the commands of earlier runs, which the page lists and searches with the others. It also has
	// the output of those beyond MaxPast and MaxPastBytes, which the page then keeps in its list. To record commands,
	// pass each manager and its name to Archive.Keep, which is independent of the View. With Session, the view shows
	// only archived terminals of sessions with that id. Since agents choose the ids, such a view needs an archive that
	// has sessions of only one agent.
	Archive *archive.Archive

	// Heartbeat is how long a stream may be idle before an empty message is sent to keep the connection alive. If a
	// page does not receive anything for three intervals, it assumes that the connection is dead and reconnects. The
	// default is 5 seconds. If the view is served from behind a proxy that closes idle connections sooner, use a
	// shorter interval.
	Heartbeat time.Duration

	// MaxStreams is the maximum number of concurrent event streams. Each page and each visible terminal uses one
	// stream. If this limit is reached, any additional request receives a 503 response, which causes the page to retry.
	// The default is 100.
	MaxStreams int
}

// A View is an http.Handler that displays the terminals of one or more managers. The caller should call Close when the
// View is no longer needed.
//
// A View is safe for concurrent use by multiple goroutines.
type View struct {
	options Options
	origins []string // Options.Origins, normalized by parseOrigin
	table   *table
	mux     *http.ServeMux
	streams chan struct{} // semaphore of MaxStreams
	search  chan struct{} // semaphore of one search
	ctx     context.Context
	cancel  context.CancelFunc
	first   *Source
	typed   inputs
	editor  editor
	version string                  // of the bundle
	assets  map[string]func() asset // by file

	mu      sync.Mutex
	closed  bool
	sources []*Source
	added   int            // number of sources ever added
	busy    sync.WaitGroup // requests and kills; see begin
}

// New returns a View that displays the existing and future terminals of a manager. To display the terminals of other
// managers as well, use View.Add. Mount the View at the root of a server, or use http.StripPrefix to serve it from a
// path below the root. Be sure to close the View before calling the server's Shutdown; otherwise, Shutdown will wait
// for the pages to disconnect.
//
// View.Server returns a server that limits its connections. If you use a different server, set its ReadHeaderTimeout,
// ReadTimeout, WriteTimeout and IdleTimeout. These timeouts do not end the view's streams. The number of connections
// should be limited as well, since they could otherwise use up the file descriptors that commands need.
//
// If an option is invalid, New returns an error that names the option.
func New(m *acpterm.Manager, options *Options) (v *View, err error) {
	v = new(View)
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
	v.search = make(chan struct{}, 1)
	v.ctx, v.cancel = context.WithCancel(context.Background())
	if v.editor, err = newEditor(v.options.Editor); err != nil {
		return nil, err
	}
	v.table = newTable(v.ctx, v.options, v.editor)
	v.version, v.assets = bundleVersion(), loadAssets()
	v.mux = v.routes()
	v.table.addArchived(v)
	v.first = v.Add(m, "")
	return v, nil
}

// Close disconnects all pages, waits for pending requests to complete, and discards past terminals. Subsequent requests
// will receive a 503 response. Note that the commands continue to run.
//
// Any input that a command has not read yet is discarded, except for at most one request per terminal. That request is
// either written when the command reads it or dropped when the command exits, but Close does not wait for this to
// happen. Subsequent calls to Close have no effect.
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
	v.table.looking.Wait()
	v.table.clear()
	return nil
}

// Path returns the URL path of the page, "/<token>/". The path should be kept secret.
func (v *View) Path() string { return "/" + v.options.Token + "/" }

// ScriptPath returns the path of the JavaScript module that defines the custom element <acp-terminal>, which shows a
// single terminal in any page of the same server. The path changes with the version of the view, because browsers keep
// the file without asking again. A page can contain elements of several views.
//
//	<script type="module" src="/<token>/bundle/<version>/acp-terminal.js"></script>
//	<acp-terminal src="/<token>/terminals/<key>"></acp-terminal>
//
// TerminalPath returns the src. The same module is at /<token>/assets/acp-terminal.js, where it is readable and imports
// some fifty others. A content security policy needs script-src, style-src and connect-src for the server; the element
// has no inline scripts or styles, and the page's styles do not affect it.
//
// The element has the attributes src, theme ("dark" or "light"; the default is the system's), and line, the number of a
// line to show. Its properties are read-only:
//
//   - row: the terminal's status, an object with members such as command, state, status and canStop, or null
//   - text: the output on the screen and in its scrollback, without colours
//   - missed: the number of skipped bytes
//   - following: whether the screen shows the newest output
//
// Its methods are stop(), which forces when called again; copy(), which copies the selection or the output; find(text),
// a Promise of whether the text occurs; earlier() and later(), which show the output before and after the screen's; and
// openFind(). It dispatches these events, with a detail, which do not bubble:
//
//   - status: the row, after each change of it
//   - line: the number of the line that the user has linked, or 0 once no line is linked
//   - connection: "open", "lost" or "busy" (too many pages are open), or, without another try, "gone"
//     (the terminal), "forbidden" (the token) or "impossible". If the page cancels "lost" or "busy", the element does
//     not show a note of it
func (v *View) ScriptPath() string { return v.Path() + "bundle/" + v.version + "/acp-terminal.js" }

// TerminalPath returns the src attribute for an <acp-terminal> element that shows a terminal of the manager passed to
// New. The path is relative to the root of the handler. It can also be opened directly in a browser.
func (v *View) TerminalPath(session acpterm.SessionID, id acpterm.TerminalID) string {
	return v.Path() + "terminals/" + keyOf(0, session, id)
}

// URL returns the http URL of the page for a server that listens on the given address. If the address is unspecified,
// the loopback address is used instead.
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
	mux.HandleFunc("GET /{$}", v.serveList)
	mux.HandleFunc("GET /terminals/{key}", v.serveTerminal)
	mux.HandleFunc("GET /bundle/{version}/{file}", v.serveBundle)
	mux.HandleFunc("GET /assets/{file...}", v.serveAsset)
	mux.HandleFunc("GET /events", v.serveEvents)
	mux.HandleFunc("GET /search", v.serveSearch)
	mux.HandleFunc("GET /terminals/{key}/output", v.serveOutput)
	mux.HandleFunc("GET /terminals/{key}/text", v.serveText(func() textForm { return new(asShown) }))
	mux.HandleFunc("GET /terminals/{key}/text/valid", v.serveText(func() textForm { return asValid{} }))
	mux.HandleFunc("GET /terminals/{key}/download", v.serveDownload)
	mux.HandleFunc("GET /terminals/{key}/times", v.serveTimes)
	mux.HandleFunc("POST /terminals/{key}/stop", v.serveStop)
	mux.HandleFunc("POST /terminals/{key}/background", v.serveBackground)
	mux.HandleFunc("POST /terminals/{key}/input", v.serveInput)
	mux.HandleFunc("POST /terminals/{key}/size", v.serveSize)
	mux.HandleFunc("POST /terminals/{key}/edit", v.serveEdit)
	return mux
}

// ServeHTTP implements http.Handler. Requests whose path does not contain the token are refused.
//
// Live output goes over WebSockets, or over ordinary requests if a proxy does not forward these; over HTTP/1.1, a
// browser has at most six such requests open across all of its windows. Middleware must then let an
// http.ResponseController flush, by http.Flusher or an Unwrap method. Otherwise, these requests receive a 501 response,
// and the page displays the reason.
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

// find returns the entry of a request's command, or nil if it is not shown, and its output. It adds a terminal whose
// start event has not arrived yet, and forgets one removed from the archive.
func (v *View) find(r *http.Request) (e *entry, terminal output) {
	key := r.PathValue("key")
	if e, terminal = v.table.find(key); e != nil {
		if a, ok := terminal.(*archived); ok && a.Removed() {
			v.table.forget(e)
			return nil, nil
		}
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

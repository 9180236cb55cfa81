// Package view is a web page on which people watch an acpterm.Manager's terminals: what runs, what ran and what was
// denied, with the output as it comes.
//
//	v := view.Handler(m, nil)
//	server := v.Server()
//	go server.Serve(listener)
//	fmt.Println("Watch at", v.URL(listener.Addr()))
//	defer server.Close()
//	defer v.Close()
//
// # Who gets in
//
// Whoever has the URL, from this machine. It has a random token in its path; every other path is forbidden. Requests
// from other machines are refused unless Options.AllowRemote is set, and so are those for a host's name that the view
// does not know, as DNS rebinding makes them. Nothing can be changed unless Options.AllowStop is set, and then commands
// can be stopped, by a request that no other site's page can make. The token is in the path and not in a cookie,
// because a browser sends a cookie to every port of a host: on localhost to everybody's servers. So a page of another
// site that makes the browser ask for something has nothing to ask with.
//
// The connection is not encrypted. For other machines serve it with TLS, or forward a port.
//
// # In your own page
//
// The page is made of a custom element that shows one terminal and nothing else. Served by the same server, it can be
// put into any page:
//
//	<script type="module" src="/<token>/assets/acp-terminal.js"></script>
//	<acp-terminal src="/<token>/terminals/<id>"></acp-terminal>
//
// View.ScriptPath and View.TerminalPath return these paths. The element is at home in a page with a strict content
// security policy: it needs script-src, style-src and connect-src for its server, and nothing inline.
//
// Over HTTP/1.1 browsers open six connections to a server at once. Each terminal in sight that runs takes one, and so
// does each page with a list; pages that are hidden take none. With HTTP/2, which browsers speak over TLS, there is no
// such limit.
//
// # Following
//
// Output goes to browsers as server-sent events with absolute offsets: while the command runs at most 64 KiB twenty
// times a second for each, and four times a second where that is not enough. A browser that reconnects goes on where it
// was. One that is behind by more than 1 MiB, because the command or the network is what it is, skips ahead and shows
// how many bytes it missed. The command never waits for a page.
package view

// The face of the package: options, the handler and its routes.

import (
	"cmp"
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"net/url"
	"sync"

	"github.com/acpterm/acpterm"
)

// Options say what a View shows, and to whom. The zero value, and nil in its place, is good: all sessions, read only,
// for this machine.
type Options struct {
	// Session is the only session whose terminals are shown. Empty: those of all.
	Session acpterm.SessionID

	// AllowStop lets those who open the page stop commands. False: it is for reading only.
	AllowStop bool

	// Token is what opens the page, as a part of its path: at least 16 characters that need no escaping in one, and
	// secret. Handler panics on any other. Empty: a random one of 130 bits.
	Token string

	// AllowRemote lets other machines in, as far as the listener does. False: only requests from loopback addresses,
	// and over sockets that have none, are answered. The connection is as safe as you make it.
	AllowRemote bool

	// Hosts are further names, without a port, under which browsers reach the view: behind a proxy, or with
	// AllowRemote. The loopback ones and the IP address that the connection came to are always good.
	Hosts []string

	// FrameAncestors are the origins, such as "https://editor.example", whose pages may show the view in a frame. Nil:
	// none.
	FrameAncestors []string

	// MaxPast is how many commands are shown that have ended or were denied; the oldest are forgotten. 0: 100.
	MaxPast int

	// MaxPastBytes is how many bytes of output and of requests are kept for those at the most; the oldest are
	// forgotten, but for the last. 0: 64 MiB.
	MaxPastBytes int64

	// MaxStreams is how many connections there may be at once that wait for something new: one for each page, and one
	// for each terminal that is shown. Beyond, a page says so and tries again. 0: 100.
	MaxStreams int
}

// View is an http.Handler that shows a manager's terminals. Handler makes one; Close ends it.
//
// All methods may be called concurrently.
type View struct {
	manager *acpterm.Manager
	options Options
	table   *table
	mux     *http.ServeMux
	streams chan struct{} // one value for each stream there may be
	ctx     context.Context
	cancel  context.CancelFunc
	stop    func() // ends the observation of the manager

	mu     sync.Mutex
	closed bool
	busy   sync.WaitGroup // requests and kills; nothing is added once closed
}

// Handler returns a view of a manager: of the terminals that it has now, and of all that happens from now on. It is
// mounted at the root of a server, or below with http.StripPrefix. Close it before the server is shut down, which
// otherwise waits for the pages.
//
// View.Server makes a server for it that limits connections. Any other server needs limits of its own:
// ReadHeaderTimeout, ReadTimeout, WriteTimeout and IdleTimeout, which do not end the view's streams, and a bound on its
// connections, which would otherwise take the descriptors that commands need.
func Handler(m *acpterm.Manager, options *Options) *View {
	v := &View{manager: m}
	if options != nil {
		v.options = *options
	}
	v.options.Token = cmp.Or(v.options.Token, rand.Text())
	if !goodToken(v.options.Token) {
		panic("view: Options.Token has to have at least 16 letters, digits, '-' or '_'")
	}
	v.options.MaxPast = cmp.Or(v.options.MaxPast, 100)
	v.options.MaxPastBytes = cmp.Or(v.options.MaxPastBytes, 64<<20)
	v.streams = make(chan struct{}, cmp.Or(v.options.MaxStreams, 100))
	v.ctx, v.cancel = context.WithCancel(context.Background())
	v.table = newTable(v.options)
	v.mux = v.routes()
	v.stop = m.Observe(v.table.observe) // first, so that no terminal is between the two
	for _, terminal := range m.Terminals() {
		v.table.adopt(terminal)
	}
	return v
}

// Close ends all pages' connections, forgets the past terminals and returns when no request is being answered any more.
// Later ones are answered 503. Commands go on. It may be called again.
func (v *View) Close() error {
	v.mu.Lock()
	v.closed = true
	v.mu.Unlock()
	v.cancel()
	v.stop()
	v.busy.Wait()
	v.table.clear()
	return nil
}

// Path is the page's path, "/<token>/". Whoever knows it is let in.
func (v *View) Path() string { return "/" + v.options.Token + "/" }

// ScriptPath is the path of the script that defines the custom element <acp-terminal>: a module.
func (v *View) ScriptPath() string { return v.Path() + "assets/acp-terminal.js" }

// TerminalPath is what the attribute src of an <acp-terminal> has to be to show a terminal, as seen from the root of
// the handler. Opened in a browser it is a page with that terminal alone.
func (v *View) TerminalPath(id acpterm.TerminalID) string {
	return v.Path() + "terminals/" + url.PathEscape(string(id))
}

// URL is the page's address on a listener that the view is served at without TLS. If that listens on all addresses, it
// is the one for this machine.
func (v *View) URL(addr net.Addr) string {
	host := addr.String()
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		host = (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: tcp.Port}).String()
	}
	return "http://" + host + v.Path()
}

// routes are what there is below the token.
func (v *View) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", page("index.html"))
	mux.HandleFunc("GET /terminals/{id}", page("terminal.html"))
	mux.HandleFunc("GET /assets/{file...}", serveAsset)
	mux.HandleFunc("GET /events", v.serveEvents)
	mux.HandleFunc("GET /terminals/{id}/output", v.serveOutput)
	mux.HandleFunc("POST /terminals/{id}/stop", v.serveStop)
	return mux
}

// ServeHTTP answers a request of a page, if it comes from one.
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
	case path == "": // the token without its slash: one step down, wherever the handler is mounted
		w.Header().Set("Location", v.options.Token+"/")
		w.WriteHeader(http.StatusMovedPermanently)
		return
	}
	inner := r.Clone(r.Context())
	inner.URL.Path, inner.URL.RawPath = path, ""
	v.mux.ServeHTTP(w, inner)
}

// find returns a command that is shown, nil if there is none, and its terminal. One that the manager has is shown even
// before the event of its start has come.
func (v *View) find(r *http.Request) (e *entry, terminal *acpterm.Terminal) {
	id := acpterm.TerminalID(r.PathValue("id"))
	if e, terminal = v.table.find(id); e != nil {
		return e, terminal
	}
	for _, terminal := range v.manager.Terminals() {
		if terminal.ID() == id {
			v.table.adopt(terminal)
		}
	}
	return v.table.find(id)
}

// begin counts something that Close has to wait for, unless it is too late for it. busy.Done ends it.
func (v *View) begin() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
		v.busy.Add(1)
	}
	return !v.closed
}

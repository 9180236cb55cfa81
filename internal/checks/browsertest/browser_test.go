package browsertest

// Helpers: the commands of tests, which are scripts or the test binary, and Chromium with its pages.

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/css"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/internal/terminaltest/children"
	"github.com/acpterm/acpterm/internal/viewtest"
	"github.com/acpterm/acpterm/view"
)

// timeout bounds waits for a page. Only a failing test takes that long.
const timeout = time.Minute

// callTimeout bounds a call to a browser, which also takes long while other processes leave the browser next to no time.
const callTimeout = 5 * time.Minute

// findChromium returns Chromium's path. Without it the test is skipped, or fails if the environment requires it. Its shell
// without windows needs a third less of the processors, and has the same engine. .ci/long prefers the whole browser.
func findChromium(t testing.TB) string {
	names := []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome"}
	if longtest.Is() {
		names = append(names[1:], names[0])
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("ACPTERM_REQUIRE_CHROMIUM") != "" {
		t.Fatal("ACPTERM_REQUIRE_CHROMIUM is set, and there is no Chromium in PATH")
	}
	t.Skip("there is no Chromium in PATH")
	return ""
}

type browser struct {
	ctx context.Context

	mu   sync.Mutex
	idle []*chromeTab // tabs with an empty page
}

// chromeTab is a tab in a separate window. Pages use it in turn, because a tab costs more than a page.
type chromeTab struct {
	ctx   context.Context
	close context.CancelFunc

	mu   sync.Mutex
	page *page // nil while idle
}

// empty is the URL of an empty page, which no server has. For about:blank the browser would start another process,
// which costs more than the page.
const empty = "http://127.0.0.1/empty"

// listen passes an event to the page, and answers the request for the empty one.
func (c *chromeTab) listen(event any) {
	if paused, is := event.(*fetch.EventRequestPaused); is {
		go chromedp.Call(c.ctx, fetch.FulfillRequest, fetch.FulfillRequestParams{
			RequestID: paused.RequestID, ResponseCode: http.StatusOK, Body: []byte(`<!doctype html><link rel="icon" href="data:,">`),
			ResponseHeaders: []*fetch.HeaderEntry{{Name: "Content-Type", Value: "text/html"}},
		})
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.page != nil {
		c.page.listen(event)
	}
}

func (c *chromeTab) show(p *page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.page = p
}

// startBrowser starts Chromium. The end of the test ends its processes and removes its files.
func startBrowser(t testing.TB, more ...chromedp.ExecAllocatorOption) *browser {
	dir, err := os.MkdirTemp("", "acpterm-browser-")
	require.NoError(t, err)
	profile := filepath.Join(dir, "profile")
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(findChromium(t)), chromedp.NoSandbox, chromedp.UserDataDir(profile),
		chromedp.Flag("crash-dumps-dir", dir), chromedp.Env("HOME="+dir, "TMPDIR="+dir, "XDG_CONFIG_HOME="+dir,
			"XDG_CACHE_HOME="+dir),
		chromedp.Flag("host-resolver-rules", "MAP evil.example 127.0.0.1"), chromedp.WSURLReadTimeout(callTimeout))
	allocator, endAllocator := chromedp.NewExecAllocator(context.Background(), append(options, more...)...)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("end Chromium: %v", err)
		}
		cancel()
		endAllocator() // which kills a Chromium that has not exited
		requireNoBrowser(t, profile, dir)
	})
	require.NoError(t, chromedp.Do(ctx), "start Chromium")
	return &browser{ctx: ctx}
}

// requireNoBrowser waits until the processes of a browser are gone, and removes its files.
func requireNoBrowser(t testing.TB, profile, dir string) {
	t.Helper()
	require.Eventually(t, func() bool { return len(processesWith("cmdline", profile)) == 0 }, timeout, 10*time.Millisecond,
		"processes of the browser are left")
	require.NoError(t, os.RemoveAll(dir))
}

// processesWith returns the command lines or environments, as files of /proc, that contain a text, or none without /proc.
func processesWith(name, text string) (found []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/" + name)
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), text) {
			found = append(found, string(line))
		}
	}
	return found
}

type page struct {
	t     testing.TB
	ctx   context.Context
	close func() // ends the page; the tab remains

	mu       sync.Mutex
	problems []string // errors and warnings reported by the browser
}

func (b *browser) open(t testing.TB, url string, before ...chromedp.Action[chromedp.Void]) *page {
	c := b.take(t)
	p := &page{t: t, ctx: c.ctx}
	p.close = sync.OnceFunc(func() { b.giveBack(t, c) })
	t.Cleanup(func() { p.close() })
	c.show(p)
	p.run(append(before, chromedp.Navigate(url))...)
	return p
}

// take returns an idle tab, or a new one.
func (b *browser) take(t testing.TB) *chromeTab {
	b.mu.Lock()
	defer b.mu.Unlock()
	if last := len(b.idle) - 1; last >= 0 {
		c := b.idle[last]
		b.idle = b.idle[:last]
		return c
	}
	c := &chromeTab{}
	c.ctx, c.close = chromedp.NewContext(b.ctx, chromedp.WithListener(c.listen))
	err := chromedp.Do(c.ctx) // the first call creates the tab, which ends with its context
	if err == nil {
		_, err = chromedp.Call(c.ctx, log.Enable, cdp.Empty{})
	}
	for _, domain := range []cdp.Command[cdp.Empty, cdp.Empty]{network.Disable, css.Disable, dom.Disable} {
		if err == nil { // no test uses its events, and a page with much output has many
			_, err = chromedp.Call(c.ctx, domain, cdp.Empty{})
		}
	}
	if err != nil {
		c.close()
	}
	require.NoError(t, err)
	return c
}

// giveBack resets a tab. Nothing of the page remains, neither its connections nor its look.
func (b *browser) giveBack(t testing.TB, c *chromeTab) {
	ctx, cancel := context.WithTimeout(c.ctx, callTimeout)
	defer cancel()
	_, err := chromedp.Call(ctx, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: empty}}})
	if err == nil {
		err = chromedp.Do(ctx, chromedp.Navigate(empty), unlook)
	}
	if err == nil {
		_, err = chromedp.Call(ctx, fetch.Disable, cdp.Empty{})
	}
	c.show(nil)
	if err != nil {
		c.close()
		t.Errorf("leave the page: %v", err)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle = append(b.idle, c)
}

// listen records errors and warnings of the browser.
func (p *page) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.complain(fmt.Sprintf("exception: %+v", e.ExceptionDetails.Exception.Description))
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			p.complain("log: " + e.Entry.Text + " " + e.Entry.URL)
		}
	}
}

func (p *page) complain(problem string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.problems) < 5 {
		p.problems = append(p.problems, problem)
	}
}

// requireQuiet fails if the browser has reported a problem.
func (p *page) requireQuiet() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Empty(p.t, p.problems)
}

func (p *page) run(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, callTimeout)
	defer cancel()
	require.NoError(p.t, chromedp.Do(ctx, actions...))
}

// library defines names for the tests' expressions: el is the terminal, part(selector) an element in it.
const library = `
	const el = document.querySelector('acp-terminal')
	const part = selector => el?.shadowRoot?.querySelector(selector)
	const visible = node => !!node && node.checkVisibility({ visibilityProperty: true })
`

func (p *page) test() testing.TB { return p.t }

func (p *page) json(expression string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, callTimeout)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[string](jsonOf(expression), chromedp.EvalAwaitPromise))
	require.NoError(p.t, err, expression)
	return value
}

func (b *browser) visit(t testing.TB, url string) tab {
	return b.open(t, url, look("light", 1000, 700, 1))
}

func (p *page) reload() { p.run(chromedp.Reload()) }

func (p *page) resize(width, height int64) { p.run(look("light", width, height, 1)) }

func (p *page) end() { p.close() }

func (p *page) until(expression string) {
	p.t.Helper()
	awaitTrue(p, expression)
}

// click clicks the visible center of an element of the terminal.
func (p *page) click(selector string) {
	p.t.Helper()
	at := eval[struct{ X, Y float64 }](p, fmt.Sprintf(`(() => {
		const box = part(%q).getBoundingClientRect()
		return { X: box.x + box.width / 2, Y: box.y + box.height / 2 }
	})()`, selector))
	p.run(chromedp.MouseClickXY(at.X, at.Y))
}

// press presses keys.
func (p *page) press(keys string, options ...chromedp.KeyOption) {
	p.t.Helper()
	p.run(chromedp.KeyEvent(keys, options...))
}

// focused returns the accessible name of the deepest focused element.
func (p *page) focused() string {
	p.t.Helper()
	return eval[string](p, `(() => {
		let node = document.activeElement
		while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement
		return node?.getAttribute('aria-label') ?? node?.textContent ?? ''
	})()`)
}

// viewer is a manager, its view and the server of the view.
type viewer struct {
	*acpterm.Manager
	view   *view.View
	server *httptest.Server
	url    string
	open   *openConns
}

// openConns accepts connections and knows the open ones. A server forgets its WebSockets.
type openConns struct {
	net.Listener

	mu      sync.Mutex
	all     []net.Conn
	refuses bool          // closes new connections immediately
	frozen  chan struct{} // if not nil, nothing is written until it is closed
}

// freezingConn is one of them.
type freezingConn struct {
	net.Conn
	o *openConns
}

func (c freezingConn) Write(p []byte) (int, error) {
	c.o.mu.Lock()
	frozen := c.o.frozen
	c.o.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
	return c.Conn.Write(p)
}

// freeze sets whether nothing passes to the page, although no connection ends.
func (o *openConns) freeze(freezes bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.frozen != nil {
		close(o.frozen)
		o.frozen = nil
	}
	if freezes {
		o.frozen = make(chan struct{})
	}
}

func (o *openConns) Accept() (net.Conn, error) {
	conn, err := o.Listener.Accept()
	if err == nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.refuses {
			conn.Close()
		} else {
			o.all = append(o.all, conn)
			conn = freezingConn{conn, o}
		}
	}
	return conn, err
}

// refuse sets whether new connections are closed immediately.
func (o *openConns) refuse(refuses bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refuses = refuses
}

// drop closes all connections.
func (o *openConns) drop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, conn := range o.all {
		conn.Close()
	}
	o.all = nil
}

func serve(
	t testing.TB, m *acpterm.Manager, options *view.Options, configure ...func(*httptest.Server),
) *viewer {
	v := must(view.New(m, options))
	server := httptest.NewUnstartedServer(nil)
	server.Config = v.Server()
	for _, change := range configure {
		change(server)
	}
	open := &openConns{Listener: server.Listener}
	server.Listener = open
	server.Start()
	t.Cleanup(func() {
		open.freeze(false)
		v.Close()
		open.drop()
		server.Close()
	})
	return &viewer{m, v, server, v.URL(server.Listener.Addr()), open}
}

func (v *viewer) create(t testing.TB, command string, args ...string) *acpterm.Terminal {
	t.Helper()
	terminal, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{
		SessionID: "session-1", Command: command, Args: args, Cwd: "/home/me/shop",
	}, nil)
	require.NoError(t, err)
	return terminal
}

// key returns a terminal's name in paths.
func (v *viewer) key(terminal *acpterm.Terminal) string {
	path := v.view.TerminalPath(terminal.SessionID(), terminal.ID())
	return path[strings.LastIndexByte(path, '/')+1:]
}

// only returns the URL of the page of one terminal.
func (v *viewer) only(terminal *acpterm.Terminal) string {
	return v.server.URL + v.view.TerminalPath(terminal.SessionID(), terminal.ID())
}

// wheel turns the mouse wheel at a position.
func wheel(p *page, x, y, by float64) {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{
		Type: input.DispatchMouseEventTypeMouseWheel, X: x, Y: y, DeltaX: 1e-6, DeltaY: by,
	})
	require.NoError(p.t, err)
}

// look sets a page's colour scheme and size. A narrow page is a phone's.
func look(scheme string, width, height int64, scale float64) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
			},
		})
		if err != nil {
			return err
		}
		_, err = cdp.Call(ctx, target, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: width, Height: height, DeviceScaleFactor: scale, Mobile: width < 500,
		})
		return err
	})
}

// unlook undoes look.
var unlook = chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
	_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{})
	if err == nil {
		_, err = cdp.Call(ctx, target, emulation.ClearDeviceMetricsOverride, cdp.Empty{})
	}
	return err
})

// forcedColors has the user's colours instead of the page's.
var forcedColors = chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
	_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "forced-colors", Value: "active"}},
	})
	return err
})

// TestMain also makes the test binary a command.
func TestMain(m *testing.M) {
	children.Main(nil)
	racetest.Restart()
	if err := flag.Set("test.parallel", "5"); err != nil { // four pages of Chromium and one of Firefox
		panic(err)
	}
	os.Exit(m.Run())
}

// steps prints each text that it receives, and ends when the channel is closed.
func steps(texts <-chan string) acptermtest.Script { return viewtest.Steps(texts) }

// must returns value, or panics if err is not nil.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

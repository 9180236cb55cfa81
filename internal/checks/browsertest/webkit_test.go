package browsertest

// The page in WebKit, by WebDriver (https://www.w3.org/TR/webdriver2/), where the system has WebKitWebDriver and Xvfb.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// webkit is a session of WebKitWebDriver, for one goroutine.
type webkit struct {
	t       testing.TB
	session string // its URL
	first   string // the permanently open window
}

// startWebKit starts WebKit on its own display. It ends with the test. Without WebKit the test is skipped, or fails if
// the environment requires it.
func startWebKit(t *testing.T) *webkit {
	driver, err1 := exec.LookPath("WebKitWebDriver")
	xvfb, err2 := exec.LookPath("Xvfb")
	if err1 != nil || err2 != nil {
		require.Empty(t, os.Getenv("ACPTERM_REQUIRE_WEBKIT"), "there is no WebKitWebDriver or no Xvfb in PATH")
		t.Skip("there is no WebKitWebDriver or no Xvfb in PATH")
	}
	dir, err := os.MkdirTemp("", "acpterm-webkit-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	number, give, err := os.Pipe()
	require.NoError(t, err)
	display := exec.Command(xvfb, "-displayfd", "3", "-nolisten", "tcp", "-screen", "0", "1400x1000x24")
	display.ExtraFiles = []*os.File{give}
	waitForDisplay, err := startWithTest(display)
	require.NoError(t, err)
	give.Close()
	t.Cleanup(func() { display.Process.Signal(os.Interrupt); waitForDisplay() })
	name, err := bufio.NewReader(number).ReadString('\n')
	require.NoError(t, err, "Xvfb does not say its display")
	number.Close()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().(*net.TCPAddr)
	listener.Close()
	cmd := exec.Command(driver, fmt.Sprintf("--port=%d", address.Port))
	cmd.Env = append(os.Environ(), "DISPLAY=:"+strings.TrimSpace(name), "HOME="+dir, "XDG_CACHE_HOME="+dir, "XDG_CONFIG_HOME="+dir,
		"XDG_DATA_HOME="+dir, "TMPDIR="+dir, "GDK_BACKEND=x11", "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS=1", "NO_AT_BRIDGE=1",
		"WEBKIT_DISABLE_COMPOSITING_MODE=1")
	wait, err := startWithTest(cmd)
	require.NoError(t, err)
	w := &webkit{t: t, session: "http://" + address.String() + "/session"}
	t.Cleanup(func() {
		cmd.Process.Kill()
		wait()
		require.Eventually(t, func() bool { return len(processesWith("environ", dir)) == 0 }, timeout, 10*time.Millisecond,
			"processes of the browser are left")
	})
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", address.String())
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, timeout, 10*time.Millisecond)
	var session struct{ SessionID string }
	w.call("POST", "", map[string]any{"capabilities": map[string]any{}}, &session)
	w.session += "/" + session.SessionID
	w.call("GET", "/window", nil, &w.first)
	t.Cleanup(func() { w.t = t; w.call("DELETE", "", nil, nil) })
	return w
}

// call sends a command and decodes its value.
func (w *webkit) call(method, path string, params, into any) {
	w.t.Helper()
	var body io.Reader
	if params != nil {
		text, err := json.Marshal(params)
		require.NoError(w.t, err)
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequest(method, w.session+path, body)
	require.NoError(w.t, err)
	client := http.Client{Timeout: callTimeout}
	defer client.CloseIdleConnections()
	response, err := client.Do(r)
	require.NoError(w.t, err)
	defer response.Body.Close()
	var answer struct{ Value json.RawMessage }
	require.NoError(w.t, json.NewDecoder(response.Body).Decode(&answer))
	require.Equal(w.t, http.StatusOK, response.StatusCode, "%s: %s", path, answer.Value)
	if into != nil {
		require.NoError(w.t, json.Unmarshal(answer.Value, into))
	}
}

// webkitWindow is a window of WebKit.
type webkitWindow struct {
	w      *webkit
	handle string
	open   *bool
}

func (w *webkit) visit(t testing.TB, url string) tab {
	w.t = t
	var made struct{ Handle string }
	w.call("POST", "/window", map[string]any{"handle": w.first}, nil)
	w.call("POST", "/window/new", map[string]any{"type": "window"}, &made)
	p := webkitWindow{w, made.Handle, new(true)}
	t.Cleanup(p.end)
	p.call("/url", map[string]any{"url": url}, nil)
	p.resize(1000, 700)
	return p
}

// call sends a command to this window.
func (p webkitWindow) call(path string, params, into any) {
	p.w.t.Helper()
	p.w.call("POST", "/window", map[string]any{"handle": p.handle}, nil)
	p.w.call("POST", path, params, into)
}

func (p webkitWindow) test() testing.TB { return p.w.t }

func (p webkitWindow) json(expression string) (value string) {
	p.w.t.Helper()
	p.call("/execute/async", map[string]any{"args": []any{}, "script": "const answer = arguments[0]; " + jsonOf(expression) + ".then(answer)"}, &value)
	return value
}

func (p webkitWindow) until(expression string) {
	p.w.t.Helper()
	awaitTrue(p, expression)
}

func (p webkitWindow) click(selector string) { clickByScript(p, selector) }

func (p webkitWindow) reload() { p.call("/refresh", struct{}{}, nil) }

func (p webkitWindow) resize(width, height int64) {
	p.call("/window/rect", map[string]any{"width": width, "height": height}, nil)
}

// requireQuiet does nothing, because WebDriver does not report the page's messages.
func (p webkitWindow) requireQuiet() {}

func (p webkitWindow) end() {
	if *p.open {
		*p.open = false
		p.w.call("POST", "/window", map[string]any{"handle": p.handle}, nil)
		p.w.call("DELETE", "/window", nil, nil)
	}
}

func TestInWebKit(t *testing.T) {
	runInOther(t, startWebKit(t))
}

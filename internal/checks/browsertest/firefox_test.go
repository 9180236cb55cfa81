package browsertest

// The page in Firefox, by WebDriver BiDi (https://w3c.github.io/webdriver-bidi/).

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// firefox is a connection to Firefox, for one goroutine.
type firefox struct {
	t    testing.TB
	conn *websocket.Conn
	id   int
	idle []string // windows with an empty page, by their contexts
}

// startFirefox starts Firefox, which ends with the test. Without it the test is skipped, or fails if the environment
// requires it.
func startFirefox(t *testing.T) *firefox {
	path := ""
	for _, name := range []string{"firefox-esr", "firefox"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" && os.Getenv("ACPTERM_REQUIRE_FIREFOX") == "" {
		t.Skip("there is no Firefox in PATH")
	}
	require.NotEmpty(t, path, "ACPTERM_REQUIRE_FIREFOX is set, and there is no Firefox in PATH")
	dir, err := os.MkdirTemp("", "acpterm-firefox-")
	require.NoError(t, err)
	profile := filepath.Join(dir, "profile")
	require.NoError(t, os.Mkdir(profile, 0o700))
	cmd := exec.Command(path, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0", "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+dir, "TMPDIR="+dir, "XDG_CACHE_HOME="+dir, "XDG_CONFIG_HOME="+dir, "MOZ_CRASHREPORTER_DISABLE=1")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	wait, err := startWithTest(cmd)
	require.NoError(t, err)
	f := &firefox{t: t}
	t.Cleanup(func() {
		if f.conn == nil || f.try("browser.close", struct{}{}, nil) != nil {
			cmd.Process.Kill() // its other processes exit when they have lost it
		}
		wait()
		if f.conn != nil {
			f.conn.CloseNow()
		}
		requireNoBrowser(t, profile, dir)
	})
	address := ""
	for lines := bufio.NewScanner(stderr); address == "" && lines.Scan(); {
		address = regexp.MustCompile(`ws://\S+`).FindString(lines.Text())
	}
	require.NotEmpty(t, address, "Firefox does not say where it listens")
	go io.Copy(io.Discard, stderr) // so that it does not block
	ctx, cancel := context.WithTimeout(t.Context(), callTimeout)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, address+"/session", nil)
	require.NoError(t, err)
	conn.SetReadLimit(64 << 20)
	f.conn = conn
	f.call("session.new", map[string]any{"capabilities": struct{}{}}, nil)
	return f
}

// call sends a command and waits for its result.
func (f *firefox) call(method string, params, into any) {
	f.t.Helper()
	require.NoError(f.t, f.try(method, params, into), method)
}

// try is like call, but returns the error. After an error the connection may be closed.
func (f *firefox) try(method string, params, into any) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	f.id++
	text, err := json.Marshal(map[string]any{"id": f.id, "method": method, "params": params})
	if err == nil {
		err = f.conn.Write(ctx, websocket.MessageText, text)
	}
	for err == nil {
		var answer []byte
		if _, answer, err = f.conn.Read(ctx); err != nil {
			break
		}
		var a struct {
			ID             int
			Error, Message string
			Result         json.RawMessage
		}
		if err = json.Unmarshal(answer, &a); err != nil || a.ID != f.id {
			continue // an event
		}
		if a.Error != "" {
			return fmt.Errorf("%s: %s", a.Error, a.Message)
		}
		if into == nil {
			return nil
		}
		return json.Unmarshal(a.Result, into)
	}
	return err
}

// window is a window of Firefox.
type window struct {
	f       *firefox
	context string
	open    *bool
}

func (f *firefox) open(url string) window {
	f.t.Helper()
	w := window{f: f, open: new(true)}
	if last := len(f.idle) - 1; last >= 0 {
		w.context, f.idle = f.idle[last], f.idle[:last]
	} else {
		var created struct{ Context string }
		f.call("browsingContext.create", map[string]any{"type": "window"}, &created)
		w.context = created.Context
	}
	w.navigate(url)
	return w
}

func (w window) navigate(url string) {
	w.f.t.Helper()
	w.f.call("browsingContext.navigate", map[string]any{"context": w.context, "url": url, "wait": "complete"}, nil)
}

func (f *firefox) visit(t testing.TB, url string) tab {
	f.t = t
	w := f.open(url)
	w.resize(1000, 700)
	t.Cleanup(w.end)
	return w
}

func (w window) test() testing.TB { return w.f.t }

func (w window) reload() {
	w.f.call("browsingContext.reload", map[string]any{"context": w.context, "wait": "complete"}, nil)
}

func (w window) resize(width, height int64) {
	w.f.call("browsingContext.setViewport", map[string]any{
		"context": w.context, "viewport": map[string]any{"width": width, "height": height},
	}, nil)
}

func (w window) click(selector string) { clickByScript(w, selector) }

// requireQuiet does nothing, because Firefox reports problems of other origins too.
func (w window) requireQuiet() {}

func (w window) end() {
	if *w.open {
		*w.open = false
		w.navigate("about:blank")
		w.f.idle = append(w.f.idle, w.context)
	}
}

// json returns the value of an expression as JSON, or null if it throws.
func (w window) json(expression string) string {
	w.f.t.Helper()
	var evaluated struct{ Result struct{ Value string } }
	w.f.call("script.evaluate", map[string]any{
		"expression": jsonOf(expression),
		"target":     map[string]any{"context": w.context}, "awaitPromise": true, "userActivation": true,
	}, &evaluated)
	return evaluated.Result.Value
}

func (w window) until(expression string) {
	w.f.t.Helper()
	awaitTrue(w, expression)
}

func TestInFirefox(t *testing.T) {
	runInOther(t, startFirefox(t))
}

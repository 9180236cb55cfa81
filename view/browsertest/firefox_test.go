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
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
)

// firefox is a connection to Firefox, for one goroutine.
type firefox struct {
	t    *testing.T
	conn *websocket.Conn
	id   int
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
	require.NoError(t, cmd.Start())
	f := &firefox{t: t}
	t.Cleanup(func() {
		if f.conn != nil {
			f.call("browser.close", struct{}{}, nil)
			f.conn.CloseNow()
		} else {
			cmd.Process.Kill()
		}
		cmd.Wait()
		require.Eventually(t, func() bool { return len(processesWith(profile)) == 0 }, timeout, 10*time.Millisecond,
			"processes of the browser are left")
		require.NoError(t, os.RemoveAll(dir))
	})
	address := ""
	for lines := bufio.NewScanner(stderr); address == "" && lines.Scan(); {
		address = regexp.MustCompile(`ws://\S+`).FindString(lines.Text())
	}
	require.NotEmpty(t, address, "Firefox does not say where it listens")
	go io.Copy(io.Discard, stderr) // so that it does not wait
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
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
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	f.id++
	text, err := json.Marshal(map[string]any{"id": f.id, "method": method, "params": params})
	require.NoError(f.t, err)
	require.NoError(f.t, f.conn.Write(ctx, websocket.MessageText, text))
	for {
		_, answer, err := f.conn.Read(ctx)
		require.NoError(f.t, err, method)
		var a struct {
			ID             int
			Error, Message string
			Result         json.RawMessage
		}
		require.NoError(f.t, json.Unmarshal(answer, &a))
		if a.ID != f.id {
			continue // an event
		}
		require.Empty(f.t, a.Error, "%s: %s", method, a.Message)
		if into != nil {
			require.NoError(f.t, json.Unmarshal(a.Result, into))
		}
		return
	}
}

// window is a window of Firefox.
type window struct {
	f       *firefox
	context string
}

func (f *firefox) open(url string) window {
	f.t.Helper()
	var created struct{ Context string }
	f.call("browsingContext.create", map[string]any{"type": "tab"}, &created)
	w := window{f, created.Context}
	f.call("browsingContext.navigate", map[string]any{"context": w.context, "url": url, "wait": "complete"}, nil)
	return w
}

func (w window) reload() {
	w.f.call("browsingContext.reload", map[string]any{"context": w.context, "wait": "complete"}, nil)
}

func (w window) json(expression string) string { return w.eval(expression) }

func (w window) end() { w.f.call("browsingContext.close", map[string]any{"context": w.context}, nil) }

// eval returns the value of an expression as JSON; null if it throws.
func (w window) eval(expression string) string {
	w.f.t.Helper()
	var evaluated struct{ Result struct{ Value string } }
	w.f.call("script.evaluate", map[string]any{
		"expression": "(async () => {" + library + "try { return JSON.stringify(await (" + expression + ")) ?? 'null' } catch { return 'null' }})()",
		"target":     map[string]any{"context": w.context}, "awaitPromise": true,
	}, &evaluated)
	return evaluated.Result.Value
}

// until waits for an expression to be true.
func (w window) until(expression string) {
	w.f.t.Helper()
	for deadline := time.Now().Add(timeout); w.eval("!!("+expression+")") != "true"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.f.t.Fatalf("the page has not come to %s\nthe text is %.600s\nthe state is %s", expression, w.eval("el.text"),
				w.eval("el.row"))
		}
	}
}

func TestInFirefox(t *testing.T) {
	f := startFirefox(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *firefox)
	}{
		{"output is live, and stays over reloads and lost connections", testLiveInFirefox},
		{"a connection on which nothing comes any more is noticed", testFrozenInFirefox},
		{"eight windows are live at once", testManyInFirefox},
	} {
		t.Run(test.name, func(t *testing.T) {
			f.t = t
			test.run(t, f)
		})
	}
	for _, test := range inBoth {
		t.Run(test.name, func(t *testing.T) {
			f.t = t
			test.run(t, func(t *testing.T, url string) tab {
				f.t = t
				return f.open(url)
			})
		})
	}
	f.t = t
}

func testLiveInFirefox(t *testing.T, f *firefox) {
	texts := make(chan string)
	v := serve(t, made(t, acptermtest.Commands{"make": steps(texts)}), nil)
	v.create(t, "make")
	w := f.open(v.url)
	want := ""
	for i := range 5 {
		line := fmt.Sprintf("line %d 日本 😀\n", i)
		want += line
		texts <- line
		w.until(fmt.Sprintf(`el.text === %q`, want))
		if i%2 == 0 {
			w.reload()
		} else {
			v.open.drop()
		}
	}
	close(texts)
	w.until(fmt.Sprintf(`part('.state').textContent === 'done' && el.text === %q`, want))
	w.end()
}

func testFrozenInFirefox(t *testing.T, f *firefox) {
	texts := make(chan string)
	v := serve(t, made(t, acptermtest.Commands{"make": steps(texts)}), &view.Options{Heartbeat: 500 * time.Millisecond})
	through := newProxy(t, v.server.Listener.Addr().String())
	v.create(t, "make")
	w := f.open(v.view.URL(through.listener.Addr()))
	texts <- "one\n"
	w.until(`el.text === 'one\n'`)
	through.freeze(true)
	texts <- "two\n"
	w.until(`part('.note').textContent.includes('lost') && 'offline' in part('.box').dataset`)
	through.closeAll()
	through.freeze(false)
	w.until(`el.text === 'one\ntwo\n' && part('.note').textContent === ''`)
	close(texts)
	w.end()
}

func testManyInFirefox(t *testing.T, f *firefox) {
	texts := make(chan string)
	v := serve(t, made(t, acptermtest.Commands{"make": steps(texts)}), nil)
	v.create(t, "make")
	var windows []window
	for range 8 {
		windows = append(windows, f.open(v.url))
	}
	for _, text := range []string{"one\n", "two\n"} {
		texts <- text
		for _, w := range windows {
			// A window behind others is hidden, and has no connection until it is shown.
			f.call("browsingContext.activate", map[string]any{"context": w.context}, nil)
			w.until(fmt.Sprintf(`el.text.endsWith(%q)`, text))
		}
	}
	close(texts)
	for _, w := range windows {
		w.end()
	}
}

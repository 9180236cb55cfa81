//go:build unix

package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/racetest"
)

// linkIn returns the address in the messages of a server.
func linkIn(t *testing.T, messages *racetest.Buffer) string {
	t.Helper()
	requireSays(t, messages, "watch at http")
	found := regexp.MustCompile(`watch at (http://\S+)`).FindAllStringSubmatch(messages.String(), -1)
	require.Len(t, found, 1, messages)
	return found[0][1]
}

// get returns the response to a request, or 0 if there is none.
func get(t *testing.T, address, host string) (status int, header http.Header, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", address, nil)
	require.NoError(t, err)
	r.Host = host
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return 0, nil, ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, response.Header, string(text)
}

// sessionsOf returns the sessions that a shared page shows.
func sessionsOf(t *testing.T, link string) (all []livePage) {
	t.Helper()
	if status, _, body := get(t, link+"sessions", ""); status == 200 {
		require.NoError(t, json.Unmarshal([]byte(body), &all))
	}
	return all
}

// freeAddress returns an address that no one uses at the moment.
func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// Servers with the same address share one page, whose link stays the same when the server that serves it is killed.
func TestServersShareAPage(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	address, first, second := freeAddress(t), t.TempDir(), t.TempDir()
	messages := new(racetest.Buffer)
	owner, s := startPiped(t, messages, "-root", first, "-others", "allow", "-view", address)
	link := linkIn(t, messages)
	require.True(t, strings.HasPrefix(link, "http://"+address+"/"))
	_, later := connectTo(t, nil, "-root", second, "-others", "allow", "-view", address)
	require.Equal(t, link, linkIn(t, later))
	all := sessionsOf(t, link)
	require.Len(t, all, 2)
	require.Equal(t, first, all[0].Root)
	for _, p := range all {
		status, header, _ := get(t, p.URL, "")
		require.Equal(t, 200, status)
		require.Contains(t, header.Get("Content-Security-Policy"), "frame-ancestors http://"+address+" http://localhost:")
	}
	status, _, body := get(t, link, "")
	require.Equal(t, 200, status)
	require.Contains(t, body, "<nav")
	for _, refused := range []struct{ address, host string }{
		{link, "evil.example"}, {"http://" + address + "/", ""}, {"http://" + address + "/wrong/sessions", ""},
		{"http://" + address + "/proof/x", "evil.example"},
	} {
		status, _, _ := get(t, refused.address, refused.host)
		require.Equal(t, 403, status, refused.address)
	}
	require.NoError(t, owner.Process.Kill())
	s.Close()
	owner.Wait()
	require.Eventually(t, func() bool { return len(sessionsOf(t, link)) == 1 }, time.Minute, 50*time.Millisecond)
	require.Equal(t, second, sessionsOf(t, link)[0].Root)
}

// A server does not tell users to open the page of another program, which would learn the token.
func TestThePageOfAnotherProgramIsNotShared(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	other := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.URL.Path)
	})}
	defer other.Close()
	go other.Serve(l)
	text, err := program("-view", l.Addr().String()).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(text), "-view: another program uses the address")
	require.NotContains(t, string(text), "watch at")
}

func TestOpen(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	bin, opened := t.TempDir(), filepath.Join(t.TempDir(), "opened")
	for _, name := range []string{"xdg-open", "open"} {
		script := "#!/bin/sh\necho \"$1\" > " + opened + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700))
	}
	t.Setenv("PATH", bin)
	open := func(dir string) (string, error) {
		cmd := program("open")
		cmd.Dir = dir
		text, err := cmd.CombinedOutput()
		return string(text), err
	}
	text, err := open("/")
	require.Error(t, err)
	require.Contains(t, text, "no server with -view is running")
	first, second := t.TempDir(), t.TempDir()
	_, messages := connectTo(t, nil, "-root", first, "-others", "allow", "-view", "127.0.0.1:0")
	s, later := connectTo(t, nil, "-root", second, "-others", "allow", "-view", "127.0.0.1:0")
	for dir, link := range map[string]string{first: linkIn(t, messages), second: linkIn(t, later), "/": linkIn(t, later)} {
		text, err := open(dir)
		require.NoError(t, err, text)
		require.Equal(t, link+"\n", text)
		require.Equal(t, link+"\n", read(t, opened))
	}
	about, err := program("doctor").CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(about), "2 servers with -view are running")
	require.NoError(t, os.WriteFile(filepath.Join(bin, "xdg-open"), []byte("#!/bin/sh\nexit 3\n"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "open"), []byte("#!/bin/sh\nexit 3\n"), 0o700))
	text, err = open("/")
	require.Error(t, err)
	require.Contains(t, text, "open the address above in a browser")
	out, err := program("open", "x").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "open has no arguments")
	require.NoError(t, s.Close())
	files, err := filepath.Glob(filepath.Join(state, "acpterm", "pages", "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 1) // of the server that runs
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode()) // an address is a secret
}

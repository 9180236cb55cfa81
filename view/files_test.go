package view_test

// The page's files, and a terminal's output as text.

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
)

// Files are compressed if the client accepts it, and not sent again if it has them.
func TestAssetsAreCompressedAndKept(t *testing.T) {
	v := newViewer(t, acptermtest.NewManager(t, nil), view.Options{})
	for _, file := range []string{"assets/xterm/xterm.mjs", "assets/page.css", "", "terminals/x"} {
		plain := v.request("GET", file, func(r *http.Request) { r.Header.Set("Accept-Encoding", "identity") })
		require.Equal(t, http.StatusOK, plain.StatusCode)
		want, err := io.ReadAll(plain.Body)
		require.NoError(t, err)
		zipped := v.request("GET", file, func(r *http.Request) { r.Header.Set("Accept-Encoding", "br, gzip") })
		require.Equal(t, "gzip", zipped.Header.Get("Content-Encoding"))
		require.Equal(t, "Accept-Encoding", zipped.Header.Get("Vary"))
		sent, err := io.ReadAll(zipped.Body)
		require.NoError(t, err)
		unzipped, err := gzip.NewReader(bytes.NewReader(sent))
		require.NoError(t, err)
		got, err := io.ReadAll(unzipped)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
		require.Less(t, len(sent), len(want))

		tag := plain.Header.Get("ETag")
		require.NotEmpty(t, tag)
		kept := v.request("GET", file, func(r *http.Request) { r.Header.Set("If-None-Match", tag) })
		require.Equal(t, http.StatusNotModified, kept.StatusCode)
	}
}

// The text contains all retained output, and says how much is missing.
func TestTextOfATerminal(t *testing.T) {
	var written strings.Builder
	for i := range 100_000 {
		written.WriteString("line " + strconv.Itoa(i) + " é\xff\n")
	}
	written.WriteString("unfinished \xe2\x9c")
	m := acptermtest.NewManager(t, &acpterm.Options{
		Commands: acpterm.CommandOptions{FollowBytes: 1},
		Runner:   acptermtest.Commands{"count": acptermtest.Print(written.String(), 0), "nothing": acptermtest.Print("", 0)},
	})
	v := newViewer(t, m, view.Options{})
	text := func(command string, limit uint64) (*http.Response, string) {
		terminal, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{
			SessionID: "s", Command: command, OutputByteLimit: &limit,
		}, nil)
		require.NoError(t, err)
		<-terminal.Done()
		path := strings.TrimPrefix(v.view.TerminalPath("s", terminal.ID()), v.view.Path())
		response := v.request("GET", path+"/text", nil)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response, string(body)
	}
	response, got := text("count", 16<<20)
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, "text/plain; charset=utf-8", response.Header.Get("Content-Type"))
	require.Equal(t, "no-store", response.Header.Get("Cache-Control"))
	whole := strings.ToValidUTF8(strings.ReplaceAll(written.String(), "\xff", "\ufffd"), "\ufffd\ufffd")
	require.True(t, whole == got, "%d bytes in place of %d", len(got), len(whole))

	_, got = text("count", 1000)
	require.Regexp(t, `^\[\d+ bytes before this are not kept\]\n`, got)
	_, end, _ := strings.Cut(got, "\n")
	require.True(t, strings.HasSuffix(whole, end))
	require.Greater(t, len(end), 900)
	_, got = text("nothing", 1000)
	require.Empty(t, got)
	require.Equal(t, http.StatusNotFound, v.request("GET", "terminals/none/text", nil).StatusCode)
}

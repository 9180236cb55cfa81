package view_test

// What is fetched once: the page's files, and a terminal's output as text.

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
)

// Files are sent compressed to those that take it, and once to those that have them.
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

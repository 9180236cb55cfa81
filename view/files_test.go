package view_test

// The page's files, the events that a page contains, and a terminal's output as text.

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
)

func unzip(t *testing.T, zipped string) string {
	r, err := gzip.NewReader(strings.NewReader(zipped))
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(text)
}

// The files that a page names are kept for good, because their URLs change with them.
func TestBundleIsKept(t *testing.T) {
	v := newViewer(t, acptermtest.NewManager(t, nil), view.Options{})
	body := func(r *http.Response) string {
		text, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		return string(text)
	}
	page := body(v.request("GET", "", nil))
	files := regexp.MustCompile(`bundle/[0-9a-f]{16}/[a-z.-]+`).FindAllString(page, -1)
	require.Len(t, files, 4)
	require.Contains(t, v.view.ScriptPath(), files[0])
	single := body(v.request("GET", "terminals/x", nil))
	require.Contains(t, single, "../"+files[0])
	for _, file := range files {
		plain := v.request("GET", file, func(r *http.Request) { r.Header.Set("Accept-Encoding", "br;q=0, gzip; q=0.0") })
		require.Equal(t, http.StatusOK, plain.StatusCode)
		require.Equal(t, "private, max-age=31536000, immutable", plain.Header.Get("Cache-Control"))
		require.Equal(t, "nosniff", plain.Header.Get("X-Content-Type-Options"))
		require.Equal(t, "same-origin", plain.Header.Get("Cross-Origin-Resource-Policy"))
		document := strings.HasSuffix(file, ".svg") // a browser can show it by itself
		require.Equal(t, document, plain.Header.Get("Content-Security-Policy") != "")
		require.Empty(t, plain.Header.Get("Content-Encoding"))
		want := body(plain)
		sent := v.request("GET", file, func(r *http.Request) { r.Header.Set("Accept-Encoding", "deflate, gzip;q=1.0, br") })
		require.Equal(t, "gzip", sent.Header.Get("Content-Encoding"))
		require.Equal(t, plain.Header.Get("Content-Type"), sent.Header.Get("Content-Type"))
		zipped := body(sent)
		require.Less(t, len(zipped), len(want), file)
		require.Equal(t, want, unzip(t, zipped), file)
	}
	for _, file := range []string{"bundle/0123456789abcdef/page.js", files[3] + ".gz", "assets/index.html", "assets/bundle/page.js"} {
		require.Equal(t, http.StatusNotFound, v.request("GET", file, nil).StatusCode, file)
	}
}

// A page has the list, and the beginning of the output that it shows, before it opens a stream.
func TestPageHasItsFirstEvents(t *testing.T) {
	m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{
		"serve": func(p *acptermtest.Process) int {
			p.Write([]byte("</script> is text\n"))
			return acptermtest.Block(p)
		},
		"true": acptermtest.Print("done\n", 0),
	}})
	v := newViewer(t, m, view.Options{})
	type events struct{ Table, Key, Output string }
	first := func(path string) (e events) {
		response := v.request("GET", path, nil)
		require.Equal(t, "no-store", response.Header.Get("Cache-Control"))
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		_, text, found := strings.Cut(string(body), `<script type="application/json" id="first">`)
		require.True(t, found)
		text, _, _ = strings.Cut(text, "</script>")
		require.NoError(t, json.Unmarshal([]byte(text), &e), text)
		return e
	}
	require.Equal(t, events{}, first("terminals/none"))
	require.Empty(t, first("").Output)
	serving, done := v.create("s", "serve"), v.create("s", "true")
	<-done.Done()
	require.Eventually(t, func() bool { return serving.OutputTotal() > 0 }, timeout, time.Millisecond)
	require.Eventually(t, func() bool { return strings.Count(first("").Table, `"command":`) == 2 }, timeout, time.Millisecond)
	of := func(terminal *acpterm.Terminal, e events) {
		require.Equal(t, keyOf(terminal), e.Key)
		require.Contains(t, e.Output, "event: status\ndata: ")
		require.Regexp(t, `id: \d-\d+\ndata: {"offset":0,"text":"`, e.Output)
	}
	of(serving, first("")) // it is older, and still runs
	of(done, first("terminals/"+keyOf(done)))
	require.Contains(t, first("").Output, `\u003c/script\u003e is text\n`)
}

// The text contains all retained output as a terminal shows it, and says how much is missing. Its valid form has escape
// sequences, and the same characters for invalid bytes.
func TestTextOfATerminal(t *testing.T) {
	var written strings.Builder
	for i := range 100_000 {
		written.WriteString("line " + strconv.Itoa(i) + " é\xff\n")
	}
	const progress = "\x1b[32m 9 % of all\r100 %\x1b[K\x1b[m\n"
	written.WriteString(progress + "unfinished \xe2\x9c")
	m := acptermtest.NewManager(t, &acpterm.Options{
		Commands: acpterm.CommandOptions{FollowBytes: 1},
		Runner:   acptermtest.Commands{"count": acptermtest.Print(written.String(), 0), "nothing": acptermtest.Print("", 0)},
	})
	v := newViewer(t, m, view.Options{})
	text := func(command string, limit uint64, form string) (*http.Response, string) {
		terminal, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{
			SessionID: "s", Command: command, OutputByteLimit: &limit,
		}, nil)
		require.NoError(t, err)
		<-terminal.Done()
		path := strings.TrimPrefix(v.view.TerminalPath("s", terminal.ID()), v.view.Path())
		response := v.request("GET", path+form, nil)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response, string(body)
	}
	valid := strings.ToValidUTF8(strings.ReplaceAll(written.String(), "\xff", "\ufffd"), "\ufffd\ufffd")
	shown := strings.Replace(valid, progress, "100 %\n", 1)
	for i, form := range []string{"/text", "/text/valid"} {
		whole := []string{shown, valid}[i]
		response, got := text("count", 16<<20, form)
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.Equal(t, "text/plain; charset=utf-8", response.Header.Get("Content-Type"))
		require.Equal(t, "nosniff", response.Header.Get("X-Content-Type-Options"))
		require.Equal(t, "no-store", response.Header.Get("Cache-Control"))
		require.True(t, whole == got, "%s: %d bytes in place of %d", form, len(got), len(whole))

		_, got = text("count", 1000, form)
		require.Regexp(t, `^\[\d+ bytes before this are not kept\]\n`, got)
		_, end, _ := strings.Cut(got, "\n")
		require.True(t, strings.HasSuffix(whole, end))
		require.Greater(t, len(end), 900)
		_, got = text("nothing", 1000, form)
		require.Empty(t, got)
	}
	require.Equal(t, http.StatusNotFound, v.request("GET", "terminals/none/text", nil).StatusCode)
}

// Neither output nor names end the element of the page that contains them, or change the page in any other way.
func TestFirstEventsStayText(t *testing.T) {
	const nasty = "</script><!--<script>]]>&amp;\u2028\u2029\x1b]0;x\x07VERSION FIRST " +
		"\xff\xc3\xed\xa0\x80\r\n\nevent: end\n\n"
	m := acptermtest.NewManager(t, &acpterm.Options{
		Runner: acptermtest.Commands{"make": acptermtest.Print(nasty+"\x00end\n", 0)},
	})
	v := newViewer(t, m, view.Options{})
	v.view.NameSession("s", nasty)
	terminal := v.create("s", "make", nasty)
	<-terminal.Done()
	for _, path := range []string{"", "terminals/" + keyOf(terminal)} {
		var body string
		require.Eventually(t, func() bool {
			response := v.request("GET", path, nil)
			require.Equal(t, http.StatusOK, response.StatusCode)
			text, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			body = string(text)
			return strings.Contains(body, `end\\n`)
		}, timeout, time.Millisecond)
		before, rest, found := strings.Cut(body, `<script type="application/json" id="first">`)
		require.True(t, found)
		content, after, _ := strings.Cut(rest, "</script>\n")
		require.Equal(t, "<noscript>This page needs JavaScript.</noscript>\n</body>\n</html>\n", after)
		require.NotContains(t, before, "FIRST")
		require.NotContains(t, content, "\n")
		require.NotContains(t, content, "<")
		require.NotContains(t, content, ">")
		require.NotContains(t, content, "\u2028")
		require.Contains(t, content, "VERSION FIRST")
		var first struct{ Table, Key, Output string }
		require.NoError(t, json.Unmarshal([]byte(content), &first))
		for line := range strings.SplitSeq(first.Table+first.Output, "\n") {
			require.Regexp(t, `^(|event: (table|status)|id: \d+-\d+|data: \{.*\})$`, line)
		}
		response := v.request("GET", path, nil)
		require.Equal(t, "no-store", response.Header.Get("Cache-Control"))
		require.NotContains(t, body, token)
	}
}

// A download has the bytes as written, and a name.
func TestDownload(t *testing.T) {
	v := newViewer(t, acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{"npm": acptermtest.Print("\x1b[31mred\xff\r\n", 0)}}), view.Options{})
	terminal, err := v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "npm", Args: []string{"run", "../\"é\nbuild"}}, nil)
	require.NoError(t, err)
	<-terminal.Done()
	response := v.request("GET", "terminals/"+keyOf(terminal)+"/download", nil)
	require.Equal(t, "\x1b[31mred\xff\r\n", string(must(io.ReadAll(response.Body))))
	require.Regexp(t, `^attachment; filename="npm-run-\.\.-build-\d{8}-\d{6}\.log"$`, response.Header.Get("Content-Disposition"))
	require.Equal(t, http.StatusNotFound, v.request("GET", "terminals/none/download", nil).StatusCode)
}

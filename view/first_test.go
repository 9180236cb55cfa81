package view_test

// The events that a page contains.

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
)

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

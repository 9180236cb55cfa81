package view_test

// Streams of output: live, from an offset, complete or with the number of missed bytes, and independent of each other.

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
	"github.com/stretchr/testify/require"
)

// stop sends a stop request, and returns the status.
func (v *viewer) stop(id string) int {
	return v.request("POST", "terminals/"+id+"/stop", func(r *http.Request) {
		r.Header.Set("Acp-Terminal", "stop")
	}).StatusCode
}

func TestOutputIsLiveAndStaysAfterTheRelease(t *testing.T) {
	t.Parallel()
	v, terminal, texts := newSteps(t)
	s := v.open(output(terminal), "")
	texts <- "one\n"
	text, _, _ := s.text(func(text string) bool { return text == "one\n" })
	require.Equal(t, "one\n", text, "while it runs")
	require.Equal(t, acpterm.StateRunning, terminal.State())
	texts <- "two\xe2\x82"
	texts <- "\xac\n"
	close(texts)
	text, missed, ended := s.text(nil)
	require.Equal(t, "two€\n", text)
	require.Zero(t, missed)
	require.True(t, ended)

	require.NoError(t, v.Release(t.Context(), "s", terminal.ID()))
	text, missed, ended = v.open(output(terminal), "").text(nil)
	require.Equal(t, "one\ntwo€\n", text)
	require.Zero(t, missed)
	require.True(t, ended)
}

func TestStreamResumes(t *testing.T) {
	v, terminal, texts := newSteps(t)
	var whole strings.Builder
	lastID := ""
	for i := range 8 { // a new connection for each line
		line := fmt.Sprintf("line %d é\n", i)
		texts <- line
		s := v.open(output(terminal), lastID)
		text, missed, _ := s.text(func(text string) bool { return strings.HasSuffix(text, line) })
		require.Zero(t, missed)
		whole.WriteString(text)
		s.close()
		lastID = s.lastID
	}
	close(texts)
	var want strings.Builder
	for i := range 8 {
		fmt.Fprintf(&want, "line %d é\n", i)
	}
	require.Equal(t, want.String(), whole.String(), "without a gap or a repeat")
	text, _, _ := v.open(output(terminal)+"?offset=7", "").text(nil)
	require.Equal(t, want.String()[7:], text)
	text, _, ended := v.open(output(terminal), "999999").text(nil)
	require.Empty(t, text)
	require.True(t, ended, "an offset beyond the end")
	for _, bad := range []string{"-1", "x", "1e3"} {
		require.Equal(t, http.StatusBadRequest, v.request("GET", output(terminal)+"?offset="+bad, nil).StatusCode)
	}
	require.Equal(t, http.StatusNotFound, v.request("GET", "terminals/term_none/output", nil).StatusCode)
}

func TestDeniedCommandHasAStatusAndNoOutput(t *testing.T) {
	v := newViewer(t, made(t, acptermtest.Commands{"rm": acptermtest.Block}, acpterm.Options{Policy: denyRemovals}),
		view.Options{AllowStop: true})
	v.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "rm"}, nil)
	rows := make(map[string]tableRow)
	v.open("events", "").table(rows, all(map[string]string{"rm": "denied"}))
	s := v.open("terminals/"+rows["rm"].Key+"/output", "")
	e, ok := s.next()
	require.True(t, ok)
	require.Equal(t, "status", e.kind)
	e, _ = s.next()
	require.Equal(t, "end", e.kind)
	require.Equal(t, http.StatusNotFound, v.stop(rows["rm"].Key))
}

func TestSlowReaderMissesOutputAndBlocksNothing(t *testing.T) {
	const lines, line = 1 << 20, "0123456789012345678901234567890\n" // 32 MiB, of which 1 MiB is retained
	start := make(chan struct{})
	v := newViewer(t, made(t, acptermtest.Commands{"flood": func(p *acptermtest.Process) int {
		p.Write([]byte("first\n"))
		<-start
		for range lines / 1024 {
			p.Write([]byte(strings.Repeat(line, 1024)))
		}
		p.Write([]byte("last\n"))
		return 0
	}}, acpterm.Options{}), view.Options{})
	terminal := v.create("s", "flood")
	s := v.open(output(terminal), "")
	first, _, _ := s.text(func(text string) bool { return text == "first\n" })
	close(start)
	<-terminal.Done() // while the page reads nothing
	text, missed, ended := s.text(nil)
	require.True(t, ended)
	require.Positive(t, missed)
	require.Equal(t, terminal.OutputTotal(), missed+int64(len(first)+len(text)), "every byte is shown or counted")
	require.True(t, strings.HasSuffix(text, line+"last\n"), "the end is sent")
	require.GreaterOrEqual(t, len(text), 64<<10-len(line), "at least the tail of a running command")
}

func TestNewPageReceivesTheEndOfALongOutput(t *testing.T) {
	t.Parallel()
	v := newViewer(t, made(t, acptermtest.Commands{"flood": func(p *acptermtest.Process) int {
		p.Write([]byte(strings.Repeat("0123456789abcde\n", 8<<20/16)))
		return acptermtest.Block(p)
	}}, acpterm.Options{Commands: acpterm.CommandOptions{OutputByteLimit: 16 << 20}}), view.Options{})
	terminal := v.create("s", "flood")
	for terminal.OutputTotal() < 8<<20 {
		time.Sleep(time.Millisecond)
	}
	seen := int64(0)
	text, missed, _ := v.open(output(terminal),
		"").text(func(text string) bool { seen = int64(len(text)); return seen == 1<<20 })
	require.EqualValues(t, 7<<20, missed)
	require.EqualValues(t, 1<<20, len(text))
}

func TestStreamAfterTheOutputIsClosed(t *testing.T) {
	m := acptermtest.NewManager(t, &acpterm.Options{})
	v := newViewer(t, m, view.Options{AllowStop: true})
	terminal := v.create("s", "sh", "-c", "echo bye; exec >&- 2>&-; exec sleep 1000")
	s := v.open(output(terminal), "")
	s.text(func(text string) bool { return text == "bye\n" })
	require.Equal(t, http.StatusAccepted, v.stop(keyOf(terminal)))
	var last tableRow
	for {
		e, ok := s.next()
		require.True(t, ok, "no end event")
		if e.kind == "end" {
			break
		}
		if e.kind == "status" {
			last = decode[struct{ Row tableRow }](t, e.data).Row
		}
	}
	require.Equal(t, "stopped", last.State)
	require.False(t, last.Stopping)
	require.Equal(t, "signal SIGTERM", last.Status)
}

func TestStreamsAreBounded(t *testing.T) {
	v := newViewer(t, made(t, acptermtest.Commands{"serve": acptermtest.Block}, acpterm.Options{}),
		view.Options{MaxStreams: 2})
	terminal := v.create("s", "serve")
	events, one := v.open("events", ""), v.open(output(terminal), "")
	one.next()
	events.next()
	for _, path := range []string{"events", output(terminal)} {
		refused := v.request("GET", path, nil)
		require.Equal(t, http.StatusServiceUnavailable, refused.StatusCode)
		require.NotEmpty(t, refused.Header.Get("Retry-After"))
	}
	require.Equal(t, http.StatusOK, v.request("GET", "", nil).StatusCode, "the page is not a stream")
	one.close()
	require.Eventually(t, func() bool {
		response := v.request("GET", "events", nil)
		return response.StatusCode == http.StatusOK
	}, time.Minute, 5*time.Millisecond)
}

func TestCloseEndsStreamsOnly(t *testing.T) {
	v := newViewer(t, made(t, acptermtest.Commands{"serve": acptermtest.Block}, acpterm.Options{}), view.Options{})
	terminal := v.create("s", "serve")
	streams := []*stream{v.open("events", ""), v.open(output(terminal), ""), v.open(output(terminal), "")}
	for _, s := range streams {
		s.next()
	}
	require.NoError(t, v.view.Close())
	for _, s := range streams {
		for ok := true; ok; _, ok = s.next() {
		}
	}
	require.Equal(t, acpterm.StateRunning, terminal.State())
	require.Equal(t, http.StatusServiceUnavailable, v.request("GET", "events", nil).StatusCode)
	require.NoError(t, v.view.Close())
}

func TestServersTimeoutsDoNotEndStreams(t *testing.T) {
	t.Parallel()
	const timeout = 50 * time.Millisecond
	v, terminal, texts := newSteps(t, func(server *httptest.Server) {
		server.Config.ReadTimeout, server.Config.WriteTimeout = timeout, timeout
		server.Config.ReadHeaderTimeout = time.Minute // the request itself may take its time
	})
	s := v.open(output(terminal), "")
	texts <- "one"
	s.text(func(text string) bool { return text == "one" })
	<-time.After(3 * timeout)
	texts <- "two"
	text, _, _ := s.text(func(text string) bool { return text == "two" })
	require.Equal(t, "two", text)
	close(texts)
}

func TestConcurrentStreams(t *testing.T) {
	v, terminal, texts := newSteps(t)
	var pages sync.WaitGroup
	got := make([]string, 10)
	for i := range got {
		s := v.open(output(terminal), "")
		pages.Go(func() { got[i], _, _ = s.text(nil) })
	}
	var want strings.Builder
	for i := range 200 {
		line := fmt.Sprintf("line %d\n", i)
		want.WriteString(line)
		texts <- line
	}
	close(texts)
	pages.Wait()
	for _, text := range got {
		require.Equal(t, want.String(), text)
	}
}

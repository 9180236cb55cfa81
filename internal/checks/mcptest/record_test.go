package mcptest

// The recording of messages: on standard input and output by a process between the client and the server, and over HTTP
// by a proxy.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/mcpserver"
)

func TestMain(m *testing.M) {
	mcpserver.RunRelay()
	if len(os.Args) > 3 && os.Args[1] == recordArgument {
		os.Exit(recordProgram(os.Args[2], os.Args[3], os.Args[4:]))
	}
	racetest.Main(m)
}

// message is a JSON-RPC message as it was on the wire.
type message struct {
	FromClient bool   `json:"fromClient"`
	Text       string `json:"text"`
}

// recordArgument makes the test binary record a program's messages:
//
//	mcptest.test record DIRECTORY PROGRAM [ARGUMENT...]
const recordArgument = "record"

// recordProgram runs a program, writes its messages to a new file in dir, and returns its exit code.
func recordProgram(dir, program string, arguments []string) int {
	to, err := os.CreateTemp(dir, "messages-*")
	if err != nil {
		panic(err)
	}
	encoder := json.NewEncoder(to)
	var mu sync.Mutex
	record := func(fromClient bool, text string) {
		mu.Lock()
		defer mu.Unlock()
		if err := encoder.Encode(message{fromClient, text}); err != nil {
			panic(err)
		}
	}
	cmd := exec.Command(program, arguments...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		panic(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	go func() {
		copyLines(in, os.Stdin, func(line string) { record(true, line) })
		in.Close()
	}()
	copyLines(os.Stdout, out, func(line string) { record(false, line) })
	err = cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(1, exit.ExitCode())
	} else if err != nil {
		panic(err)
	}
	return 0
}

// copyLines copies lines, each after it has been recorded.
func copyLines(to io.Writer, from io.Reader, record func(string)) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			record(line)
			io.WriteString(to, line)
		}
		if err != nil {
			return
		}
	}
}

// readRecordings returns the messages in each file of recordProgram.
func readRecordings(t *testing.T, dir string) (sessions [][]message) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "messages-*"))
	require.NoError(t, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var messages []message
		for line := range strings.Lines(string(data)) {
			var m message
			require.NoError(t, json.Unmarshal([]byte(line), &m))
			messages = append(messages, m)
		}
		sessions = append(sessions, messages)
	}
	return sessions
}

// proxy is an HTTP proxy in front of a server.
type proxy struct {
	url string // of the server's path

	mu       sync.Mutex
	messages []message
}

// newProxy returns a proxy that records messages, and adds the header Authorization if it is not empty: some clients
// cannot set it. In Host and Origin headers, the server's address replaces the proxy's. Others are kept.
func newProxy(t *testing.T, server, authorization string) *proxy {
	t.Helper()
	p := new(proxy)
	target, err := url.Parse(server)
	require.NoError(t, err)
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host})
			r.Out.Host = r.In.Host
			if p.url == "http://"+r.In.Host+target.Path {
				r.Out.Host = target.Host
			}
			if r.In.Header.Get("Origin") == "http://"+r.In.Host {
				r.Out.Header.Set("Origin", "http://"+r.Out.Host)
			}
			if authorization != "" {
				r.Out.Header.Set("Authorization", authorization)
			}
		},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ModifyResponse: func(r *http.Response) error {
			switch strings.Split(r.Header.Get("Content-Type"), ";")[0] {
			case "application/json":
				r.Body = &recordedBody{ReadCloser: r.Body, end: p.server}
			case "text/event-stream":
				r.Body = &recordedBody{ReadCloser: r.Body, event: p.server}
			}
			return nil
		},
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && len(body) > 0 {
			p.add(message{true, string(body)})
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		forward.ServeHTTP(w, r)
	}))
	p.url = "http://" + s.Listener.Addr().String() + target.Path
	s.Start()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return p
}

func (p *proxy) server(text string) { p.add(message{false, text}) }

func (p *proxy) add(m message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.messages = append(p.messages, m)
}

// recordings returns the messages so far.
func (p *proxy) recordings(*testing.T) [][]message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return [][]message{slices.Clone(p.messages)}
}

// recordedBody is the body of a response. It calls event with the data of each server-sent event, and end with the
// whole body.
type recordedBody struct {
	io.ReadCloser
	event, end func(string)
	text       []byte
}

func (b *recordedBody) Read(to []byte) (int, error) {
	n, err := b.ReadCloser.Read(to)
	b.text = append(b.text, to[:n]...)
	for b.event != nil {
		event, rest, ok := bytes.Cut(b.text, []byte("\n\n"))
		if !ok {
			break
		}
		b.text = rest
		var data []string
		for line := range strings.Lines(string(event)) {
			if value, ok := strings.CutPrefix(line, "data:"); ok {
				data = append(data, strings.TrimSpace(value))
			}
		}
		if text := strings.Join(data, "\n"); text != "" {
			b.event(text)
		}
	}
	if err == io.EOF && b.end != nil {
		b.end(string(b.text))
		b.end = nil
	}
	return n, err
}

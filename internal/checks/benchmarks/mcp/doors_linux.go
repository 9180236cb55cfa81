package main

// The doors of the second table: terminal/* and MCP on Managers with the same options, and the other servers.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/internal/checks/benchmarks/bench"
	"github.com/acpterm/acpterm/mcpserver"
)

func doors(servers []server) []door {
	all := []door{
		{"`terminal/*`, in one process", openACP(inProcessACP)},
		{"`terminal/*`, stdio", openACP(stdioACP)},
		{"mcpserver, stdio", childMCP("serve-mcp", false)},
		{"mcpserver, stdio, `run` and `release`", childMCP("serve-mcp", true)},
		{"mcpserver, HTTP", httpMCP},
	}
	for _, s := range servers {
		all = append(all, door{s.name + ", stdio", s.open})
	}
	return all
}

// newManager returns the Manager of all doors, except for acpterm-mcp, which has policies, too.
func newManager() *acpterm.Manager {
	m, err := acpterm.NewManager(nil)
	if err != nil {
		panic(err)
	}
	return m
}

// acp is an agent's side of a connection.
type acp func() (conn io.ReadWriteCloser, closeConn func() error, err error)

// openACP runs commands as package agent does: create, wait_for_exit, output, release.
func openACP(connect acp) func(context.Context) (func(context.Context) error, func() error, error) {
	return func(ctx context.Context) (func(context.Context) error, func() error, error) {
		stream, closeConn, err := connect()
		if err != nil {
			return nil, nil, err
		}
		none := jsonrpc2.HandlerWithError(func(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) (any, error) {
			return nil, errors.ErrUnsupported
		})
		conn := jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(stream), none)
		client := agent.NewClient(conn, acpterm.ClientCapabilities{Terminal: true}, nil)
		call := func(ctx context.Context) error {
			request := acpterm.CreateTerminalRequest{SessionID: "s", Command: "true"}
			r, err := client.Run(ctx, request, agent.RunOptions{})
			if err == nil && r.Outcome != agent.Completed {
				err = fmt.Errorf("true: %s", r.Outcome)
			}
			return err
		}
		return call, func() error { conn.Close(); return closeConn() }, nil
	}
}

func inProcessACP() (io.ReadWriteCloser, func() error, error) {
	near, far := net.Pipe()
	m := newManager()
	h := acpterm.NewHandler(m, nil)
	jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(h.Filter(context.Background(), far)), h)
	return near, m.Close, nil
}

func stdioACP() (io.ReadWriteCloser, func() error, error) {
	cmd, stdin, stdout, err := startChild("serve-acp")
	if err != nil {
		return nil, nil, err
	}
	return agentproc.JoinStdio(stdout, stdin), cmd.Wait, nil
}

func childCommand(name string) *exec.Cmd {
	line := bench.Self(name)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Stderr = os.Stderr
	return cmd
}

// startChild starts a child with pipes.
func startChild(name string) (cmd *exec.Cmd, stdin io.WriteCloser, stdout io.ReadCloser, err error) {
	cmd = childCommand(name)
	if stdin, err = cmd.StdinPipe(); err != nil {
		return nil, nil, nil, err
	}
	if stdout, err = cmd.StdoutPipe(); err != nil {
		return nil, nil, nil, err
	}
	return cmd, stdin, stdout, cmd.Start()
}

func serveACP([]string) error {
	m := newManager()
	h := acpterm.NewHandler(m, nil)
	conn := h.Filter(context.Background(), agentproc.JoinStdio(os.Stdin, os.Stdout))
	<-jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(conn), h).DisconnectNotify()
	return m.Close()
}

// callRun returns the call of a door, for an MCP session.
func callRun(t tools, release func(context.Context, string) error) func(context.Context) error {
	return func(ctx context.Context) error {
		a, err := t.run(ctx, "true")
		if err == nil && release != nil {
			err = release(ctx, a.id)
		}
		return err
	}
}

func (t acptermTools) release(ctx context.Context, id string) error {
	_, err := t.CallTool(ctx, &mcp.CallToolParams{Name: "release", Arguments: map[string]any{"id": id}})
	return err
}

func childMCP(name string, release bool) func(context.Context) (func(context.Context) error, func() error, error) {
	return func(ctx context.Context) (func(context.Context) error, func() error, error) {
		session, err := connect(ctx, &mcp.CommandTransport{Command: childCommand(name), TerminateDuration: time.Minute})
		if err != nil {
			return nil, nil, err
		}
		t := acptermTools{session, nil}
		if release {
			return callRun(t, t.release), session.Close, nil
		}
		return callRun(t, nil), session.Close, nil
	}
}

func serveMCP([]string) error {
	m := newManager()
	s := mcpserver.New(m, nil)
	return errors.Join(s.Run(context.Background(), &mcp.StdioTransport{}), s.Close(), m.Close())
}

// httpMCP connects to a child that serves HTTP until its standard input ends.
func httpMCP(ctx context.Context) (func(context.Context) error, func() error, error) {
	cmd, stdin, stdout, err := startChild("serve-http")
	if err != nil {
		return nil, nil, err
	}
	end := func() error { stdin.Close(); return cmd.Wait() }
	var entry mcpserver.Entry
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &entry)
	}
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	connections := &http.Transport{MaxIdleConnsPerHost: 2 * inFlight}
	client := &http.Client{Transport: withHeaders{connections, entry.Headers}}
	transport := &mcp.StreamableClientTransport{Endpoint: entry.URL, HTTPClient: client, MaxRetries: -1}
	session, err := connect(ctx, transport)
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return callRun(acptermTools{session, nil}, nil), func() error {
		session.Close() // does not wait long for the server, which ends the session in any case
		connections.CloseIdleConnections()
		return end()
	}, nil
}

// withHeaders is an http.RoundTripper that adds headers.
type withHeaders struct {
	http.RoundTripper
	headers []mcpserver.Header
}

func (w withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for _, h := range w.headers {
		r.Header.Set(h.Name, h.Value)
	}
	return w.RoundTripper.RoundTrip(r)
}

func serveHTTP([]string) error {
	m := newManager()
	s := mcpserver.New(m, nil)
	l, err := mcpserver.Listen(nil)
	if err != nil {
		return errors.Join(err, m.Close())
	}
	const initialize = `{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":true}}}`
	entry, err := s.Entry(l, "", json.RawMessage(initialize))
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(entry)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, os.Stdin)
	}
	return errors.Join(err, l.Close(), s.Close(), m.Close())
}

// open makes a server a door.
func (s server) open(ctx context.Context) (func(context.Context) error, func() error, error) {
	dir, err := os.MkdirTemp("", "acpterm-benchmark-")
	if err != nil {
		return nil, nil, err
	}
	r, err := s.start(ctx, dir)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	return callRun(r, nil), func() error { r.close(); return os.RemoveAll(dir) }, nil
}

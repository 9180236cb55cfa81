package main

// Servers, and what this program calls on each of them.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// server is an MCP server to compare.
type server struct {
	name    string
	missing error // why it cannot be started, or nil
	// command returns the command line, and prepares dir, which is the server's home and working directory. more is for
	// the server's own rows.
	command func(dir string, more ...string) (*exec.Cmd, error)
	tools   func(s *mcp.ClientSession) tools
}

// tools are a server's tools for commands, used as their descriptions tell a model to use them. Methods return
// errNoTool if the server lacks a tool.
type tools interface {
	// run runs a shell line until it ends.
	run(ctx context.Context, line string) (answer, error)
	// start starts a shell line in the background.
	start(ctx context.Context, line string) (id string, err error)
	// all reads all kept output of an ended command. calls is the number of calls.
	all(ctx context.Context, a answer) (text string, calls int, err error)
	// kill returns when the server says that a command has been killed.
	kill(ctx context.Context, id string) error
	// commands returns the server's list of commands.
	commands(ctx context.Context) (string, error)
}

var errNoTool = errors.New("the server has no tool for it")

// answer is a result of a call.
type answer struct {
	id    string // of the command, for other calls
	text  string
	model int    // how many bytes the model receives
	cut   string // the server's words about cut output, or ""
}

// running is a started server.
type running struct {
	tools
	session *mcp.ClientSession
	process *os.Process
}

// start starts a server and connects to it.
func (s server) start(ctx context.Context, dir string, more ...string) (*running, error) {
	cmd, err := s.command(dir, more...)
	if err != nil {
		return nil, err
	}
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "HOME="+dir, "TMPDIR="+dir, "PATH="+os.Getenv("PATH"), "SHELL=/bin/sh", "LANG=C.UTF-8")
	transport := &mcp.CommandTransport{Command: cmd}
	session, err := connect(ctx, transport)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return &running{s.tools(session), session, cmd.Process}, nil
}

func connect(ctx context.Context, t mcp.Transport) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "acpterm-benchmark", Version: "1"}, nil)
	return client.Connect(ctx, t, nil)
}

// close ends the session, and with it the server. The server may have been killed.
func (r *running) close() {
	done := make(chan struct{})
	go func() {
		r.session.Close()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		r.process.Kill()
		<-done
	}
}

// call calls a tool. It returns the result's text, and how many bytes of it a model receives: clients pass on either
// the text or the structured content, so the larger counts.
func call(ctx context.Context, s *mcp.ClientSession, tool string, arguments map[string]any) (
	result *mcp.CallToolResult, a answer, err error,
) {
	result, err = s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return nil, a, err
	}
	for _, c := range result.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			a.text += c.Text
		}
	}
	a.model = len(a.text)
	if result.StructuredContent != nil {
		encoded, err := json.Marshal(result.StructuredContent)
		if err != nil {
			return nil, a, err
		}
		a.model = max(a.model, len(encoded))
	}
	return result, a, nil
}

// servers returns all servers. built is the path of acpterm-mcp.
func servers(built string) []server {
	return []server{
		acptermServer(built),
		npmServer("desktop-commander", "@wonderwhy-er/desktop-commander", "dist/index.js", desktopCommander{}),
		npmServer("mcp-server-commands", "mcp-server-commands", "build/index.js", serverCommands{}),
	}
}

// npmTools is a server of npm.
type npmTools interface {
	// configure prepares the home directory, and returns the server's arguments and environment.
	configure(home string) (arguments, env []string, err error)
	tools(s *mcp.ClientSession) tools
}

// npmServer returns a server of npm, from testdata/mcp. If it is not installed, missing says so.
func npmServer(name, module, script string, t npmTools) server {
	s := server{name: name, tools: t.tools}
	node, err := exec.LookPath("node")
	if err != nil {
		s.missing = fmt.Errorf("%s: %w", name, err)
		return s
	}
	dir, err := modules()
	if err != nil {
		s.missing = fmt.Errorf("%s: %w", name, err)
		return s
	}
	dir = filepath.Join(dir, module)
	var description struct{ Version string }
	text, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err == nil {
		err = json.Unmarshal(text, &description)
	}
	if err != nil {
		s.missing = fmt.Errorf("%s: npm ci --ignore-scripts --prefix internal/checks/benchmarks/testdata/mcp has not been run", name)
		return s
	}
	s.name += " " + description.Version
	s.command = func(home string, _ ...string) (*exec.Cmd, error) {
		arguments, env, err := t.configure(home)
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(node, append([]string{filepath.Join(dir, script)}, arguments...)...)
		cmd.Env = env
		return cmd, nil
	}
	return s
}

// modules returns the directory of npm's modules. The working directory is the root of the repository, this package's
// or the one above.
func modules() (string, error) {
	for _, dir := range []string{"internal/checks/benchmarks/testdata/mcp", "testdata/mcp", "../testdata/mcp"} {
		if _, err := os.Stat(filepath.Join(dir, "package.json")); err == nil {
			return filepath.Abs(filepath.Join(dir, "node_modules"))
		}
	}
	return "", errors.New("testdata/mcp is not here; run this program in the repository's root")
}

// after returns text after the first occurrence of a separator, or all of it.
func after(text, separator string) string {
	if _, rest, ok := strings.Cut(text, separator); ok {
		return rest
	}
	return text
}

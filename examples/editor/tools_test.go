package main

// Agents that use the tools, over both transports.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/mcpserver"
	"github.com/acpterm/acpterm/policy"
)

// transports has the capabilities of agents.
var transports = map[string]map[string]any{
	"http":  {"mcpCapabilities": map[string]bool{"http": true}},
	"stdio": {},
}

// authorized adds the headers of an entry.
type authorized []mcpserver.Header

func (headers authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for _, h := range headers {
		r.Header.Set(h.Name, h.Value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// connectTools connects an agent to an MCP server of its session.
func connectTools(ctx context.Context, entry *mcpserver.Entry) (*mcp.ClientSession, error) {
	var transport mcp.Transport = &mcp.StreamableClientTransport{
		Endpoint: entry.URL, HTTPClient: &http.Client{Transport: authorized(entry.Headers)}, MaxRetries: -1,
	}
	if entry.URL == "" {
		relay := exec.Command(entry.Command, entry.Args...)
		relay.Env = os.Environ()
		for _, v := range entry.Env {
			relay.Env = append(relay.Env, v.Name+"="+v.Value)
		}
		transport = &mcp.CommandTransport{Command: relay}
	}
	return mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(ctx, transport, nil)
}

// runTool runs a part of the test binary as a tool, and returns the text for the model.
func runTool(ctx context.Context, s *mcp.ClientSession, name string, more map[string]any) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	arguments := map[string]any{"command": self, "args": []string{name}}
	for key, value := range more {
		arguments[key] = value
	}
	result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "run", Arguments: arguments})
	if err != nil {
		return "", err
	}
	text := result.Content[0].(*mcp.TextContent).Text
	if result.IsError {
		return "", errors.New(text)
	}
	return text, nil
}

// newToolsFixture returns a fixture whose agent is connected to the tools.
func newToolsFixture(t *testing.T, rules policy.Rules, capabilities map[string]any) (*fixture, *mcp.ClientSession) {
	f := newFixtureWith(t, rules, (*Editor).OfferTools, capabilities)
	require.Len(t, f.servers, 1)
	s, err := connectTools(t.Context(), f.servers[0])
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return f, s
}

// background is for commands that run until they are ended.
var background = map[string]any{"wait_ms": 0}

// One agent uses both the tools and terminal/*, and both have panes until the conversation is closed.
func TestCommandsOfToolsHavePanes(t *testing.T) {
	for name, capabilities := range transports {
		t.Run(name, func(t *testing.T) {
			f, s := newToolsFixture(t, allow(t), capabilities)
			require.Equal(t, name == "http", f.servers[0].Type == "http")
			text, err := runTool(t.Context(), s, "greet", nil)
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(text, "hello\n["), text)
			id, err := f.run("greet")
			require.NoError(t, err)
			panes := f.editor.Panes()
			require.Len(t, panes, 2)
			require.Equal(t, id, panes[1].terminal.ID())
			for _, p := range panes {
				require.False(t, p.OfAgent())
				f.awaitDrawn(p, func(text, state string) bool {
					return text == "hello\n" && state == "finished, exit code 0"
				})
			}
			_, err = runTool(t.Context(), s, "stay", background)
			require.NoError(t, err)
			p := f.editor.Panes()[2]
			f.awaitDrawn(p, func(text, _ string) bool { return text == "ready\n" })
			p.Stop()
			p.Stop()
			<-p.terminal.Done()
			require.NoError(t, f.talk.Close(t.Context()))
			require.Empty(t, f.editor.Panes())
			require.Empty(t, f.editor.owners)
			_, err = runTool(t.Context(), s, "greet", nil)
			require.Error(t, err)
		})
	}
}

func TestWithoutOfferThereAreNoTools(t *testing.T) {
	require.Empty(t, newFixture(t, policy.Rules{}).servers)
}

func TestToolsStayInTheProject(t *testing.T) {
	f, s := newToolsFixture(t, allow(t), nil)
	_, err := runTool(t.Context(), s, "greet", map[string]any{"cwd": ".."})
	require.ErrorContains(t, err, "outside of the directories")
	_, err = runTool(t.Context(), s, "greet", map[string]any{"cwd": f.project})
	require.NoError(t, err)
}

func TestTheUserIsAskedAboutCommandsOfTools(t *testing.T) {
	for name, capabilities := range transports {
		t.Run(name, func(t *testing.T) {
			f, s := newToolsFixture(t, policy.Rules{}, capabilities)
			f.answers <- refuse
			_, err := runTool(t.Context(), s, "greet", nil)
			require.ErrorContains(t, err, "it was not approved")
			require.Contains(t, (<-f.asked).Text, "greet")
			require.Empty(t, f.editor.Panes())
			f.answers <- runInSession
			for range 2 { // the second time nobody is there to answer
				_, err = runTool(t.Context(), s, "greet", nil)
				require.NoError(t, err)
			}
			require.Len(t, f.asked, 1)
		})
	}
}

// The agent asks for permission in its session, and then runs the command as a tool: the user is asked once.
func TestAPermissionIsForToolsToo(t *testing.T) {
	f, s := newToolsFixture(t, policy.Rules{}, nil)
	f.answers <- runOnce
	require.NoError(t, f.agent.Call(t.Context(), "session/request_permission", map[string]any{
		"sessionId": "s1",
		"toolCall": map[string]any{"toolCallId": "c1", "title": "Greet", "kind": "execute",
			"rawInput": map[string]any{"command": executable(t), "args": []string{"greet"}}},
		"options": []map[string]string{{"optionId": "y", "name": "Yes", "kind": "allow_once"}},
	}, nil))
	<-f.asked
	_, err := runTool(t.Context(), s, "greet", nil)
	require.NoError(t, err)
	require.Empty(t, f.asked)
}

// A cancel of the turn withdraws a question about a command of a tool.
func TestACancelWithdrawsQuestionsOfTools(t *testing.T) {
	f, s := newToolsFixture(t, policy.Rules{}, nil)
	_, err := f.talk.Prompt("go")(t.Context())
	require.NoError(t, err)
	failed := make(chan error, 1)
	go func() {
		_, err := runTool(t.Context(), s, "greet", nil)
		failed <- err
	}()
	<-f.asked
	f.talk.Cancel()
	<-f.withdrawn
	require.ErrorContains(t, <-failed, "not approved")
	require.Empty(t, f.editor.Panes())
}

// The commands of an agent end with it, although its MCP sessions may be connected by HTTP.
func TestTheAgentsEndEndsItsTools(t *testing.T) {
	for name, capabilities := range transports {
		t.Run(name, func(t *testing.T) {
			f, s := newToolsFixture(t, allow(t), capabilities)
			_, err := runTool(t.Context(), s, "linger", background)
			require.NoError(t, err)
			p := f.editor.Panes()[0]
			require.NoError(t, f.agent.Close())
			<-p.terminal.Released()
			require.Len(t, f.editor.Panes(), 1) // it can still be read
		})
	}
}

func TestQuitWithoutPatienceEndsTools(t *testing.T) {
	f, s := newToolsFixture(t, allow(t), transports["http"])
	_, err := runTool(t.Context(), s, "stay", background)
	require.NoError(t, err)
	p := f.editor.Panes()[0]
	f.awaitDrawn(p, func(text, _ string) bool { return text == "ready\n" })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, f.editor.Quit(ctx))
	require.Equal(t, "SIGKILL", *p.terminal.Output().ExitStatus.Signal)
}

// A conversation has one name, on the screen and on the page, for all of its sessions.
func TestNames(t *testing.T) {
	var url string
	f := newFixtureWith(t, allow(t), func(e *Editor) (err error) {
		url, err = e.ServePage("127.0.0.1:0")
		return errors.Join(err, e.OfferTools())
	}, transports["http"])
	s, err := connectTools(t.Context(), f.servers[0])
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	_, err = runTool(t.Context(), s, "greet", nil)
	require.NoError(t, err)
	_, err = f.run("flood")
	require.NoError(t, err)
	project := filepath.Base(f.project)
	await := func(name string) {
		t.Helper()
		awaitEvent(t, url, `"`+name+`"`, "greet")
		awaitEvent(t, url, `"`+name+`"`, "flood")
		require.Eventually(t, func() bool { return f.title.Load() == name }, time.Minute, time.Millisecond)
	}
	await(project)
	update := func(title any) {
		f.update("s1", map[string]any{"sessionUpdate": "session_info_update", "title": title})
	}
	update(" Fix the tests\n")
	await("Fix the tests")
	update(1) // not a title
	f.update("s1", map[string]any{"sessionUpdate": "session_info_update"})
	update(nil)
	await(project)
	update("a\u202eb" + strings.Repeat("x", 10_000))
	long := func() bool { return strings.HasPrefix(f.talk.names.Name(), `a\u202eb`) }
	require.Eventually(t, long, time.Minute, time.Millisecond)
	require.Less(t, len(f.talk.names.Name()), 300)
}

// awaitEvent reads the events of a page until one contains all texts.
func awaitEvent(t *testing.T, url string, texts ...string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"events", nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	events := bufio.NewScanner(response.Body)
	events.Buffer(nil, 1<<20)
	for events.Scan() {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(events.Text(), text) }) {
			return
		}
	}
	require.Fail(t, "no such event", "%q", texts)
}

// serveToolsAgent is an agent on standard input and output that runs each prompt as a tool, through the relay.
func serveToolsAgent() {
	var tools *mcp.ClientSession
	handler := func(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
		switch req.Method {
		case "session/new":
			var params struct{ MCPServers []*mcpserver.Entry }
			err := json.Unmarshal(*req.Params, &params)
			if err == nil {
				tools, err = connectTools(context.Background(), params.MCPServers[0])
			}
			return map[string]any{"sessionId": "s1"}, err
		case "session/prompt":
			var params struct{ Prompt []struct{ Text string } }
			if err := json.Unmarshal(*req.Params, &params); err != nil {
				return nil, err
			}
			text, err := runTool(ctx, tools, params.Prompt[0].Text, background)
			if err != nil {
				text = err.Error()
			}
			conn.Notify(ctx, "session/update", map[string]any{"sessionId": "s1", "update": map[string]any{
				"sessionUpdate": "agent_message_chunk", "content": map[string]string{"type": "text", "text": text}}})
			return map[string]string{"stopReason": "end_turn"}, nil
		}
		return map[string]any{"protocolVersion": 1}, nil
	}
	stdio := agentproc.JoinStdio(os.Stdin, os.Stdout)
	conn := jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(stdio),
		jsonrpc2.AsyncHandler(jsonrpc2.HandlerWithError(handler)))
	<-conn.DisconnectNotify()
}

func TestToolsOnTheScreen(t *testing.T) {
	term := runEditor(t, "tools-agent")
	term.await(`— Watch at http://127.0.0.1:\d+/`)
	term.press("stay" + enter)
	term.await(`wants to run a command(.|\n)*▸ Do not run it`)
	term.press(up + up + enter)
	term.await(`● 1 .*running · (.|\n)*\nready`)
	term.press("greet" + enter)
	term.await(`wants to run a command(.|\n)*▸ Do not run it`)
	term.press(enter)
	term.await(`it\s+was\s+not\s+approved`)
	term.quit()
}

package programs

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/mcpserver"
	"github.com/acpterm/acpterm/view"
)

func TestMain(m *testing.M) { racetest.Main(m) }

// newManager returns a Manager whose commands run in testdata/vite. Without npm or the project's packages the test is
// skipped, or fails if the environment requires them.
func newManager(t *testing.T) *acpterm.Manager {
	dir, err := filepath.Abs("testdata/vite")
	require.NoError(t, err)
	if _, err = exec.LookPath("npm"); err == nil {
		_, err = os.Stat(filepath.Join(dir, "node_modules"))
	}
	if err != nil && os.Getenv("ACPTERM_REQUIRE_NPM") == "" {
		t.Skipf("vite is not there (npm ci --prefix internal/checks/programs/testdata/vite installs it): %v", err)
	}
	require.NoError(t, err)
	return acptermtest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{
		Dir: dir, Env: append(os.Environ(), "npm_config_update_notifier=false"),
	}})
}

// The link to vite's server reaches a model, and the page, and disappears with the server, although the command runs on.
func TestViteListens(t *testing.T) {
	m := newManager(t)
	model := connect(t, m)
	text := call(t, model, "run", map[string]any{"command": "npm run dev; sleep 1000", "wait_ms": 600_000})
	found := regexp.MustCompile(`, listening on (http://localhost:\d+)`).FindStringSubmatch(text)
	require.NotNil(t, found, text)
	link := found[1]
	response, err := http.Get(link)
	require.NoError(t, err)
	html, err := io.ReadAll(response.Body)
	response.Body.Close()
	require.NoError(t, err)
	require.Contains(t, string(html), "A page of vite")
	require.Contains(t, string(html), "/@vite/client")

	term := m.Terminals()[0]
	processes, err := term.Processes(t.Context())
	require.NoError(t, err)
	var server acpterm.ProcessInfo
	for _, p := range processes {
		if len(p.Listening) > 0 {
			require.Zero(t, server.PID, "two processes listen")
			server = p
		}
	}
	require.Contains(t, server.Command, "vite")
	require.Len(t, server.Listening, 1)
	require.Equal(t, link[strings.LastIndexByte(link, ':')+1:], strconv.Itoa(int(server.Listening[0].Port())))
	rows := openPage(t, m, term)
	awaitRow(t, rows, `"listening":"`+link+`"`, true)
	require.NoError(t, syscall.Kill(server.PID, syscall.SIGTERM))
	awaitRow(t, rows, `"listening"`, false)
	require.NotContains(t, call(t, model, "output", map[string]any{"id": string(term.ID())}), link+"\n")
	require.Equal(t, acpterm.StateRunning, term.State())
}

// connect connects a client of MCP to the manager.
func connect(t *testing.T, m *acpterm.Manager) *mcp.ClientSession {
	s := mcpserver.New(m, nil)
	here, there := mcp.NewInMemoryTransports()
	served := make(chan error, 1)
	go func() { served <- s.Run(t.Context(), there) }()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(t.Context(), here, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		client.Close()
		<-served
		require.NoError(t, s.Close())
	})
	return client
}

// call returns the text of a tool's result.
func call(t *testing.T, client *mcp.ClientSession, tool string, arguments any) (text string) {
	result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(t, err)
	for _, c := range result.Content {
		text += c.(*mcp.TextContent).Text
	}
	require.False(t, result.IsError, text)
	return text
}

// openPage returns the events of a page that shows the terminal.
func openPage(t *testing.T, m *acpterm.Manager, term *acpterm.Terminal) *bufio.Scanner {
	v, err := view.New(m, nil)
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(nil)
	server.Config = v.Server()
	server.Start()
	t.Cleanup(func() {
		require.NoError(t, v.Close())
		server.Close()
	})
	key := path.Base(v.TerminalPath(term.SessionID(), term.ID()))
	response, err := http.Get(v.URL(server.Listener.Addr()) + "terminals/" + key + "/output")
	require.NoError(t, err)
	t.Cleanup(func() { response.Body.Close() })
	require.Equal(t, http.StatusOK, response.StatusCode)
	return bufio.NewScanner(response.Body)
}

// awaitRow reads events until a row of the running command contains the text, or does not.
func awaitRow(t *testing.T, events *bufio.Scanner, text string, contains bool) {
	for events.Scan() {
		if row := events.Text(); strings.Contains(row, `"state":"running"`) && strings.Contains(row, text) == contains {
			return
		}
	}
	require.FailNow(t, "the page has no such row", "%s: %v", text, events.Err())
}

// What npm test has left is in the list of processes, and Gone tells of its end and not of npm's.
func TestNpmLeavesAProcess(t *testing.T) {
	m := newManager(t)
	term, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "npm", Args: []string{"test"}}, nil)
	require.NoError(t, err)
	gone := term.Gone()
	status, err := term.Wait(t.Context())
	require.NoError(t, err)
	require.True(t, status.Success(), term.Output().Output)
	left := regexp.MustCompile(`(?m)^left (\d+)$`).FindStringSubmatch(term.Output().Output)
	require.NotNil(t, left, term.Output().Output)
	processes, err := term.Processes(t.Context())
	require.NoError(t, err)
	require.Len(t, processes, 1)
	require.Equal(t, left[1], strconv.Itoa(processes[0].PID))
	require.Equal(t, "sleep 1000", processes[0].Command)
	require.False(t, latch.IsClosed(gone))
	require.NoError(t, syscall.Kill(processes[0].PID, syscall.SIGTERM))
	<-gone
}

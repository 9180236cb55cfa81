//go:build linux

package conformance

// Real agents, unmodified from npm (pinned by testdata/agents), use acpterm-mcp as docs/mcp.md tells their users:
// Claude Code, Codex, opencode and Gemini CLI, each as its own program without a user interface. A scripted model on
// loopback decides what they do (agents_model_test.go), so they need neither a login nor a network. Their installation
// needs a network for packages not in npm's cache, and 1.5 GB of temporary files. On Linux, it includes the Node.js 22
// that the agents run with.
//
//	ACPTERM_TEST_AGENTS=1 go test -v -run '^TestAgents$' ./internal/checks/conformance
//	ACPTERM_TEST_AGENTS=/path/to/node_modules/.bin ... uses an installation

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/leaktest"
)

// agentsVariable, set to anything, makes the test install and run the agents.
const agentsVariable = "ACPTERM_TEST_AGENTS"

func TestDocumentedConfigurationOfAgents(t *testing.T) {
	page, err := os.ReadFile("../../../docs/mcp.md")
	require.NoError(t, err)
	for _, a := range agentPrograms {
		for name, text := range a.documented {
			require.Contains(t, string(page), name)
			require.Contains(t, string(page), text)
		}
		for _, change := range []change{a.unasked, a.patience(time.Minute)} {
			texts := strings.Join(slices.Collect(maps.Values(a.documented)), "")
			require.Contains(t, texts, change.old, "the change of it has no effect")
		}
	}
}

// installAgents installs the agents and acpterm-mcp, or skips the test.
func installAgents(t *testing.T) agentPlace {
	bin := os.Getenv(agentsVariable)
	if bin == "" {
		t.Skipf("it downloads agents from npm: %s=1 has it run", agentsVariable)
	}
	if !filepath.IsAbs(bin) {
		bin = npmInstall(t, "testdata/agents", "@anthropic-ai/claude-code", "opencode-ai")
	}
	tools := t.TempDir()
	build := exec.Command("go", "build", "-o", tools, "github.com/acpterm/acpterm/cmd/acpterm-mcp")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	require.NoError(t, err)
	return agentPlace{bin: bin, tools: tools, cache: strings.TrimSpace(string(cache))}
}

func TestAgents(t *testing.T) {
	place := installAgents(t)
	for _, a := range agentPrograms {
		t.Run(a.name, func(t *testing.T) {
			t.Run("works", func(t *testing.T) { a.works(t, place) })
			t.Run("gives up a call", func(t *testing.T) { a.givesUp(t, place) })
			t.Run("is interrupted", func(t *testing.T) { a.isInterrupted(t, place) })
			t.Run("is killed", func(t *testing.T) { a.isKilled(t, place) })
		})
	}
}

// What the model gets about a command, as text or as JSON.
const (
	succeeded = `\w exit code 0|"exit_code":0`
	failed    = `\w exit code 1|"exit_code":1`
	runs      = `\[\w+ running|"state":"running"`
	killed    = `ended by SIGTERM|"signal":"SIGTERM"`
)

// works makes the agent build a program, use it in the background, and ask for what is denied. A command that
// ignores SIGTERM still runs when the agent ends.
func (a agentProgram) works(t *testing.T, place agentPlace) {
	last := "go run . stubborn"
	if a.hasty {
		last = "go run ."
	}
	run := newAgentRun(t, a, []move{
		{"run", object{"command": "go vet ./broken"}, failed},
		{"run", object{"command": "go build -o server . && go version server"}, succeeded},
		{"run", object{"command": "go run .", "wait_ms": 0}, runs},
		{"wait", object{"id": theID, "until": "listening"}, `listening on 127\.0\.0\.1:\d+`},
		{"output", object{"id": theID}, `listening on 127\.0\.0\.1:\d+`},
		{"kill", object{"id": theID}, killed},
		{"run", object{"command": "touch denied"}, `(?s)` + a.refusal + `.*another way`},
		{"run", object{"command": "go env -w GOFLAGS=-x"}, `(?s)rule \\?"go env .*another way`},
		{"list", object{}, `go run \.`},
		{"run", object{"command": last, "wait_ms": 0}, runs},
		{"wait", object{"id": theID, "until": "listening"}, `listening on 127\.0\.0\.1:\d+`},
	})
	run.player.before = func(n int) {
		switch n {
		case 5:
			if said, err := run.visit(); said != "hello" {
				t.Error("the server does not answer: ", err)
			}
		case 6:
			if _, err := run.visit(); err == nil {
				t.Error("the server still runs")
			}
		}
	}
	run.start(t, place, 10*time.Minute)
	require.NoError(t, run.wait())
	run.check(t)
	require.NoFileExists(t, filepath.Join(run.dir, "denied"))
}

// givesUp makes the agent wait longer for a call than it is configured to.
func (a agentProgram) givesUp(t *testing.T, place agentPlace) {
	run := newAgentRun(t, a, []move{
		{"run", object{"command": "go run . patient unix", "wait_ms": 600_000, "kill_on_cancel": true}, a.gaveUp},
		{"list", object{}, `go run \. patient`}, // the call has returned no id
		{"wait", object{"id": theID}, killed},
	})
	run.start(t, place, 5*time.Second)
	require.NoError(t, run.wait())
	run.check(t)
}

// isInterrupted sends the agent and its children the signal of ^C during a call.
func (a agentProgram) isInterrupted(t *testing.T, place agentPlace) {
	run := a.busy(t, place)
	require.NoError(t, syscall.Kill(-run.cmd.Process.Pid, syscall.SIGINT))
	t.Log("the agent ended: ", run.wait())
}

// isKilled kills the process that has started acpterm-mcp during a call.
func (a agentProgram) isKilled(t *testing.T, place agentPlace) {
	run := a.busy(t, place)
	require.NoError(t, syscall.Kill(run.parentOfServer(t), syscall.SIGKILL))
	t.Log("the agent ended: ", run.wait())
}

// busy starts the agent, and returns during a call, whose command runs.
func (a agentProgram) busy(t *testing.T, place agentPlace) *agentRun {
	run := newAgentRun(t, a, []move{{"run", object{"command": "go run . stubborn unix", "wait_ms": 600_000}, ""}})
	run.start(t, place, 10*time.Minute)
	require.Eventually(t, func() bool {
		said, _ := run.visit()
		return said == "hello"
	}, 2*time.Minute, 20*time.Millisecond)
	return run
}

// agentPlace has the paths of the agents' programs, of acpterm-mcp and of Go's cache.
type agentPlace struct{ bin, tools, cache string }

// agentRun is a run of an agent in a project.
type agentRun struct {
	player    *player
	base, dir string            // of all its files, and of the project
	files     map[string]string // of the project or, if their names begin with ~/, of the home directory
	cmd       *exec.Cmd
	ended     chan error
}

func newAgentRun(t *testing.T, a agentProgram, moves []move) *agentRun {
	base := t.TempDir()
	return &agentRun{
		player: &player{agent: a, moves: moves},
		base:   base, dir: filepath.Join(base, "project"), ended: make(chan error, 1),
	}
}

// start starts the agent in a process group of its own. Nothing of it may be left after the test.
func (r *agentRun) start(t *testing.T, place agentPlace, patience time.Duration) {
	r.files = r.player.agent.files(patience, "-deny", "go env ...")
	maps.Copy(r.files, map[string]string{
		"go.mod":         "module example.com/server\n\ngo 1.26\n",
		"main.go":        backgroundServer,
		"broken/main.go": "package main\n\nfunc main() { missing() }\n",
	})
	r.launch(t, place)
}

// launch starts the agent with the files.
func (r *agentRun) launch(t *testing.T, place agentPlace, arguments ...string) {
	a, home := r.player.agent, filepath.Join(r.base, "home")
	model := httptest.NewServer(r.player)
	t.Cleanup(model.Close)
	r.files["~/.config/go/env"] = "GOCACHE=" + place.cache + "\nGOTOOLCHAIN=local\n"
	r.write(t)
	out, err := os.Create(filepath.Join(r.base, "output"))
	require.NoError(t, err)
	defer out.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute) // otherwise nothing ends a hanging agent
	r.cmd = exec.CommandContext(ctx, filepath.Join(place.bin, a.name), append(a.arguments(model.URL), arguments...)...)
	r.cmd.Cancel = func() error { return syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) }
	r.cmd.Dir, r.cmd.Stdout, r.cmd.Stderr = r.dir, out, out
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r.cmd.Env = append(a.env(model.URL),
		"HOME="+home, "TMPDIR="+r.base, "PATH="+strings.Join([]string{place.bin, place.tools, os.Getenv("PATH")}, ":"),
		"HTTP_PROXY="+model.URL, "HTTPS_PROXY="+model.URL, "NO_PROXY=127.0.0.1")
	require.NoError(t, r.cmd.Start())
	go func() {
		r.ended <- r.cmd.Wait()
		close(r.ended)
	}()
	t.Cleanup(func() { r.finish(t, cancel) })
}

// write writes the files.
func (r *agentRun) write(t *testing.T) {
	for name, text := range r.files {
		path := filepath.Join(r.dir, name)
		if rest, ok := strings.CutPrefix(name, "~"); ok {
			path = filepath.Join(r.base, "home", rest)
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

// wait returns when the agent has ended.
func (r *agentRun) wait() error { return <-r.ended }

// finish fails the test if the agent or a command is left.
func (r *agentRun) finish(t *testing.T, cancel func()) {
	cancel()
	r.wait()
	gone := func() bool { return len(leaktest.Running(r.base)) == 0 }
	if !assert.Eventually(t, gone, time.Minute, 20*time.Millisecond) {
		for _, stat := range leaktest.Running(r.base) {
			t.Errorf("left: %s", stat)
			syscall.Kill(must(strconv.Atoi(strings.Fields(stat)[0])), syscall.SIGKILL)
		}
	}
	_, err := r.visit()
	assert.Error(t, err, "the server still answers")
	printed, err := os.ReadFile(filepath.Join(r.base, "output"))
	t.Logf("the agent printed %s %v", printed, err)
	r.player.mu.Lock()
	defer r.player.mu.Unlock()
	t.Log("requests that were refused: ", r.player.refused)
}

// check compares the results that the model got.
func (r *agentRun) check(t *testing.T) {
	p := r.player
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, result := range p.results {
		t.Log(p.moves[i].tool, p.moves[i].input, result)
		require.Regexp(t, p.moves[i].want, result)
		if p.moves[i].want == runs {
			require.Equal(t, p.agent.structured, strings.Contains(result, `"state":`))
		}
	}
	require.Len(t, p.results, len(p.moves))
	require.False(t, p.shell, "the agent's own shell is offered")
}

// visit asks the server of the project for its answer.
func (r *agentRun) visit() (string, error) {
	address, err := os.ReadFile(filepath.Join(r.dir, "address"))
	if err != nil {
		return "", err
	}
	network, at, _ := strings.Cut(string(address), " ")
	conn, err := net.Dial(network, at)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	said, err := io.ReadAll(conn)
	return string(said), err
}

// parentOfServer returns the process that has started acpterm-mcp.
func (r *agentRun) parentOfServer(t *testing.T) int {
	for _, stat := range leaktest.Running(r.base) {
		if name, rest, _ := strings.Cut(stat, ") "); strings.HasSuffix(name, "(acpterm-mcp") {
			return must(strconv.Atoi(strings.Fields(rest)[1]))
		}
	}
	require.Fail(t, "there is no acpterm-mcp")
	return 0
}

const backgroundServer = `package main

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "stubborn" {
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
	}
	network, at := "tcp", "127.0.0.1:0"
	if len(os.Args) > 2 { // a wait does not end when it listens
		dir, _ := os.Getwd()
		network, at = "unix", dir+"/socket"
	}
	l, err := net.Listen(network, at)
	if err == nil {
		err = os.WriteFile("address", []byte(network+" "+l.Addr().String()), 0o600)
	}
	if err != nil {
		panic(err)
	}
	fmt.Println("listening on", l.Addr())
	for {
		conn, err := l.Accept()
		if err != nil {
			panic(err)
		}
		fmt.Fprint(conn, "hello")
		conn.Close()
	}
}
`

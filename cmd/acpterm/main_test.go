package main

// The real client, built once, is run with the example agent and with agents that misbehave. Both these agents
// and the commands that the agents run are the test binary itself, told by its first arguments whom to be.

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/stretchr/testify/require"
)

// secret is a variable of this process and of the clients.
const secret = "ACPTERM_TEST_SECRET"

// playMark, as the first argument, makes the test binary the part that the second one names.
const playMark = "acpterm-test-part"

// patience is how long a test waits for something: far more than any test needs.
const patience = 5 * time.Minute

// temporary is a directory that is removed after the tests.
var temporary string

// binaries returns the directory of the client, the agent and the helper. The first call builds them: fuzzing does not
// need them.
var binaries = sync.OnceValue(func() string {
	var flags []string
	info, _ := debug.ReadBuildInfo()
	if slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		flags = []string{"-race"}
	}
	build(append(flags, ".", "../../examples/agent", "../../remote/cmd/acpterm-remote")...)
	build("../../cmd/acp-terminal-check") // its many commands would take several times as long with -race
	return temporary
})

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == playMark {
		parts[os.Args[2]](os.Args[3:])
		os.Exit(0)
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	racetest.Restart()
	os.Setenv(secret, "1")
	// Mostly the tests wait for processes, and TestTerminals for commands that are ended by force.
	if err := flag.Set("test.parallel", strconv.Itoa(4+runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	var err error
	if temporary, err = os.MkdirTemp("", "acpterm-client"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(temporary)
	return m.Run()
}

// build builds programs with the go command's flags before them.
func build(args ...string) {
	args = append([]string{"build", "-o", temporary + string(filepath.Separator)}, args...)
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v: %s", err, out))
	}
}

// part is how to start the test binary as one of its parts.
func part(name string, args ...string) []string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return append([]string{self, playMark, name}, args...)
}

// line is a shell line that runs a part.
func line(name string, args ...string) string {
	words := part(name, args...)
	words[0] = `"` + words[0] + `"`
	return strings.Join(words, " ")
}

// file returns the name of a file that does not exist yet, and a function that makes it.
func file(t *testing.T) (name string, create func()) {
	name = filepath.Join(t.TempDir(), "go-on")
	return name, func() { require.NoError(t, os.WriteFile(name, nil, 0o600)) }
}

// realDir returns a new directory by its own name.
func realDir(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

func exampleAgent() []string { return []string{filepath.Join(binaries(), "agent")} }

// client is the real client, running.
type client struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout *transcript
	stderr *transcript
	alive  *transcript // ends when the agents and what they start have
}

// startClient starts the client with an agent and flags, and with nothing on its standard input.
func startClient(t *testing.T, agent []string, flags ...string) *client {
	return startClientWith(t, nil, agent, flags...)
}

func startClientWith(t *testing.T, stdin *os.File, agent []string, flags ...string) *client {
	return startClientAs(t, stdin, nil, agent, flags...)
}

func startClientAs(t *testing.T, stdin *os.File, attr *syscall.SysProcAttr, agent []string, flags ...string) *client {
	return startCommand(t, stdin, attr, clientCommand(agent, flags...))
}

func clientCommand(agent []string, flags ...string) []string {
	return slices.Concat([]string{filepath.Join(binaries(), "acpterm")}, flags, []string{"--"}, agent)
}

func startCommand(t *testing.T, stdin *os.File, attr *syscall.SysProcAttr, command []string) *client {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	c := &client{t: t, cmd: exec.CommandContext(ctx, command[0], command[1:]...)}
	c.cmd.SysProcAttr = attr
	if stdin != nil {
		c.cmd.Stdin = stdin
	}
	var stdout, stderr *os.File
	c.stdout, stdout = newTranscript(t)
	c.stderr, stderr = newTranscript(t)
	c.cmd.Stdout, c.cmd.Stderr = stdout, stderr
	var alive *os.File
	c.alive, alive = newTranscript(t)
	if runtime.GOOS != "windows" {
		c.cmd.ExtraFiles = []*os.File{alive} // which the client's children inherit
	}
	require.NoError(t, c.cmd.Start())
	stdout.Close()
	stderr.Close()
	alive.Close()
	t.Cleanup(func() {
		cancel()
		c.cmd.Wait() // in vain if the test has done it
		if t.Failed() {
			t.Logf("stdout:\n%s\nstderr:\n%s", c.stdout, c.stderr)
		}
	})
	return c
}

// exit waits until the client, every agent and what agents start have ended, and requires an exit status.
func (c *client) exit(status int) {
	c.t.Helper()
	c.cmd.Wait()
	require.Equal(c.t, status, c.cmd.ProcessState.ExitCode(), "%v", c.cmd.ProcessState)
	for _, output := range []*transcript{c.stdout, c.stderr, c.alive} {
		select {
		case <-output.ended:
		case <-time.After(patience):
			require.FailNow(c.t, "something that the client started has outlived it")
		}
	}
}

// transcript is what has come out of a pipe.
type transcript struct {
	pipe  *os.File
	ended chan struct{} // closed at the end of the pipe

	mu      sync.Mutex
	text    strings.Builder
	changed *sync.Cond
	over    bool
}

func newTranscript(t *testing.T) (*transcript, *os.File) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	s := &transcript{pipe: r, ended: make(chan struct{})}
	s.changed = sync.NewCond(&s.mu)
	go func() {
		io.Copy(s, r)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.over = true
		s.changed.Broadcast()
		close(s.ended)
	}()
	return s, w
}

func (s *transcript) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.changed.Broadcast()
	return s.text.Write(p)
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// await waits until something was written and returns what the pattern's parentheses hold.
func (s *transcript) await(t *testing.T, pattern string) string {
	t.Helper()
	expr := regexp.MustCompile(pattern)
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if match := expr.FindStringSubmatch(s.text.String()); match != nil {
			return match[len(match)-1]
		}
		require.False(t, s.over, "%q was never written", pattern)
		s.changed.Wait()
	}
}

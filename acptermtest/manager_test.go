package acptermtest_test

// That what is left is found: by managers of a test whose complaints are kept.

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

// TestMain also makes the test binary a command that waits for its input to end.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "until-eof" {
		fmt.Println("ready")
		os.Stdin.Read(make([]byte, 1))
		return
	}
	if len(os.Args) == 2 && os.Args[1] == "sleep" {
		time.Sleep(time.Hour)
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each child of the race detector's lives a second longer
	os.Exit(m.Run())
}

// complaints is a test that keeps what it is told, and whose end can be had at any time.
type complaints struct {
	testing.TB
	errors   []string
	cleanups []func()
}

func (c *complaints) Errorf(format string, args ...any) {
	c.errors = append(c.errors, fmt.Sprintf(format, args...))
}
func (c *complaints) Cleanup(f func()) { c.cleanups = append(c.cleanups, f) }
func (c *complaints) Helper()          {}

// end ends the test and returns what it was told.
func (c *complaints) end() string {
	for i := len(c.cleanups) - 1; i >= 0; i-- {
		c.cleanups[i]()
	}
	return strings.Join(c.errors, "\n")
}

// watched is a Runner that tells of each launch.
type watched struct {
	acpterm.Runner
	launched func(acpterm.Launch)
}

func (w watched) Start(ctx context.Context, l acpterm.Launch) (acpterm.Process, error) {
	w.launched(l)
	return w.Runner.Start(ctx, l)
}

type noWrap struct{}

func (noWrap) Wrap(context.Context, acpterm.Proposal) (acpterm.Wrapped, error) {
	return acpterm.Wrapped{}, nil
}

func TestNothingIsLeft(t *testing.T) {
	c := &complaints{TB: t}
	m := acptermtest.NewManager(c, nil)
	self, err := os.Executable()
	require.NoError(t, err)
	_, err = m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: self, Args: []string{"sleep"}})
	require.NoError(t, err)
	require.Empty(t, c.end())
}

func TestRealCommandsInheritTheTestsName(t *testing.T) {
	m := acptermtest.NewManager(t, nil)
	self, err := os.Executable()
	require.NoError(t, err)
	term, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: self, Args: []string{"until-eof"}})
	require.NoError(t, err)
	require.Contains(t, term.Command().Env, "ACPTERMTEST="+t.Name())
}

// A connection that nobody closed.
func TestGoroutineIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &complaints{TB: t}
		m := acptermtest.NewManager(c, &acpterm.Options{Runner: acptermtest.Commands{}})
		end, other := net.Pipe()
		conn := jsonrpc2.NewConn(t.Context(), acpterm.NewStream(end), acpterm.NewHandler(m, nil))
		complaint := c.end()
		require.Contains(t, complaint, "goroutines are left")
		require.Contains(t, complaint, "acpterm.(*Stream).ReadObject")
		other.Close()
		<-conn.DisconnectNotify()
	})
}

// What another test has running is none of its business.
func TestGoroutinesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		commands := acptermtest.Commands{"x": acptermtest.Block}
		others := acpterm.NewManager(&acpterm.Options{Runner: commands})
		create(t, others, "x")
		c := &complaints{TB: t}
		m := acptermtest.NewManager(c, &acpterm.Options{Runner: commands})
		create(t, m, "x")
		require.Empty(t, c.end())
		require.NoError(t, others.Close())
	})
}

// Of two managers in a test, the first looks when both are closed.
func TestTwoManagers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		commands := acptermtest.Commands{"x": acptermtest.Block}
		c := &complaints{TB: t}
		one := acptermtest.NewManager(c, &acpterm.Options{Runner: commands})
		two := acptermtest.NewManager(c, &acpterm.Options{Runner: commands})
		create(t, one, "x")
		create(t, two, "x")
		end, other := net.Pipe()
		conn := jsonrpc2.NewConn(t.Context(), acpterm.NewStream(end), acpterm.NewHandler(two, nil))
		require.Equal(t, 1, strings.Count(c.end(), "goroutines are left"))
		other.Close()
		<-conn.DisconnectNotify()
	})
}

func TestEventsReachTheTestsHook(t *testing.T) {
	var events []acpterm.Event
	o := acpterm.Options{
		Runner: acptermtest.Commands{"x": acptermtest.Print("", 0)},
		Events: func(e acpterm.Event) { events = append(events, e) },
	}
	bubble(t, o, func(t *testing.T, m *acpterm.Manager) {
		create(t, m, "x").Wait(t.Context())
		require.NoError(t, m.Close())
		require.Len(t, events, 3)
	})
}

func TestCloseThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		c := &complaints{TB: t}
		m := acptermtest.NewManager(c, &acpterm.Options{Runner: acptermtest.Commands{
			"x": func(*acptermtest.Process) int { <-free; return 0 },
		}})
		create(t, m, "x")
		complaint := make(chan string)
		go func() { complaint <- c.end() }()
		time.Sleep(time.Minute) // grace, force, and the looks for goroutines
		close(free)
		require.Contains(t, <-complaint, "the manager's Close: acpterm: kill:")
	})
}

// A process that carries the id of a command which a manager ran, and that the manager has nothing to do with any more.
func TestProcessIsLeft(t *testing.T) {
	needsProc(t)
	c := &complaints{TB: t}
	m := acptermtest.NewManager(c, nil)
	self, err := os.Executable()
	require.NoError(t, err)
	term, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: self, Args: []string{"sleep"}})
	require.NoError(t, err)
	require.NoError(t, m.Close())
	left := exec.Command(self, "until-eof")
	left.Env = term.Command().Env
	stdin, err := left.StdinPipe()
	require.NoError(t, err)
	stdout, err := left.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, left.Start())
	stdout.Read(make([]byte, 1)) // it is there
	complaint := c.end()
	require.Contains(t, complaint, "processes are left")
	require.Contains(t, complaint, fmt.Sprint(left.Process.Pid, " ("))
	require.NoError(t, stdin.Close())
	require.NoError(t, left.Wait())
}

func TestFileIsLeft(t *testing.T) {
	needsProc(t)
	c := &complaints{TB: t}
	acptermtest.NewManager(c, nil)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	complaint := c.end()
	require.Contains(t, complaint, "files are left")
	require.Contains(t, complaint, "pipe:[")
	require.NoError(t, r.Close())
	require.NoError(t, w.Close())
}

// needsProc is for what is looked for on Linux alone, as NewManager says.
func needsProc(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes and files are looked for on Linux")
	}
}

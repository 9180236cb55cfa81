package acptermtest_test

// NewManager finds leftovers and reports them. Here it reports to a testing.TB that records failures.

import (
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
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

// TestMain also makes the test binary a command: "read" waits for the end of its input, and "sleep" for an hour.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "read" {
		fmt.Println("ready")
		os.Stdin.Read(make([]byte, 1))
		return
	}
	if len(os.Args) == 2 && os.Args[1] == "sleep" {
		time.Sleep(time.Hour)
	}
	racetest.Restart()
	os.Exit(m.Run())
}

// failureRecorder is a testing.TB that records failures.
type failureRecorder struct {
	testing.TB
	failures []string
	cleanups []func()
}

func (r *failureRecorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}
func (r *failureRecorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *failureRecorder) Helper()          {}

// end runs the cleanups and returns the failures.
func (r *failureRecorder) end() string {
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
	return strings.Join(r.failures, "\n")
}

// self returns the path of the test binary.
func self(t *testing.T) string {
	path, err := os.Executable()
	require.NoError(t, err)
	return path
}

func TestNothingIsLeft(t *testing.T) {
	r := &failureRecorder{TB: t}
	term := create(t, acptermtest.NewManager(r, nil), self(t), "sleep")
	require.Contains(t, term.Command().Env, "ACPTERMTEST="+t.Name())
	require.Empty(t, r.end())
}

// A connection left open by the test is reported once, by the first manager.
func TestGoroutineIsLeft(t *testing.T) {
	for managers := 1; managers <= 2; managers++ {
		synctest.Test(t, func(t *testing.T) {
			r := &failureRecorder{TB: t}
			var m *acpterm.Manager
			for range managers {
				m = acptermtest.NewManager(r, &acpterm.Options{Runner: acptermtest.Commands{"x": acptermtest.Block}})
				create(t, m, "x")
			}
			end, other := net.Pipe()
			h := acpterm.NewHandler(m, nil)
			conn := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(h.Filter(t.Context(), end)), h)
			failures := r.end()
			require.Equal(t, 1, strings.Count(failures, "goroutines are left"))
			require.Contains(t, failures, "wire.(*Rest).Read")
			other.Close()
			<-conn.DisconnectNotify()
		})
	}
}

// A goroutine of the test in Follow is reported, whether it waits for output or is in the body of the loop. The compiler
// makes the iterator a function of the test.
func TestFollowIsLeft(t *testing.T) {
	for name, script := range map[string]acptermtest.Script{
		"in the body": acptermtest.Print("out", 0), "at the end of the output": acptermtest.Block,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				other := hosttest.Must(acpterm.NewManager(&acpterm.Options{Runner: acptermtest.Commands{"x": script}}))
				term := create(t, other, "x")
				r := &failureRecorder{TB: t}
				acptermtest.NewManager(r, &acpterm.Options{Runner: acptermtest.Commands{}})
				free, ended := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(ended)
					for range term.Follow(t.Context(), 0) {
						<-free
					}
				}()
				failures := r.end()
				close(free)
				require.NoError(t, other.Close())
				<-ended
				require.Contains(t, failures, "goroutines are left")
				require.Contains(t, failures, ").Follow")
			})
		})
	}
}

// Goroutines started before NewManager are not reported.
func TestOtherGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := acpterm.Options{Runner: acptermtest.Commands{"x": acptermtest.Block}}
		other := hosttest.Must(acpterm.NewManager(&o))
		create(t, other, "x")
		r := &failureRecorder{TB: t}
		create(t, acptermtest.NewManager(r, &o), "x")
		require.Empty(t, r.end())
		require.NoError(t, other.Close())
	})
}

func TestCloseThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		r := &failureRecorder{TB: t}
		m := acptermtest.NewManager(r, &acpterm.Options{Runner: acptermtest.Commands{
			"x": func(*acptermtest.Process) int { <-free; return 0 },
		}})
		create(t, m, "x")
		failures := make(chan string)
		go func() { failures <- r.end() }()
		time.Sleep(time.Minute) // longer than the grace period, the kill and the checks
		close(free)
		require.Contains(t, <-failures, "the manager's Close: acpterm: kill:")
	})
}

// A process unknown to the manager is reported if it has the environment of a terminal's command.
func TestProcessIsLeft(t *testing.T) {
	needsProc(t)
	r := &failureRecorder{TB: t}
	m := acptermtest.NewManagerWithin(r, nil, 100*time.Millisecond)
	term := create(t, m, self(t), "sleep")
	require.NoError(t, m.Close())
	left := exec.Command(self(t), "read")
	left.Env = term.Command().Env
	stdin := hosttest.Must(left.StdinPipe())
	stdout := hosttest.Must(left.StdoutPipe())
	require.NoError(t, left.Start())
	stdout.Read(make([]byte, 1)) // it has started
	failures := r.end()
	require.Contains(t, failures, "processes are left")
	require.Contains(t, failures, fmt.Sprint(left.Process.Pid, " ("))
	require.NoError(t, stdin.Close())
	require.NoError(t, left.Wait())
}

func TestFileIsLeft(t *testing.T) {
	needsProc(t)
	recorder := &failureRecorder{TB: t}
	acptermtest.NewManagerWithin(recorder, nil, 100*time.Millisecond)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	failures := recorder.end()
	require.Contains(t, failures, "files are left")
	require.Contains(t, failures, "pipe:[")
	require.NoError(t, r.Close())
	require.NoError(t, w.Close())
}

func needsProc(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NewManager checks processes and files on Linux only")
	}
}

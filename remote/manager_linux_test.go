package remote

// A Manager with a real helper, connected by pipes.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/stretchr/testify/require"
)

// children returns the functions for childVariable.
func children() map[string]func() { return map[string]func(){"relay": relay} }

// relay runs a shell in another session and forwards its input, as ssh does for a shell on another machine.
func relay() {
	os.Unsetenv(childVariable)
	shell := exec.Command("sh")
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	shell.Stdin, shell.Stdout = struct{ io.Reader }{os.Stdin}, os.Stdout // its input passes through this process
	shell.Run()
}

// markVariable is in the environment of remote processes.
const markVariable = "REMOTE_TEST_MARK"

// farEnd is a remote side on this system, with its own environment.
type farEnd struct {
	Command
	mark string
	last atomic.Pointer[commandProcess]
}

func newFarEnd(args ...string) *farEnd {
	mark := fmt.Sprintf("%s=%d-%d", markVariable, os.Getpid(), marks.Add(1))
	return &farEnd{mark: mark, Command: Command{Args: args, Env: []string{"PATH=" + os.Getenv("PATH"), mark}}}
}

var marks atomic.Int64

func (f *farEnd) Open(ctx context.Context) (io.ReadWriteCloser, error) {
	shell, err := f.Command.Open(ctx)
	if err == nil {
		f.last.Store(shell.(*commandProcess))
	}
	return shell, err
}

func (f *farEnd) requireNothing(t testing.TB) {
	t.Helper()
	require.Eventually(t, func() bool { return len(leaktest.Running(f.mark+"\x00")) == 0 }, time.Minute, 5*time.Millisecond,
		"processes are left at the far end")
}

// newFarManager returns a Manager with a Runner. When the test ends, nothing of them may be left.
func newFarManager(t testing.TB, far *farEnd, transport Transport) (*acpterm.Manager, *Runner) {
	t.Helper()
	t.Cleanup(func() { far.requireNothing(t) })
	r := newRunner(t, Options{Transport: transport, Helpers: realHelpers(t), Dir: t.TempDir()})
	m, err := acpterm.NewManager(&acpterm.Options{Runner: r})
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	return m, r
}

func create(t testing.TB, m *acpterm.Manager, line string) *acpterm.Terminal {
	t.Helper()
	terminal, err := m.Create(testContext(t), lineRequest(line), nil)
	require.NoError(t, err)
	return terminal
}

func lineRequest(line string) acpterm.CreateTerminalRequest {
	return acpterm.CreateTerminalRequest{
		SessionID: "s", Command: "sh", Args: []string{"-c", line}, OutputByteLimit: new(uint64(16 << 20)),
	}
}

// waitOutput waits until the output is text.
func waitOutput(t testing.TB, terminal *acpterm.Terminal, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return terminal.Output().Output == text }, time.Minute, time.Millisecond)
}

// Commands run with the remote environment and directory, and get nothing from the local ones.
func TestManager(t *testing.T) {
	t.Setenv("HOST_ONLY", "1")
	far := newFarEnd("sh")
	home := t.TempDir()
	far.Env = append(far.Env, "HOME="+home+"//") // an unclean path
	m, r := newFarManager(t, far, far)
	dir, _, err := r.Base(testContext(t))
	require.NoError(t, err)
	require.Equal(t, home, dir)
	terminal := create(t, m, "env; pwd; sleep 100 & exit 4")
	status, err := terminal.Wait(testContext(t))
	require.NoError(t, err)
	require.Equal(t, uint32(4), *status.ExitCode)
	require.NotContains(t, terminal.Output().Output, "HOST_ONLY")
	require.Contains(t, terminal.Output().Output, far.mark)
	require.Contains(t, terminal.Output().Output, "\n"+home+"\n")
	require.NoError(t, terminal.Kill(testContext(t)))
	require.NoError(t, m.Release(testContext(t), "s", terminal.ID()))
}

// When the connection is lost, each running command reports it, nothing is left on the remote side, and the next
// connection works.
func TestConnectionLost(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	far := newFarEnd(self)
	far.Env = append(far.Env, childVariable+"=relay", "GORACE=atexit_sleep_ms=0")
	m, r := newFarManager(t, far, far)
	for round := range longtest.Times(2, 100) {
		var terminals []*acpterm.Terminal
		for _, line := range []string{
			"echo ready; exec sleep 600", "setsid sleep 600 & echo ready; wait", "echo ready; setsid sleep 600",
			"(setsid setsid sleep 600 >/dev/null 2>&1 &); echo ready; kill -STOP $$",
		} {
			terminals = append(terminals, create(t, m, line))
		}
		for _, terminal := range terminals {
			waitOutput(t, terminal, "ready\n")
		}
		waits := make(chan error, len(terminals))
		for _, terminal := range terminals {
			go func() {
				_, err := terminal.Wait(testContext(t))
				waits <- err
			}()
		}
		require.NoError(t, far.last.Load().cmd.Process.Kill())
		for range terminals {
			require.ErrorIs(t, <-waits, acpterm.ErrConnectionLost, "round %d", round)
		}
		far.requireNothing(t)
		for _, terminal := range terminals {
			require.Equal(t, "ready\n", terminal.Output().Output)
			require.ErrorIs(t, m.Release(testContext(t), "s", terminal.ID()), acpterm.ErrConnectionLost)
		}
	}
	require.NoError(t, r.Connect(testContext(t)))
	status, err := create(t, m, "exit 7").Wait(testContext(t))
	require.NoError(t, err)
	require.Equal(t, uint32(7), *status.ExitCode)
}

// A host that was stopped while it waited for an answer, as in a paused container, does not give the remote side up.
func TestAStopIsNoSilence(t *testing.T) {
	var failure error
	for _, silence := range []float64{3, 15} { // the second for a machine that needs a second to start a shell
		far := newFarEnd("sh")
		m, r := newFarManager(t, far, far)
		r.options.SilenceTimeout = time.Duration(silence) * time.Second
		// The command stops the helper, for longer than the time between pings, and then this process.
		line := "kill -STOP $PPID; sleep %g; (sleep %g; kill -CONT %[3]d $PPID) & kill -STOP %[3]d; wait; exit 7"
		terminal, err := m.Create(testContext(t), lineRequest(fmt.Sprintf(line, silence/2, silence+1, os.Getpid())), nil)
		if err == nil {
			_, err = terminal.Wait(testContext(t))
		}
		if failure = err; failure == nil {
			require.Equal(t, "exit code 7", terminal.Output().ExitStatus.String())
			break
		}
	}
	require.NoError(t, failure)
}

// The connection is lost under load, while commands write, and others are created, killed and released. Each call and
// each event then reports only the lost connection.
func TestConnectionLostUnderLoad(t *testing.T) {
	const commands = 30
	rounds := longtest.Times(2, 20)
	self, err := os.Executable()
	require.NoError(t, err)
	far := newFarEnd(self)
	far.Env = append(far.Env, childVariable+"=relay", "GORACE=atexit_sleep_ms=0")
	m, _ := newFarManager(t, far, far)
	for round := range rounds {
		var running []*acpterm.Terminal
		for i := range commands {
			line := "echo ready; exec sleep 600"
			if i%10 == 0 {
				line = "echo ready; exec yes"
			}
			running = append(running, create(t, m, line))
		}
		for _, terminal := range running {
			for range terminal.Follow(testContext(t), 0) {
				break
			}
		}
		connection := far.last.Load()
		load := beginLoad(t, m)
		waits := make(chan error, len(running))
		for i, terminal := range running {
			wait := func() error {
				_, err := terminal.Wait(testContext(t))
				return err
			}
			go func() {
				if i%3 == 0 { // its release begins at the loss, or a moment before
					<-load.begun
					<-connection.exited.Done()
					m.Release(testContext(t), "s", terminal.ID())
				}
				waits <- wait()
			}()
		}
		<-load.begun
		require.NoError(t, connection.cmd.Process.Kill())
		for range running {
			require.ErrorIs(t, <-waits, acpterm.ErrConnectionLost, "round %d", round)
		}
		for _, terminal := range running {
			require.Equal(t, acpterm.EndedByLostConnection, terminal.EndedBy(), "round %d", round)
		}
		load.end(t)
		for _, terminal := range running {
			m.Release(testContext(t), "s", terminal.ID())
		}
	}
}

// load is a set of goroutines that create, kill and release terminals until the connection is lost or end is called.
type load struct {
	begun   chan struct{} // closed when each has created a terminal
	over    atomic.Bool
	running sync.WaitGroup
	errs    chan error // errors other than a lost connection
}

func beginLoad(t *testing.T, m *acpterm.Manager) *load {
	const lanes = 8
	l := &load{begun: make(chan struct{}), errs: make(chan error, 3*lanes)}
	var first sync.WaitGroup
	first.Add(lanes)
	for range lanes {
		l.running.Go(func() {
			began := sync.OnceFunc(first.Done)
			defer began()
			for lost := false; !lost && !l.over.Load(); {
				lost = l.use(t.Context(), m)
				began()
			}
		})
	}
	go func() {
		first.Wait()
		close(l.begun)
	}()
	return l
}

// use creates, kills and releases a terminal, and reports whether the connection was lost.
func (l *load) use(ctx context.Context, m *acpterm.Manager) (lost bool) {
	check := func(err error) {
		lost = lost || err != nil
		if err != nil && !errors.Is(err, acpterm.ErrConnectionLost) {
			l.errs <- err
		}
	}
	terminal, err := m.Create(ctx, acpterm.CreateTerminalRequest{
		SessionID: "s", Command: "sh", Args: []string{"-c", "exec sleep 600"},
	}, nil)
	if check(err); err != nil {
		return lost
	}
	check(terminal.Kill(ctx))
	_, err = terminal.Wait(ctx)
	if check(err); err != nil && terminal.EndedBy() != acpterm.EndedByLostConnection {
		l.errs <- fmt.Errorf("ended by %s", terminal.EndedBy())
	}
	m.Release(ctx, "s", terminal.ID()) // its error is the kill's
	return lost
}

func (l *load) end(t *testing.T) {
	t.Helper()
	l.over.Store(true)
	l.running.Wait()
	close(l.errs)
	for err := range l.errs {
		require.NoError(t, err)
	}
}

// A name or a directory that does not exist on any system, however long, fails only its call and does not end the
// connection.
func TestLongTexts(t *testing.T) {
	far := newFarEnd("sh")
	_, r := newFarManager(t, far, far)
	require.NoError(t, r.Connect(testContext(t)))
	connection := r.link.connection
	long := strings.Repeat("\xff", 1<<20)
	for _, name := range []string{long, "/" + long, "./" + long, strings.Repeat("a/", 1<<19)} {
		_, err := r.LookPath(testContext(t), acpterm.Command{Args: []string{name}, Dir: "/", Env: []string{"PATH=/bin"}})
		require.Error(t, err)
		require.NotErrorIs(t, err, acpterm.ErrConnectionLost)
		_, err = r.LookPath(testContext(t), acpterm.Command{Args: []string{"sh"}, Dir: "/" + name})
		require.Error(t, err)
		_, err = r.RealDir(testContext(t), "/"+name)
		require.Error(t, err)
		start := startRequest(new(lines))
		start.Command = acpterm.Command{
			Args: []string{"x"}, Path: "/" + name, Dir: "/", Env: []string{lookup.TerminalVariable + "=term_1"},
		}
		_, err = r.Start(testContext(t), start)
		require.Error(t, err)
	}
	require.NoError(t, r.Connect(testContext(t)))
	require.Same(t, connection, r.link.connection)
}

// A cancelled start leaves nothing behind, whenever it is cancelled.
func TestCancelledStarts(t *testing.T) {
	far := newFarEnd("sh")
	m, r := newFarManager(t, far, far)
	require.NoError(t, r.Connect(testContext(t)))
	none := len(leaktest.Running(far.mark + "\x00"))
	tries := longtest.Times(30, 100)
	for i := range tries {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*10*time.Millisecond/time.Duration(tries))
		terminal, err := m.Create(ctx, acpterm.CreateTerminalRequest{
			SessionID: "s", Command: "sh", Args: []string{"-c", "setsid sleep 600 & sleep 600"},
		}, nil)
		cancel()
		if err == nil {
			require.NoError(t, m.Release(testContext(t), "s", terminal.ID()))
		} else {
			require.True(t, errors.Is(err, acpterm.ErrCancelled), err)
		}
		require.Len(t, leaktest.Running(far.mark+"\x00"), none, "create %d", i)
	}
	c := r.link.connection
	require.Eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.processes) == 0
	}, time.Minute, time.Millisecond, "closed processes are forgotten")
}

// realHelpers returns Options.Helpers with the helper for this system.
func realHelpers(t testing.TB) fs.FS { return os.DirFS(BuiltForTests(t)) }

// BuiltForTests returns the directory of the helper for this system and of the program "testchild". They are built
// once.
func BuiltForTests(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "acpterm-remote-test-"); built.err != nil {
			return
		}
		if built.err = Build(context.Background(), "", built.dir, runtime.GOOS, runtime.GOARCH); built.err != nil {
			return
		}
		child := exec.Command("go", "build", "-o", built.dir,
			"github.com/acpterm/acpterm/internal/terminaltest/children/testchild")
		child.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := child.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	require.NoError(t, built.err)
	return built.dir
}

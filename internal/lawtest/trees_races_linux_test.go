package lawtest

// Law 3 under load, for trees that are hard to find: programs that start one another and exit, daemons that execute
// themselves, creates whose context ends, stopped trees, and killed hosts.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/internal/procfs"
	testchildren "github.com/acpterm/acpterm/internal/terminaltest/children"
	"github.com/acpterm/acpterm/journal"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// treeScript is the program of the trees' processes: ROLE [NUMBER].
const treeScript = `#!/bin/sh
silent() { setsid "$0" "$@" </dev/null >/dev/null 2>&1 & }
case $1 in
sleep) exec sleep 300 ;;
session) setsid "$0" sleep & "$0" sleep & wait ;;
daemon) silent sleep; exit 0 ;;
relay) silent relay2; exit 0 ;;
relay2) silent relay3; exit 0 ;;
relay3) exec "$0" sleep ;;
reexecs) silent reexec "$2"; exit 0 ;;
reexec) if [ "$2" -gt 0 ]; then exec "$0" reexec $(($2 - 1)); fi; exec sleep 300 ;;
chain) if [ "$2" -gt 0 ]; then silent chain $(($2 - 1)); exit 0; fi; exec sleep 300 ;;
linked) if [ "$2" -gt 0 ]; then silent linked $(($2 - 1)); fi; exec sleep 300 ;;
threes) n=0; while [ $n -lt "$2" ]; do setsid "$0" three & n=$((n + 1)); done; wait ;;
three) sleep 300 & sleep 300 & wait ;;
esac
`

func writeTreeScript(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tree")
	require.NoError(t, os.WriteFile(path, []byte(treeScript), 0o700))
	return path
}

// treeRoles are trees of about three processes, and longer chains.
var treeRoles = [][]string{
	{"session"}, {"daemon"}, {"relay"}, {"chain", "10"}, {"linked", "5"}, {"reexecs", "200"},
}

// raceTree creates a tree and ends it, both at a random moment, and returns the error.
func raceTree(m *acpterm.Manager, script string, i int) error {
	rnd := rand.New(rand.NewPCG(uint64(i), 3))
	mark := fmt.Sprintf("%s_TREE=%d-%d", leaktest.Variable, os.Getpid(), i)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cancelled := i%5 == 0
	if cancelled {
		defer time.AfterFunc(time.Duration(rnd.Int64N(int64(8*time.Millisecond))), cancel).Stop()
	}
	role := treeRoles[rnd.IntN(len(treeRoles))]
	name, value := mark[:len(leaktest.Variable)+5], mark[len(leaktest.Variable)+6:]
	term, err := m.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s", Command: script, Args: role,
		Env: []acpterm.EnvVariable{{Name: name, Value: value}}}, nil)
	switch {
	case err == nil:
		if i%4 > 0 { // otherwise immediately, while processes leave the session and become programs
			time.Sleep(time.Duration(rnd.Int64N(int64(20 * time.Millisecond))))
		}
		var ending sync.WaitGroup
		var killed error
		if rnd.IntN(2) == 0 {
			ending.Go(func() { killed = term.Kill(context.Background()) })
		}
		err = m.Release(context.Background(), "s", term.ID())
		ending.Wait()
		err = errors.Join(err, killed)
	case cancelled && errors.Is(err, acpterm.ErrCancelled):
		err = nil
	}
	if left := leaktest.Running(mark + "\x00"); len(left) > 0 {
		err = fmt.Errorf("%q is left, and the error is %v", left, err)
	}
	if err != nil {
		return fmt.Errorf("tree %d, %q: %w", i, role, err)
	}
	return nil
}

// hostOfTrees is the child that creates and ends trees, and prints errors: SCRIPT COUNT. It may not call pidfd_open.
func hostOfTrees(args []string) {
	if err := refuseCall(unix.SYS_PIDFD_OPEN, unix.EPERM); err != nil {
		panic(err)
	}
	m := hosttest.Must(acpterm.NewManager(&acpterm.Options{Commands: acpterm.CommandOptions{Escalation: quickly}}))
	inParallel(hosttest.Number(args[1]), func(i int) {
		if err := raceTree(m, args[0], 1_000_000+i); err != nil {
			fmt.Println(err)
		}
	})
	if err := m.Close(); err != nil {
		fmt.Println(err)
	}
}

func TestTreesThatAreHardToFind(t *testing.T) {
	alsoOnOneProcessor(t)
	underLoad(t)
	m := hosttest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Escalation: quickly}})
	script := writeTreeScript(t)
	inParallel(runsOf(200), func(i int) {
		if err := raceTree(m, script, i); err != nil {
			t.Error(err)
		}
	})
}

func TestTreesWherePidfdOpenIsRefused(t *testing.T) {
	t.Parallel()
	underLoad(t)
	host := exec.Command(hosttest.Executable(), hosttest.ChildMark, "host-of-trees", writeTreeScript(t), fmt.Sprint(runsOf(50)))
	said, err := host.CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Empty(t, string(said))
}

// headless is the child whose main thread exits while another keeps running.
func headless([]string) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() { // the main goroutine has left the main thread
		panic(syscall.Exec("/proc/self/exe", os.Args, nil))
	}
	testchildren.Ready()
	os.Stdout.Close()
	go time.Sleep(testchildren.SoLong)
	unix.Syscall(unix.SYS_EXIT, 0, 0, 0)
}

// A process that is beginning a program or exiting has no environment at that moment. Nor does one without variables
// whose main thread has exited. In another session such a process does not belong to a tree: an end neither waits for
// it nor reports it.
func TestStrangersWithoutAnEnvironmentAreNoSurvivors(t *testing.T) {
	m := hosttest.NewManager(t, &acpterm.Options{
		Commands: acpterm.CommandOptions{Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGKILL}}},
	})
	older := startStranger(t)
	term := hosttest.CreateReady(t, m, hosttest.ChildRequest("sleep"))
	younger := startStranger(t)
	require.NoError(t, term.Kill(t.Context()))
	for _, pid := range []int{older, younger} {
		p, err := new(procfs.Table).Read(pid)
		require.NoError(t, err)
		require.True(t, p.MainExited)
	}
}

// startStranger starts a process without an environment, in the session of a shell, and returns its number.
func startStranger(t *testing.T) (pid int) {
	line := append([]string{"-c", `/usr/bin/env -i "$0" "$@" & wait`}, hosttest.ChildArgs("headless")...)
	shell := exec.Command("/bin/sh", line...)
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdout := hosttest.Must(shell.StdoutPipe())
	require.NoError(t, shell.Start())
	t.Cleanup(func() {
		unix.Kill(-shell.Process.Pid, unix.SIGKILL)
		shell.Wait()
	})
	_, err := fmt.Fscan(stdout, &pid)
	require.NoError(t, err)
	awaitHeadless(t, pid)
	return pid
}

// awaitHeadless waits until the main thread of a process has exited.
func awaitHeadless(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		p, err := new(procfs.Table).Read(pid)
		return err == nil && p.MainExited
	}, time.Minute, time.Millisecond)
}

// A stopped process receives SIGTERM immediately, without waiting for the grace period.
func TestStoppedTreesEndWithinTheGrace(t *testing.T) {
	underLoad(t)
	m := hosttest.NewManager(t, &acpterm.Options{
		Commands: acpterm.CommandOptions{Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: time.Hour}}},
	})
	script := writeTreeScript(t)
	for range longtest.Times(4, 100) {
		term := hosttest.Create(t, m, hosttest.CommandRequest(script, "threes", "25"))
		mark := "ACPTERM_TERMINAL=" + string(term.ID())
		var members []string
		for len(members) < 1+25*3 {
			members = leaktest.Processes(mark)
		}
		for _, stat := range members {
			var pid int
			fmt.Sscan(stat, &pid)
			require.NoError(t, unix.Kill(pid, unix.SIGSTOP)) // none was ended, so the number is its own
		}
		require.NoError(t, term.Kill(t.Context())) // which would take an hour
		require.Equal(t, "SIGTERM", *term.Output().ExitStatus.Signal)
		require.Empty(t, leaktest.Processes(mark))
	}
}

// treeHost is the child that creates and ends trees until it is killed: DIRECTORY SCRIPT. It keeps a journal in the
// directory.
func treeHost(args []string) {
	m := hosttest.Must(acpterm.NewManager(&acpterm.Options{
		Journal:  journal.Dir(args[0]),
		Commands: acpterm.CommandOptions{Escalation: quickly},
	}))
	fmt.Println("begun")
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		inParallel(64, func(i int) {
			term, err := m.Create(context.Background(), acpterm.CreateTerminalRequest{SessionID: "s", Command: args[1],
				Args: treeRoles[i%len(treeRoles)]}, nil)
			if err == nil && i%4 > 0 {
				m.Release(context.Background(), "s", term.ID())
			}
		})
	}
}

func TestRecoverAfterHostsThatWereKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	underLoad(t)
	script := writeTreeScript(t)
	for i := range longtest.Times(3, 100) {
		dir := t.TempDir()
		mark := fmt.Sprintf("%s=killed-%d-%d", leaktest.Variable, os.Getpid(), i)
		host := exec.Command(hosttest.Executable(), hosttest.ChildMark, "tree-host", dir, script)
		host.Env = append(os.Environ(), mark)
		stdout := hosttest.Must(host.StdoutPipe())
		require.NoError(t, host.Start())
		_, err := bufio.NewReader(stdout).ReadString('\n')
		require.NoError(t, err)
		time.Sleep(time.Duration(i%15) * 20 * time.Millisecond) // any moment will do
		require.NoError(t, host.Process.Kill())
		host.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // of grace
		_, err = journal.Recover(ctx, dir)
		cancel()
		require.NoError(t, err)
		// A child that was about to become a command when its host died ends by itself.
		require.Eventually(t, func() bool { return len(leaktest.Running(mark+"\x00")) == 0 }, time.Minute, time.Millisecond)
		records, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, records)
	}
}

// The first signal of a step is sent, however short the step is, and a step without a Wait has the documented one.
func TestStepsWithoutAWait(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	for _, c := range []struct {
		child   string
		step    acpterm.EscalationStep
		outcome string
	}{
		{"stubborn", acpterm.EscalationStep{Signal: syscall.SIGKILL}, "SIGKILL"},
		{"polite", acpterm.EscalationStep{Signal: syscall.SIGTERM}, "exit code 7"},
		{"polite", acpterm.EscalationStep{Signal: syscall.SIGKILL, Wait: time.Minute}, "SIGKILL"},
	} {
		term := hosttest.CreateReady(t, m, hosttest.ChildRequest(c.child), &acpterm.CommandOptions{
			Escalation: []acpterm.EscalationStep{c.step},
		})
		require.NoError(t, term.Kill(t.Context()))
		require.Contains(t, term.Output().ExitStatus.String(), c.outcome)
	}
}

// Once its tree is gone, a command has neither a zombie nor descriptors, even if its terminal is kept.
func TestAnEndedTreeHoldsNothing(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	hosttest.Finish(t, m, hosttest.ChildRequest("exit", "0"))
	before := leaktest.Descriptors()
	for range 10 {
		hosttest.Finish(t, m, hosttest.ChildRequest("exit", "0"))
	}
	require.Eventually(t, func() bool {
		return leaktest.Descriptors() <= before && len(leaktest.Processes(leaktest.NewMark())) == 0
	}, time.Minute, time.Millisecond)
}

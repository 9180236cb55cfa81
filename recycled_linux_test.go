package acpterm_test

// No signal reaches a recycled number. In a pid namespace with some hundred numbers, which come round many times a
// second, innocent processes take what numbers are given away; one that is signalled fails the test. It takes root, to make
// the namespace, and a kernel with a pid_max for each (6.14).

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/linuxtest"
	"github.com/stretchr/testify/require"
)

func TestNoSignalReachesARecycledNumber(t *testing.T) {
	init := exec.Command(executable(), childArgs("namespace-init")[1:]...)
	init.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	out, err := init.CombinedOutput()
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() == cannotNamespace || os.IsPermission(err) {
		t.Skipf("this needs root and Linux 6.14: %s%v", out, err)
	}
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
}

const cannotNamespace = 77

// namespaceInit is the first process of the namespace: it makes the numbers few, starts the other part, and reaps
// what falls to it, so that numbers become free.
func namespaceInit([]string) {
	steps := []func() error{
		func() error { // before 6.14 there is one pid_max for the whole machine, which is not ours to change
			var major, minor int
			release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
			fmt.Sscanf(string(release), "%d.%d", &major, &minor)
			if major < 6 || major == 6 && minor < 14 {
				return fmt.Errorf("this is Linux %s", release)
			}
			return nil
		},
		linuxtest.MountProc,
		func() error { return os.WriteFile("/proc/sys/kernel/pid_max", []byte("400"), 0) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			fmt.Println(err)
			os.Exit(cannotNamespace)
		}
	}
	runner := start(&os.ProcAttr{Files: inherit, Env: os.Environ()}, "namespace-runner")
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if err != nil && err != syscall.EINTR {
			panic(err)
		}
		if pid == runner.Pid {
			os.Exit(status.ExitStatus())
		}
	}
}

// namespaceRunner ends terminals whose commands have exited, after it has tried to sit innocents on their numbers.
func namespaceRunner([]string) {
	m := acpterm.NewManager(&acpterm.Options{Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: 2 * time.Millisecond}}})
	ctx := context.Background()
	used := make(map[int]bool)
	comeRound, signalled := 0, 0
	commands := []string{"exit 0", "sleep 3600 & exit 0", "trap '' TERM; sleep 3600 & exit 0", "setsid sleep 3600 & exit 0"}
	const terminals = 16
	for i := range terminals {
		term, err := m.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s", Command: "sh",
			Args: []string{"-c", "echo $$; " + commands[i%len(commands)]}})
		if err != nil {
			panic(err)
		}
		if _, err := term.Wait(ctx); err != nil {
			panic(err)
		}
		leader, _, _ := strings.Cut(term.Output().Output, "\n")
		var sitting []*exec.Cmd
		for range 130 { // more than there are numbers
			innocent := exec.Command("sleep", "3600")
			innocent.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // its number is its group's and its session's
			if err := innocent.Start(); err != nil {
				panic(err)
			}
			if used[innocent.Process.Pid] {
				comeRound++
			}
			used[innocent.Process.Pid] = true
			if innocent.Process.Pid == number(leader) {
				sitting = append(sitting, innocent)
				break
			}
			innocent.Process.Kill()
			innocent.Wait()
		}
		if i%2 == 0 {
			term.Kill(ctx)
		}
		if err := m.Release(ctx, "s", term.ID()); err != nil {
			panic(err)
		}
		for _, innocent := range sitting {
			if startTime(innocent.Process.Pid) == "" {
				signalled++
			}
			innocent.Process.Kill()
			innocent.Wait()
		}
	}
	m.Close()
	fmt.Printf("%d terminals; %d times a number had come round; %d innocents signalled\n", terminals, comeRound, signalled)
	if signalled > 0 || comeRound < terminals {
		os.Exit(1)
	}
}

package lawtest

// A host that ignores signals, by its own choice or its parent's, as under nohup. Its commands do not ignore them.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/usershell"
	"github.com/stretchr/testify/require"
)

// signalReport is the final report of a host that ignores signals.
type signalReport struct {
	Ignored       map[string]string // the mask from /proc, by kind of started process
	Before, After string            // by itself
	Forgotten     []string          // signals that it ignored before, but no longer ignores
}

const ignoredByChild = "grep SigIgn /proc/self/status"

// ignoredByHost returns the mask of this process.
func ignoredByHost() string {
	status, _ := os.ReadFile("/proc/self/status")
	_, mask, _ := strings.Cut(string(status), "SigIgn:\t")
	return mask[:16]
}

// hostThatIgnores is the child that ignores SIGHUP, SIGINT and the signals with these numbers, or the signals it
// inherits. It starts everything that can be started: one of each kind, and then many from several managers. At the end
// it sends itself each of the signals.
func hostThatIgnores(args []string) {
	ctx := context.Background()
	report := signalReport{Ignored: make(map[string]string)}
	ignored := []os.Signal{syscall.SIGHUP, syscall.SIGINT}
	for _, arg := range args {
		ignored = append(ignored, syscall.Signal(hosttest.Number(arg)))
	}
	if len(args) > 0 {
		signal.Ignore(ignored...)
	}
	ignored = slices.DeleteFunc(ignored, func(sig os.Signal) bool { return !signal.Ignored(sig) })
	report.Before = ignoredByHost()
	var mu sync.Mutex
	run := func(what string, m *acpterm.Manager, options *acpterm.CommandOptions) {
		term := hosttest.Must(m.Create(ctx, shellRequest(ignoredByChild), options))
		hosttest.Must(term.Wait(ctx))
		mu.Lock()
		defer mu.Unlock()
		report.Ignored[what] = term.Output().Output
	}
	m := hosttest.Must(acpterm.NewManager(nil))
	run("a pipe", m, nil)
	run("a PTY", m, onPTY())
	run("limits", m, &acpterm.CommandOptions{Limits: &acpterm.Limits{OpenFiles: 100}})
	agent := hosttest.Must(agentproc.Start(ctx, exec.Command("/bin/sh", "-c", ignoredByChild), nil))
	report.Ignored["an agent"] = string(hosttest.Must(io.ReadAll(agent)))
	agent.Close()
	report.Ignored["a login shell"] = ignoredByLoginShell(ctx)
	var all sync.WaitGroup
	for i := range 24 {
		of := m
		if i%3 > 0 {
			of = hosttest.Must(acpterm.NewManager(nil))
		}
		all.Go(func() {
			for j := range commandsEach() {
				run(fmt.Sprint("command ", i, " ", j), of, nil)
			}
			if of != m {
				of.Close()
			}
		})
	}
	all.Wait()
	m.Close()
	for _, sig := range ignored {
		if !signal.Ignored(sig) {
			report.Forgotten = append(report.Forgotten, sig.String())
		}
	}
	report.After = ignoredByHost()
	for _, sig := range ignored {
		syscall.Kill(os.Getpid(), sig.(syscall.Signal))
	}
	json.NewEncoder(os.Stdout).Encode(report)
}

// commandsEach returns how many commands each of the 24 goroutines of such a host starts.
func commandsEach() int { return longtest.Times(3, 10) }

func ignoredByLoginShell(ctx context.Context) string {
	dir := hosttest.Must(os.MkdirTemp("", ""))
	defer os.RemoveAll(dir)
	shell := filepath.Join(dir, "shell")
	script := "#!/bin/sh\nexport IGNORED=\"$(" + ignoredByChild + ")\"\nexec /bin/sh \"$@\"\n"
	if err := os.WriteFile(shell, []byte(script), 0o700); err != nil {
		panic(err)
	}
	env := hosttest.Must(usershell.LoginEnvironment(ctx, &usershell.LoginOptions{Shell: shell}))
	ignored, _ := hosttest.Value(env.Env(), "IGNORED")
	return ignored + "\n"
}

func TestCommandsIgnoreNoSignalThatTheHostIgnores(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before string   // shell command run before the host starts
		args   []string // the signals that it ignores itself, with SIGHUP and SIGINT
	}{
		"none":      {"trap - HUP INT", nil},
		"inherited": {"trap '' HUP INT", nil},
		"itself":    {"trap - HUP INT", []string{"3", "10", "13", "15", "20", "22", "40"}},
	} {
		t.Run(name, func(t *testing.T) {
			line := append([]string{"-c", test.before + `; exec "$@"`, "sh"}, hosttest.ChildArgs("host-that-ignores", test.args...)...)
			host := exec.Command("/bin/sh", line...)
			var stderr strings.Builder
			host.Stderr = &stderr
			out, err := host.Output()
			require.NoError(t, err, "%s", stderr.String())
			var report signalReport
			require.NoError(t, json.Unmarshal(out, &report))
			require.Len(t, report.Ignored, 5+24*commandsEach())
			for what, mask := range report.Ignored {
				require.Equal(t, []string{"SigIgn:", "0000000000000000"}, strings.Fields(mask), what)
			}
			require.Equal(t, report.Before, report.After)
			require.Empty(t, report.Forgotten)
		})
	}
}

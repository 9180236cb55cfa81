package lawtest

// A host that ignores signals, by its own choice or its parent's, as under nohup. Its commands do not.

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

	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/usershell"
	"github.com/stretchr/testify/require"
)

// signalReport is what a host that ignores signals says in the end.
type signalReport struct {
	Ignored       map[string]string // by each kind of what it started: the mask, from /proc
	Before, After string            // by itself
	Forgotten     []string          // signals that it ignored, and does not any more
}

const ignoredByChild = "grep SigIgn /proc/self/status"

// ignoredByHost is the mask of this process.
func ignoredByHost() string {
	status, _ := os.ReadFile("/proc/self/status")
	_, mask, _ := strings.Cut(string(status), "SigIgn:\t")
	return mask[:16]
}

// hostThatIgnores is the child that ignores SIGHUP, SIGINT and the signals with these numbers, or what it inherits. It
// starts all that can be started: one of each kind, and then many from several managers. It sends itself each of the
// signals in the end.
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

// commandsEach is how many commands each of the 24 goroutines of such a host starts.
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
		before string   // what starts the host
		args   []string // the signals that it ignores itself, with these two
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

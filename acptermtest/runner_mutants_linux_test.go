package acptermtest_test

// TestRunner fails for a Runner that breaks one law, and for each law there is such a Runner.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
)

// enterGaps are the gaps of Enter.
var enterGaps = acptermtest.RunnerGaps{
	Limits: []string{"CPUTime", "Memory", "Processes", "OpenFiles", "FileSize", "Nice"}, Pins: true, Daemons: true,
}

// mutant is Enter with changes.
type mutant struct {
	Enter
	env     []string // more variables of Base
	realDir func(string) (string, error)
	lookUp  func(acpterm.Command) acpterm.Command
	start   func(context.Context, *acpterm.StartRequest) context.Context
	process func(acpterm.Process) acpterm.Process
}

func (m mutant) Base(ctx context.Context) (string, []string, error) {
	dir, env, err := m.Enter.Base(ctx)
	return dir, append(env, m.env...), err
}

func (m mutant) RealDir(ctx context.Context, dir string) (string, error) {
	if m.realDir != nil {
		return m.realDir(dir)
	}
	return m.Enter.RealDir(ctx, dir)
}

func (m mutant) LookPath(ctx context.Context, c acpterm.Command) (acpterm.Found, error) {
	if m.lookUp != nil {
		c = m.lookUp(c)
	}
	return m.Enter.LookPath(ctx, c)
}

func (m mutant) Start(ctx context.Context, r acpterm.StartRequest) (acpterm.Process, error) {
	if m.start != nil {
		ctx = m.start(ctx, &r)
	}
	p, err := m.Enter.Start(ctx, r)
	if err == nil && m.process != nil {
		p = m.process(p)
	}
	return p, err
}

// changed is a Process with other methods.
type changed struct {
	acpterm.Process
	wait   func() (acpterm.TerminalExitStatus, error)
	signal func(syscall.Signal)
	gone   chan struct{}
	err    error
	pid    int
}

func (c changed) Wait() (acpterm.TerminalExitStatus, error) {
	if c.wait != nil {
		return c.wait()
	}
	return c.Process.Wait()
}

func (c changed) Signal(sig syscall.Signal) {
	if c.signal != nil {
		c.signal(sig)
		return
	}
	c.Process.Signal(sig)
}

func (c changed) Gone() <-chan struct{} {
	if c.gone != nil {
		return c.gone
	}
	return c.Process.Gone()
}

func (c changed) Err() error { return c.err }
func (c changed) PID() int   { return c.Process.PID() + c.pid }

// writer is an Output that changes writes.
type writer struct {
	io.WriteCloser
	write func([]byte) []byte
	close func() error
}

func (w writer) Write(p []byte) (int, error) {
	if w.write != nil {
		_, err := w.WriteCloser.Write(w.write(p))
		return len(p), err
	}
	return w.WriteCloser.Write(p)
}

func (w writer) Close() error {
	if w.close != nil {
		return w.close()
	}
	return w.WriteCloser.Close()
}

// mutants returns for each law a Runner that breaks it.
func mutants() map[string]mutant {
	here := Enter{"env"}
	process := func(change func(acpterm.Process) changed) mutant {
		return mutant{Enter: here, process: func(p acpterm.Process) acpterm.Process {
			c := change(p)
			c.Process = p
			return c
		}}
	}
	start := func(change func(*acpterm.StartRequest)) mutant {
		return mutant{Enter: here, start: func(ctx context.Context, r *acpterm.StartRequest) context.Context {
			change(r)
			return ctx
		}}
	}
	var first sync.Once
	var shared io.WriteCloser
	return map[string]mutant{
		"Base":        {Enter: here, env: []string{"HOME=/elsewhere"}},
		"Directories": {Enter: here, realDir: func(dir string) (string, error) { return dir, nil }},
		"Programs": {Enter: here, lookUp: func(c acpterm.Command) acpterm.Command {
			c.Env = append(slices.Clone(c.Env), "PATH="+os.Getenv("PATH"))
			return c
		}},
		"Environment": start(func(r *acpterm.StartRequest) {
			r.Command.Env = append(slices.Clone(r.Command.Env), "EXTRA=1")
		}),
		"Input": {Enter: Enter{"sh", "-c", `exec "$@" </etc/passwd`, "sh"}},
		"Output": start(func(r *acpterm.StartRequest) {
			r.Output = writer{WriteCloser: r.Output, write: func(p []byte) []byte { return bytes.ToValidUTF8(p, nil) }}
		}),
		"OutputOfManyCommands": start(func(r *acpterm.StartRequest) {
			first.Do(func() { shared = r.Output })
			r.Output = shared
		}),
		"OutputAfterTheExit": start(func(r *acpterm.StartRequest) {
			r.Output = writer{WriteCloser: r.Output, close: func() error { return nil }}
		}),
		"ExitStatus": process(func(p acpterm.Process) changed {
			return changed{wait: func() (acpterm.TerminalExitStatus, error) {
				status, err := p.Wait()
				if status.Signal != nil {
					status = acpterm.TerminalExitStatus{ExitCode: new(uint32(137))}
				}
				return status, err
			}}
		}),
		"ExitBeforeTheTree": process(func(p acpterm.Process) changed {
			return changed{wait: func() (acpterm.TerminalExitStatus, error) { <-p.Gone(); return p.Wait() }}
		}),
		"Kill": process(func(p acpterm.Process) changed {
			return changed{signal: func(syscall.Signal) { p.Signal(syscall.SIGKILL) }}
		}),
		"Trees": process(func(p acpterm.Process) changed {
			return changed{gone: p.(*entered).exited}
		}),
		"Signals": process(func(p acpterm.Process) changed {
			return changed{signal: func(sig syscall.Signal) {
				p.Signal(sig)
				if sig != syscall.SIGKILL { // once more, to the clean-up
					time.AfterFunc(300*time.Millisecond, func() { p.Signal(sig) })
				}
			}}
		}),
		"Release": process(func(p acpterm.Process) changed {
			return changed{signal: func(sig syscall.Signal) {
				if sig != syscall.SIGKILL {
					p.Signal(sig)
				}
			}}
		}),
		"Close": process(func(p acpterm.Process) changed { return changed{gone: p.(*entered).exited} }),
		"CancelledCreate": {Enter: here, start: func(ctx context.Context, _ *acpterm.StartRequest) context.Context {
			return context.WithoutCancel(ctx)
		}},
		"ReplacedFiles": {Enter: here},
		"Limits":        start(func(r *acpterm.StartRequest) { r.Limits = acpterm.Limits{} }),
		"Process":       process(func(acpterm.Process) changed { return changed{err: errors.New("the tree is gone")} }),
	}
}

// said has a part of each failure.
var said = map[string]string{
	"Base":                 `not the first of its name`,
	"Directories":          `RealDir of link`,
	"Programs":             `command not found`,
	"Environment":          `EXTRA=1`,
	"Input":                `the input: `,
	"Output":               `all bytes`,
	"OutputOfManyCommands": `the output: `,
	"OutputAfterTheExit":   `Output is not closed`,
	"ExitStatus":           `the status after a signal`,
	"ExitBeforeTheTree":    `wait: terminal`,
	"Kill":                 `the status of a process that handles SIGTERM`,
	"Trees":                `a process that outlives the command, kill: a process of the tree is left`,
	"Signals":              `the status of a command that cleans up`,
	"Release":              `a release: a process of the tree is left`,
	"Close":                `a Close: a process of the tree is left`,
	"CancelledCreate":      `Start succeeds although`,
	"ReplacedFiles":        `the error after a change of`,
	"Limits":               `with the limit Memory, which is declared`,
	"Process":              `the tree is gone`,
	"PTY":                  `never printed "22 77"`,
	"Stdin":                `a Write that nothing reads returns`,
	"Processes":            `the processes of `,
}

// lawRecorder is a testing.TB that records the failures of a law, and ends it at the expected one.
type lawRecorder struct {
	failureRecorder
	expected string
	mu       sync.Mutex
}

func (r *lawRecorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	failure := fmt.Sprintf(format, args...)
	r.failures = append(r.failures, failure)
	if strings.Contains(failure, r.expected) {
		panic(lawFailed{})
	}
}

func (r *lawRecorder) Error(args ...any) { r.Errorf("%s", fmt.Sprint(args...)) }

func (r *lawRecorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

func (r *lawRecorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(lawFailed{})
}

func (r *lawRecorder) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

type lawFailed struct{}

// failures runs a law, up to the expected failure, and returns its failures.
func failures(t *testing.T, law string, m acpterm.Runner, gaps acptermtest.RunnerGaps, patience time.Duration) string {
	r := &lawRecorder{failureRecorder: failureRecorder{TB: t}, expected: said[law]}
	protect := func(f func()) {
		defer func() {
			if p := recover(); p != nil && p != (lawFailed{}) {
				panic(p)
			}
		}()
		f()
	}
	protect(func() {
		acptermtest.CheckRunnerLaw(r, law, func(testing.TB) acpterm.Runner { return m }, &gaps, patience)
	})
	for len(r.cleanups) > 0 {
		last := r.cleanups[len(r.cleanups)-1]
		r.cleanups = r.cleanups[:len(r.cleanups)-1]
		protect(last)
	}
	return strings.Join(r.failures, "\n")
}

func TestRunnerFails(t *testing.T) {
	optional := optionalMutants(t)
	for _, law := range acptermtest.RunnerLaws() {
		t.Run(law, func(t *testing.T) {
			t.Parallel()
			gaps := enterGaps
			if law == "ReplacedFiles" {
				gaps.Pins = false
			}
			for patience := time.Second; ; patience *= 4 { // until the steps before the failure are in time
				m := optional[law]
				if m == nil {
					one, ok := mutants()[law]
					require.True(t, ok, "no Runner breaks this law")
					m = one
				}
				found := failures(t, law, m, gaps, patience)
				require.NotEmpty(t, found)
				if strings.Contains(found, said[law]) {
					break
				}
				require.Less(t, patience, time.Minute, found)
			}
		})
	}
}

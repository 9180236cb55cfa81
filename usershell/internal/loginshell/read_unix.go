//go:build linux || darwin || freebsd

package loginshell

// Running a login shell on Unix.

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/acpterm/acpterm/internal/capture"
	"github.com/acpterm/acpterm/internal/life"
	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/proc"
)

// hangUpWait is the time from SIGHUP to SIGKILL.
const hangUpWait = time.Second

var errTimedOut = errors.New("timed out")

// Locate fills in the shell and the directory from the environment, or else from the password file.
func Locate(spec Spec) Spec {
	var user entry
	if file, err := os.Open("/etc/passwd"); err == nil {
		defer file.Close()
		user = readEntry(file, os.Getuid())
	}
	spec.Shell = cmp.Or(spec.Shell, lookup.Getenv(spec.Env, "SHELL"), user.shell, "/bin/sh")
	spec.Dir = cmp.Or(spec.Dir, lookup.Getenv(spec.Env, "HOME"), user.home, "/")
	return spec
}

// check fails if the spec's shell or directory cannot be used.
func check(spec Spec) error {
	switch {
	case !filepath.IsAbs(spec.Shell):
		return &Error{Reason: NotFound, Err: errNotAbsolute}
	case !supported(spec.Shell):
		return &Error{Reason: Unsupported}
	}
	if _, err := lookup.Executable(spec.Shell, nil); err != nil {
		return &Error{Reason: NotFound, Err: errnoOf(err)}
	}
	return checkDir(spec.Dir)
}

// Read runs a shell until its environment arrives, and then ends its processes. When Read returns, no process,
// goroutine or file of it remains, except for the processes in Error.PIDs, those that make it Uncertain, and, if the
// environment arrived, those with their own session which, on Linux, cannot write to the shell's output. It returns
// an *Error.
func Read(ctx context.Context, spec Spec) ([]string, error) {
	if err := check(spec); err != nil {
		return nil, err
	}
	timed, cancel := context.WithTimeoutCause(ctx, spec.Timeout, errTimedOut)
	defer cancel()
	var processes proc.Supervisor
	d := newDumper()
	tree, err := start(timed, &processes, spec, d)
	if err != nil {
		if timed.Err() != nil {
			go processes.Close() // the start may hang
			return nil, ended(timed)
		}
		processes.Close()
		return nil, &Error{Reason: NotStarted, Err: errnoOf(err)}
	}
	defer processes.Close()
	defer tree.Close()

	var busy sync.WaitGroup
	out := &output{dumper: d}
	reader := capture.Start(tree.Output(), out, &busy)
	defer reader.Stop()
	env, err := await(timed, tree, reader, out)
	if err == nil {
		tree.KeepDetached()
	}
	// The end is that of a closed terminal window, and then by force.
	left, doubt := life.End(tree, nil, life.Step{Signal: syscall.SIGHUP, Wait: hangUpWait})
	if len(left) > 0 || doubt != nil {
		failed := &Error{Reason: Survivors}
		errors.As(err, &failed)
		failed.PIDs = left
		if doubt != nil {
			failed.Uncertain, failed.Err = true, errors.Join(failed.Err, doubt)
		}
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	return result(spec.Env, env), nil
}

// start starts the shell, with the command as its argument and as its standard input.
func start(ctx context.Context, processes *proc.Supervisor, spec Spec, d dumper) (*proc.Tree, error) {
	stdin, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	_, err = io.WriteString(w, d.input(spec.Enter != "")) // fits into the pipe
	if err = cmp.Or(err, w.Close()); err != nil {
		return nil, err
	}
	stderr, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	mark := proc.Mark{Name: lookup.TerminalVariable, Value: "login_" + rand.Text()}
	marks := mark.Value
	if outer := lookup.Getenv(spec.Env, mark.Name); outer != "" {
		marks = outer + ":" + marks
	}
	set := []string{runningVariable + "=1", mark.Name + "=" + marks}
	if spec.Enter != "" {
		set = append(set, directoryVariable+"="+spec.Enter)
	}
	return processes.Start(ctx, proc.Spec{
		Path: spec.Shell, Args: arguments(spec.Shell, d.argument(spec.Enter != "")), Dir: spec.Dir,
		Env:  lookup.Merge(lookup.Exact, spec.Env, spec.Dir, set),
		Mark: mark, Stdin: stdin, Stderr: stderr,
	})
}

// await returns the environment, or an *Error when it can no longer arrive.
func await(ctx context.Context, tree *proc.Tree, reader *capture.Reader, out *output) ([]string, error) {
	exited := make(chan *Error, 1)
	tree.OnExit(func(exit proc.Exit, err error) {
		reader.Drain(func() { // reads the shell's output, even if other processes hold it open
			failed := &Error{Reason: NoDump, Err: err}
			switch {
			case out.err != nil:
				failed = &Error{Reason: Garbled}
			case err == nil:
				failed.Exit = &exit
			}
			exited <- failed
		})
	})
	var err *Error
	select {
	case <-out.done.Done():
	case err = <-exited:
	case <-ctx.Done():
		err = ended(ctx)
	}
	switch {
	case !out.done.IsSet():
		return nil, err
	case out.env == nil:
		return nil, &Error{Reason: TooMuch}
	}
	return out.env, nil
}

// ended returns the error for an ended context.
func ended(ctx context.Context) *Error {
	if cause := context.Cause(ctx); cause != errTimedOut {
		return &Error{Reason: Cancelled, Err: cause}
	}
	return &Error{Reason: TimedOut, Err: context.DeadlineExceeded}
}

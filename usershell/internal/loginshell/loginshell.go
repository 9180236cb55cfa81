// Package loginshell reads the environment that a login shell ends up with, once, in a process tree of its own:
// dump.go has the command that a shell is given and reads what that writes, shell.go finds the shell, run_unix.go runs
// it. On Windows, which has no login shells, read_windows.go asks the system. The package imports proc, capture and
// lookup, and knows nothing of terminals.
package loginshell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/proc"
)

// Spec is what to read. Locate fills in what is empty.
type Spec struct {
	Shell   string        // absolute; empty on Windows
	Dir     string        // where the shell starts, absolute; empty on Windows
	Env     []string      // what it starts with, each name once
	Timeout time.Duration // until its environment has come
	Enter   string        // a directory, absolute, to enter and run the prompt's hooks in before. Empty: neither
}

// Reason says why an environment could not be read.
type Reason string

// The reasons.
const (
	NotFound    Reason = "no such shell"                             // Err says more
	Unsupported Reason = "the shell is not supported"                // it would not understand the command
	NoDirectory Reason = "the directory cannot be entered"           // Err says why
	NotStarted  Reason = "the shell cannot be started"               // Err says why
	NoDump      Reason = "the shell ended without its environment"   // Exit says how, if that is known
	Garbled     Reason = "other output came into the environment"    // each time
	TooMuch     Reason = "the shell wrote too much"                  // more than maxOutput
	TimedOut    Reason = "the shell took too long"                   // more than Spec.Timeout
	Cancelled   Reason = "cancelled"                                 // Err is the context's cause
	Survivors   Reason = "what the shell started could not be ended" // PIDs
)

// Error is an environment that could not be read. It has nothing that the shell wrote.
type Error struct {
	Reason Reason
	Exit   *proc.Exit
	PIDs   []int // of processes that still run after SIGKILL
	Err    error
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", e.Reason, e.Err)
	}
	return string(e.Reason)
}

func (e *Error) Unwrap() error { return e.Err }

// ReadIn is Read in a directory, with what prompts run.
func ReadIn(ctx context.Context, spec Spec, dir string) ([]string, error) {
	if err := checkDir(dir); err != nil {
		return nil, err
	}
	spec.Enter = dir
	return Read(ctx, spec)
}

// checkDir fails for what cannot be a working directory. Its error does not name it: it may be a variable's value.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case !filepath.IsAbs(dir):
		err = errNotAbsolute
	case err != nil:
		err = errnoOf(err)
	case !info.IsDir():
		err = syscall.ENOTDIR
	default:
		if err = lookup.MayEnter(dir); err == nil {
			return nil
		}
	}
	return &Error{Reason: NoDirectory, Err: err}
}

var errNotAbsolute = errors.New("must be an absolute path")

// errnoOf is the system's error number without the path that os puts before it.
func errnoOf(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return err
}

// The variables that a shell is given besides Spec.Env.
const (
	runningVariable   = "ACPTERM_LOGIN_ENVIRONMENT" // 1: the person's start-up files can tell
	directoryVariable = "ACPTERM_LOGIN_DIRECTORY"   // Spec.Enter
)

// own are variables that are about the shell's own process, or about this package's.
var own = map[string]bool{
	"SHLVL": true, "_": true, "PWD": true, "OLDPWD": true, runningVariable: true, directoryVariable: true,
}

// kept are variables that stay as they were before: TERM is about a terminal, which the shell does not have.
var kept = map[string]bool{"TERM": true, lookup.TerminalVariable: true}

// result is the environment of a shell as it is handed on.
func result(before, dumped []string) (env []string) {
	for _, variable := range lookup.Once(lookup.Exact, dumped) {
		if name, _, _ := lookup.Cut(variable); !own[name] && !kept[name] {
			env = append(env, variable)
		}
	}
	for _, variable := range before {
		if name, _, _ := lookup.Cut(variable); kept[name] {
			env = append(env, variable)
		}
	}
	return env
}

// Package loginshell reads the final environment of a login shell, once, in its own process tree. dump.go has the
// command for the shell and parses its output, shell.go finds the shell, and read_unix.go runs it. On Windows, which
// has no login shells, read_windows.go asks the system. The package imports proc, capture and lookup, and does not use
// terminals.
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

// Spec specifies which environment to read. Locate fills in empty fields.
type Spec struct {
	Shell   string        // absolute; empty on Windows
	Dir     string        // where the shell starts, absolute; empty on Windows
	Env     []string      // of the shell at its start, with unique names
	Timeout time.Duration // until its environment arrives
	Enter   string        // if not empty, an absolute directory to enter first, to run the prompt's hooks there
}

// Reason is the reason why an environment could not be read.
type Reason string

const (
	NotFound    Reason = "no such shell"                             // Err says more
	Unsupported Reason = "the shell is not supported"                // it would not understand the command
	NoDirectory Reason = "the directory cannot be entered"           // Err says why
	NotStarted  Reason = "the shell cannot be started"               // Err says why
	NoDump      Reason = "the shell ended without its environment"   // Exit says how, if known
	Garbled     Reason = "other output came into the environment"    // in all attempts
	TooMuch     Reason = "the shell wrote too much"                  // more than maxOutput
	TimedOut    Reason = "the shell took too long"                   // more than Spec.Timeout
	Cancelled   Reason = "cancelled"                                 // Err is the context's cause
	Survivors   Reason = "what the shell started could not be ended" // PIDs
)

// Error is the reason why an environment could not be read. It does not contain the shell's output.
type Error struct {
	Reason Reason
	Exit   *proc.Exit
	PIDs   []int // processes that still run after SIGKILL
	// Uncertain means that other processes may run, or are exiting after SIGKILL. Err describes them.
	Uncertain bool
	Err       error
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", e.Reason, e.Err)
	}
	return string(e.Reason)
}

func (e *Error) Unwrap() error { return e.Err }

// ReadIn is Read in a directory, with the prompt's hooks.
func ReadIn(ctx context.Context, spec Spec, dir string) ([]string, error) {
	if err := checkDir(dir); err != nil {
		return nil, err
	}
	spec.Enter = dir
	return Read(ctx, spec)
}

// checkDir fails if dir cannot be a working directory. Its error does not contain dir, which may be the value of a
// variable.
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

// errnoOf returns the system's error number, without the path that os puts before it.
func errnoOf(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return err
}

// The variables that a shell gets in addition to Spec.Env.
const (
	runningVariable   = "ACPTERM_LOGIN_ENVIRONMENT" // "1", for the user's start-up files
	directoryVariable = "ACPTERM_LOGIN_DIRECTORY"   // Spec.Enter
)

// own lists variables of the shell's own process, and of this package.
var own = map[string]bool{
	"SHLVL": true, "_": true, "PWD": true, "OLDPWD": true, runningVariable: true, directoryVariable: true,
}

// kept lists variables that keep their previous values: TERM describes a terminal, and the shell has none.
var kept = map[string]bool{"TERM": true, lookup.TerminalVariable: true}

// result returns the environment of a shell without the variables in own, and with the previous values of those in
// kept.
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

package usershell

// The environment that the user's login shell makes.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/proc"
	"github.com/acpterm/acpterm/usershell/internal/loginshell"
)

// LoginOptions say which login shell is read, and how. The zero value, and nil in its place, is the default.
type LoginOptions struct {
	// Shell is the shell's file, an absolute path: a sh, bash, zsh or fish, or another that takes the options -l, -i
	// and -c and has their pipes and single quotes. Empty: SHELL of Env, or else the user's shell in /etc/passwd, or
	// else /bin/sh. On Windows it has no effect.
	Shell string
	// Dir is the directory that the shell starts in, an absolute path. Empty: the user's home. On Windows it has no
	// effect.
	Dir string
	// Env is what the shell starts with, "NAME=value". Nil: this process's environment.
	Env []string
	// Timeout is how long the shell may take. 0: 10 seconds.
	Timeout time.Duration
}

// LoginEnv is the environment that a login shell had. Its methods may be called concurrently.
type LoginEnv struct {
	spec loginshell.Spec
	env  []string
}

// LoginEnvironment runs the person's login shell, as an interactive one, and returns the environment that its start-up
// files make. That takes as long as to open a terminal: call it once, before an agent needs it.
//
// The shell has a session of its own and no terminal, and ACPTERM_LOGIN_ENVIRONMENT=1 in its environment, for start-up
// files that ask. What it prints is dropped. When its environment has come, what runs is sent SIGHUP, and SIGKILL a
// second later. Only what has a session of its own and does not hold the shell's output is left, as ssh-agent is; if
// the call fails, that ends too.
//
// The result is without PWD, OLDPWD, SHLVL and _, and has the TERM of LoginOptions.Env. On Windows, which has no login
// shell, it is what the system gives the programs of a new logon, put over LoginOptions.Env.
//
// It fails with a *LoginError: when Timeout is over or ctx ends, as soon as what runs has ended. When the shell's file
// cannot be read for so long, as on a file system that does not answer, that is ten seconds later.
func LoginEnvironment(ctx context.Context, options *LoginOptions) (*LoginEnv, error) {
	if options == nil {
		options = new(LoginOptions)
	}
	env := options.Env
	if env == nil {
		env = os.Environ()
	}
	l := &LoginEnv{spec: loginshell.Locate(loginshell.Spec{
		Shell: options.Shell, Dir: options.Dir, Env: lookup.Once(lookup.Key, env),
		Timeout: cmp.Or(options.Timeout, 10*time.Second),
	})}
	var err error
	if l.env, err = loginshell.Read(ctx, l.spec); err != nil {
		return nil, l.failed(err)
	}
	return l, nil
}

// Env is the environment, each name once: for acpterm.Options.Env and acpterm.SessionOptions.Env. It may hold secrets.
func (l *LoginEnv) Env() []string { return slices.Clone(l.env) }

// Shell is the shell's file; empty on Windows.
func (l *LoginEnv) Shell() string { return l.spec.Shell }

// In runs the shell once more and returns the environment that it has in a directory, an absolute path: it enters the
// directory, and runs what the person's start-up files have it run there and before a prompt. That is how direnv, mise
// and the like set variables: PROMPT_COMMAND of bash, the functions chpwd and precmd of zsh, the events of fish. Other
// shells have none, and Windows has not: there it is the result of Env.
//
// What runs can be what files in the directory say, as far as the person's tools trust them: call it for directories
// that the person has opened, and never for one that an agent names. Options and errors are those of LoginEnvironment.
func (l *LoginEnv) In(ctx context.Context, dir string) ([]string, error) {
	env, err := loginshell.ReadIn(ctx, l.spec, dir)
	if err != nil {
		return nil, l.failed(err)
	}
	return env, nil
}

func (l *LoginEnv) failed(err error) error {
	e := &LoginError{Shell: l.spec.Shell, Failure: LoginNotStarted, Err: err}
	if failed, ok := errors.AsType[*loginshell.Error](err); ok {
		e.Failure, e.PIDs, e.Err = LoginFailure(failed.Reason), failed.PIDs, failed.Err
		if failed.Exit != nil {
			e.Status = statusOf(*failed.Exit)
		}
	}
	return e
}

// statusOf is an exit in the protocol's terms.
func statusOf(e proc.Exit) *acpterm.TerminalExitStatus {
	if e.Signal != "" {
		return &acpterm.TerminalExitStatus{Signal: &e.Signal}
	}
	return &acpterm.TerminalExitStatus{ExitCode: &e.Code}
}

// LoginFailure says why there is no environment. It is an error itself, for errors.Is.
type LoginFailure string

// What can fail.
const (
	// LoginShellNotFound is a shell whose path is relative, or no file that can be executed.
	LoginShellNotFound = LoginFailure(loginshell.NotFound)
	// LoginShellUnsupported is a program that is known not to work: csh, tcsh, nu, xonsh, elvish, pwsh, nologin, false.
	LoginShellUnsupported = LoginFailure(loginshell.Unsupported)
	// LoginNoDirectory is a directory that is relative, is not there or cannot be entered.
	LoginNoDirectory = LoginFailure(loginshell.NoDirectory)
	// LoginNotStarted is everything else that the system refuses.
	LoginNotStarted = LoginFailure(loginshell.NotStarted)
	// LoginNoEnvironment is a shell that ended without it: a start-up file executes a program that is no shell, or
	// exits. LoginError.Status says how it ended, if that is known.
	LoginNoEnvironment = LoginFailure(loginshell.NoDump)
	// LoginMixedOutput is an environment that other output came into, of a background job perhaps.
	LoginMixedOutput = LoginFailure(loginshell.Garbled)
	// LoginTooMuchOutput is a shell that wrote 16 MiB.
	LoginTooMuchOutput = LoginFailure(loginshell.TooMuch)
	// LoginTimedOut is a shell that took longer than LoginOptions.Timeout. errors.Is finds context.DeadlineExceeded.
	LoginTimedOut = LoginFailure(loginshell.TimedOut)
	// LoginCancelled is a call whose context ended. errors.Is finds ErrCancelled and the context's cause.
	LoginCancelled = LoginFailure(loginshell.Cancelled)
	// LoginSurvivors is an environment that came from a shell that could not be ended. errors.Is finds ErrSurvivors, as
	// with every failure that has LoginError.PIDs.
	LoginSurvivors = LoginFailure(loginshell.Survivors)
)

// Error is the failure as a text.
func (f LoginFailure) Error() string { return string(f) }

// LoginError is what LoginEnvironment and LoginEnv.In return when they fail. It has neither the value of a variable but
// SHELL, nor anything that the shell wrote.
type LoginError struct {
	// Shell is the shell's file.
	Shell   string
	Failure LoginFailure
	// Status is how the shell ended. Nil: that is not known, or not why the call failed.
	Status *acpterm.TerminalExitStatus
	// PIDs are the numbers of processes that still ran ten seconds after SIGKILL.
	PIDs []int
	// Err is the cause, where there is one: a system's error, a context's.
	Err error
}

// Error names the shell and what failed.
func (e *LoginError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "acpterm: login environment: %q: %s", e.Shell, string(e.Failure))
	if e.Status != nil {
		b.WriteString(": " + e.Status.String())
	}
	if len(e.PIDs) > 0 {
		fmt.Fprintf(&b, ": processes %v", e.PIDs)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap lets errors.Is find the failure, the cause, and the kind of Error that is like it.
func (e *LoginError) Unwrap() []error {
	errs := []error{e.Failure}
	if e.Failure == LoginCancelled {
		errs = append(errs, acpterm.ErrCancelled)
	}
	if len(e.PIDs) > 0 {
		errs = append(errs, acpterm.ErrSurvivors)
	}
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	return errs
}

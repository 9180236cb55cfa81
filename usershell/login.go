package usershell

// Reading of the login shell's environment.

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

// LoginOptions configure the login shell. The zero value, like a nil *LoginOptions, selects the defaults.
type LoginOptions struct {
	// Shell is the absolute path of the shell: sh, bash, zsh or fish, or another that accepts the options -l, -i and -c
	// and has their pipes and single quotes. If empty, it is SHELL of Env, or else the user's shell in /etc/passwd, or
	// else /bin/sh. On Windows it has no effect.
	Shell string
	// Dir is the absolute path of the directory that the shell starts in. The default is the user's home. On Windows it
	// has no effect.
	Dir string
	// Env is the environment that the shell starts with, as "NAME=value". If nil, it is this process's environment.
	Env []string
	// Timeout limits the shell's run time. The default is 10 seconds.
	Timeout time.Duration
}

// LoginEnv is the environment of a login shell. Its methods are safe for concurrent use.
type LoginEnv struct {
	spec loginshell.Spec
	env  []string
}

// LoginEnvironment runs the user's login shell as an interactive shell, and returns the environment that its start-up
// files create. This takes as long as opening a terminal: call it once, before an agent needs it.
//
// The shell has its own session, no terminal, and the variable ACPTERM_LOGIN_ENVIRONMENT=1, which start-up files can
// test. Its output is dropped. After its environment has arrived, the running processes get SIGHUP, and SIGKILL a
// second later. Only processes with their own session that do not hold the shell's output remain, such as ssh-agent; if
// the call fails, these end too.
//
// The result does not contain PWD, OLDPWD, SHLVL and _, and has the TERM of LoginOptions.Env. Windows has no login
// shell; there the result is the system's environment for the programs of a new logon, merged over LoginOptions.Env.
//
// LoginEnvironment returns a *LoginError. After Timeout, or when ctx is done, it returns as soon as the running
// processes have ended. If the shell's file cannot be read until then, for example on a file system that does not
// respond, it returns ten seconds later.
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

// Env returns the environment, with unique names, for acpterm.Options.Env and acpterm.SessionOptions.Env. It may
// contain secrets.
func (l *LoginEnv) Env() []string { return slices.Clone(l.env) }

// Shell returns the shell's path. It is empty on Windows.
func (l *LoginEnv) Shell() string { return l.spec.Shell }

// In runs the shell again and returns its environment in a directory, an absolute path. The shell enters the directory
// and runs the hooks of the user's start-up files for entering a directory and for a prompt: PROMPT_COMMAND of bash,
// the functions chpwd and precmd of zsh, the events of fish. Tools such as direnv and mise set variables in these
// hooks. Other shells have no such hooks. On Windows, In returns the result of Env.
//
// The hooks may run commands from files in the directory, if the user's tools trust these files. Call In for
// directories that the user has opened, and never for one that an agent names. Options and errors are those of
// LoginEnvironment.
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

// statusOf converts an exit to the protocol's type.
func statusOf(e proc.Exit) *acpterm.TerminalExitStatus {
	if e.Signal != "" {
		return &acpterm.TerminalExitStatus{Signal: &e.Signal}
	}
	return &acpterm.TerminalExitStatus{ExitCode: &e.Code}
}

// LoginFailure is the reason why an environment could not be read. It is an error itself, for errors.Is.
type LoginFailure string

// The failures.
const (
	// LoginShellNotFound means that the shell's path is relative, or not an executable file.
	LoginShellNotFound = LoginFailure(loginshell.NotFound)
	// LoginShellUnsupported means that the program is known not to work: csh, tcsh, rc, es, nu, xonsh, elvish, pwsh,
	// true, false, nologin or git-shell.
	LoginShellUnsupported = LoginFailure(loginshell.Unsupported)
	// LoginNoDirectory means that the directory is relative, is missing or cannot be entered.
	LoginNoDirectory = LoginFailure(loginshell.NoDirectory)
	// LoginNotStarted means any other refusal of the system.
	LoginNotStarted = LoginFailure(loginshell.NotStarted)
	// LoginNoEnvironment means that the shell ended without writing its environment: a start-up file executes a program
	// other than a shell, or exits. LoginError.Status has the exit status, if known.
	LoginNoEnvironment = LoginFailure(loginshell.NoDump)
	// LoginMixedOutput means that other output was mixed into the environment, possibly that of a background job.
	LoginMixedOutput = LoginFailure(loginshell.Garbled)
	// LoginTooMuchOutput means that the shell wrote more than 16 MiB.
	LoginTooMuchOutput = LoginFailure(loginshell.TooMuch)
	// LoginTimedOut means that the shell took longer than LoginOptions.Timeout. errors.Is finds
	// context.DeadlineExceeded.
	LoginTimedOut = LoginFailure(loginshell.TimedOut)
	// LoginCancelled means that the context ended. errors.Is finds ErrCancelled and the context's cause.
	LoginCancelled = LoginFailure(loginshell.Cancelled)
	// LoginSurvivors means that the environment was read, but the shell's processes could not be ended. errors.Is finds
	// ErrSurvivors, as for every failure with LoginError.PIDs.
	LoginSurvivors = LoginFailure(loginshell.Survivors)
)

// Error returns the failure as text.
func (f LoginFailure) Error() string { return string(f) }

// LoginError is the error of LoginEnvironment and LoginEnv.In. It does not contain the value of a variable, except
// SHELL, nor the shell's output.
type LoginError struct {
	// Shell is the shell's path.
	Shell   string
	Failure LoginFailure
	// Status is the shell's exit status. It is nil if unknown, or if it is not the cause of the failure.
	Status *acpterm.TerminalExitStatus
	// PIDs lists the processes that still ran ten seconds after SIGKILL.
	PIDs []int
	// Err is the cause, or nil. It may be an error of the system or of a context.
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

// Unwrap returns the failure, the cause, and the corresponding kind of acpterm.Error, for errors.Is.
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

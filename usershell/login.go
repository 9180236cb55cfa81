package usershell

// Reading of the login shell's environment.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/proc"
	"github.com/acpterm/acpterm/usershell/internal/loginshell"
)

// LoginOptions specifies optional settings for LoginEnvironment. The zero value is equivalent to a nil *LoginOptions.
type LoginOptions struct {
	// Shell is the absolute path of the shell, which can be sh, bash, zsh, fish, or another shell that supports the
	// same pipes, single quotes and options -l, -i and -c. If empty, Shell defaults to the value of SHELL in Env, or
	// else to the user's shell in /etc/passwd, or else to /bin/sh. On Windows, Shell is ignored.
	Shell string
	// Dir is the absolute path of the shell's initial working directory. If empty, the user's home directory is used.
	// On Windows, Dir is ignored.
	Dir string
	// Env specifies the shell's initial environment, in the form "NAME=value". If nil, the environment of the current
	// process is used.
	Env []string
	// Timeout is the maximum time that the shell may run. If zero, it defaults to 10 seconds.
	Timeout time.Duration
}

// A LoginEnv represents the environment of a login shell. It is safe for concurrent use by multiple goroutines.
type LoginEnv struct {
	spec loginshell.Spec
	env  []string
}

// LoginEnvironment runs the user's login shell as an interactive shell and returns the environment set up by the
// shell's start-up files. Since this takes as long as opening a terminal, LoginEnvironment should be called only once,
// before an agent needs the result.
//
// The shell runs in its own session, without a terminal, and its output is discarded. ACPTERM_LOGIN_ENVIRONMENT is set
// to 1 so that start-up files can test for it. Once the environment has been read, any remaining processes are sent
// SIGHUP, followed by SIGKILL a second later. However, if the call succeeds, processes such as ssh-agent are left
// running, provided that they have their own session and do not hold the shell's output open.
//
// The result does not include PWD, OLDPWD, SHLVL or _, and its TERM is taken from LoginOptions.Env. Since Windows does
// not have a login shell, the result on Windows is LoginOptions.Env overlaid with the environment in the registry,
// which the system would give to programs in a new logon session. PATH also keeps the other directories of
// LoginOptions.Env, at its end. Thus a program started from the desktop finds programs installed after the user logged
// on.
//
// Any error is of type *LoginError. When Timeout expires or ctx is done, LoginEnvironment returns as soon as the
// running processes have exited. However, if the shell's file has still not been read at that point, perhaps because
// its file system is not responding, LoginEnvironment waits for up to ten more seconds before it returns.
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

// registryEnv returns this process's environment with the variables of the registry on Windows, and nil elsewhere.
func registryEnv() []string {
	if runtime.GOOS != "windows" {
		return nil
	}
	env, _ := loginshell.Read(context.Background(), loginshell.Spec{Env: os.Environ()})
	return env
}

// Env returns the environment in the form expected by acpterm.CommandOptions.Env. Each name appears only once. Note
// that the values may be secret.
func (l *LoginEnv) Env() []string { return slices.Clone(l.env) }

// Shell returns the path of the shell, or the empty string on Windows.
func (l *LoginEnv) Shell() string { return l.spec.Shell }

// In runs the shell again and returns the environment that the shell would have in dir, which must be an absolute path.
// The shell changes to dir and runs the hooks that the user's start-up files define for changing directories and for
// displaying a prompt: PROMPT_COMMAND in bash, the functions chpwd and precmd in zsh, and events in fish. Tools such as
// direnv and mise use these hooks to set variables. Other shells do not have hooks of this kind. On Windows, In returns
// the same result as Env.
//
// Note that if the user's tools are configured to trust files in dir, the hooks may run commands from those files. For
// this reason, In should only be called for directories opened by the user, and never for a directory named by an
// agent. In uses the same options and returns the same errors as LoginEnvironment.
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
		e.uncertain = failed.Uncertain
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

// A LoginFailure describes why an environment could not be read. It implements the error interface so that it can be
// passed to errors.Is.
type LoginFailure string

// The possible failures.
const (
	// LoginShellNotFound indicates that the shell's path is relative or does not name an executable file.
	LoginShellNotFound = LoginFailure(loginshell.NotFound)
	// LoginShellUnsupported indicates that the program is known not to work. It is returned for csh, tcsh, rc, es, nu,
	// xonsh, elvish, pwsh, true, false, nologin and git-shell.
	LoginShellUnsupported = LoginFailure(loginshell.Unsupported)
	// LoginNoDirectory indicates that the directory is relative, does not exist, or cannot be entered.
	LoginNoDirectory = LoginFailure(loginshell.NoDirectory)
	// LoginNotStarted indicates that the shell could not be started for a reason not covered by the other values.
	LoginNotStarted = LoginFailure(loginshell.NotStarted)
	// LoginNoEnvironment indicates that the shell exited without writing its environment. This happens if a start-up
	// file exits the shell or executes a program other than a shell. LoginError.Status is the exit status, if known.
	LoginNoEnvironment = LoginFailure(loginshell.NoDump)
	// LoginMixedOutput indicates that the environment was interspersed with other output, perhaps from a background
	// job.
	LoginMixedOutput = LoginFailure(loginshell.Garbled)
	// LoginTooMuchOutput indicates that the shell wrote more than 16 MiB.
	LoginTooMuchOutput = LoginFailure(loginshell.TooMuch)
	// LoginTimedOut indicates that the shell took longer than LoginOptions.Timeout. When tested with errors.Is, the
	// error also matches context.DeadlineExceeded.
	LoginTimedOut = LoginFailure(loginshell.TimedOut)
	// LoginCancelled indicates that the context was cancelled or that its deadline passed. When tested with errors.Is,
	// the error also matches ErrCancelled and the context's cause.
	LoginCancelled = LoginFailure(loginshell.Cancelled)
	// LoginSurvivors indicates that the environment was read, but that some of the shell's processes could not be
	// killed. As with any failure for which LoginError.PIDs is set, the error also matches ErrSurvivors when tested
	// with errors.Is.
	LoginSurvivors = LoginFailure(loginshell.Survivors)
)

// Error implements the error interface.
func (f LoginFailure) Error() string { return string(f) }

// A LoginError is returned by LoginEnvironment and LoginEnv.In. For security reasons, it does not contain the shell's
// output or the values of any variables other than SHELL.
type LoginError struct {
	// Shell is the shell's path.
	Shell   string
	Failure LoginFailure
	// Status is the exit status of the shell, or nil if the status is unknown or unrelated to the failure.
	Status *acpterm.TerminalExitStatus
	// PIDs lists the processes that were still running ten seconds after SIGKILL was sent.
	PIDs []int
	// Err is the underlying error, if any, such as a system error or the cause of a context. It also tells of processes
	// that may be running or are exiting; the error then matches ErrSurvivors, even if PIDs is empty.
	Err error

	uncertain bool // Err describes such processes
}

// Error returns a message that contains the shell, the failure and any details.
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

// Unwrap returns the failure, the underlying error and the matching kind of acpterm.Error, so that errors.Is can be
// used to test for any of them.
func (e *LoginError) Unwrap() []error {
	errs := []error{e.Failure}
	if e.Failure == LoginCancelled {
		errs = append(errs, acpterm.ErrCancelled)
	}
	if len(e.PIDs) > 0 || e.uncertain || e.Failure == LoginSurvivors {
		errs = append(errs, acpterm.ErrSurvivors)
	}
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	return errs
}

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

// LoginOptions specifies optional settings for LoginEnvironment. The zero value is equivalent to a nil *LoginOptions.
type LoginOptions struct {
	// Shell is the absolute path of the shell, which can be sh, bash, zsh, fish, or another shell with the same pipes,
	// single quotes and options -l, -i and -c. If empty, it defaults to SHELL in Env, then the user's shell in
	// /etc/passwd, and then /bin/sh. On Windows, Shell is ignored.
	Shell string
	// Dir is the absolute path of the shell's initial working directory. The default is the user's home directory. On
	// Windows, Dir is ignored.
	Dir string
	// Env specifies the shell's initial environment, as "NAME=value". The default is the current environment.
	Env []string
	// Timeout is the shell's maximum run time. The default is 10 seconds.
	Timeout time.Duration
}

// A LoginEnv represents the environment of a login shell. It is safe for concurrent use by multiple goroutines.
type LoginEnv struct {
	spec loginshell.Spec
	env  []string
}

// LoginEnvironment runs the user's login shell as an interactive shell and returns the environment set up by its
// start-up files. This takes as long as opening a terminal, so call it once, before an agent needs the result.
//
// The shell runs in its own session, without a terminal, and its output is discarded. ACPTERM_LOGIN_ENVIRONMENT is set
// to 1 so that start-up files can test for it. Once the environment has been read, the processes still running are sent
// SIGHUP and, a second later, SIGKILL. If the call succeeds, processes such as ssh-agent are left running, provided
// they have their own session and do not hold the shell's output open.
//
// The result omits PWD, OLDPWD, SHLVL and _, and its TERM is that of LoginOptions.Env. Windows has no login shell, so
// there the result is the system's environment for programs of a new logon, merged over LoginOptions.Env.
//
// Errors are of type *LoginError. After Timeout, or when ctx is done, LoginEnvironment returns as soon as the running
// processes have ended. If the shell's file still cannot be read by then, perhaps because its file system does not
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

// Env returns the environment, for use as acpterm.CommandOptions.Env. Names are unique. Values may be secret.
func (l *LoginEnv) Env() []string { return slices.Clone(l.env) }

// Shell returns the shell's path, which is empty on Windows.
func (l *LoginEnv) Shell() string { return l.spec.Shell }

// In runs the shell again and returns its environment in dir, an absolute path. The shell changes to the directory and
// runs the hooks that the user's start-up files define for that and for prompts: PROMPT_COMMAND in bash, the functions
// chpwd and precmd in zsh, and events in fish. Tools such as direnv and mise use them to set variables. Other shells
// have no such hooks. On Windows, In returns the same as Env.
//
// If the user's tools trust files in the directory, the hooks may run commands from them. Call In for directories
// opened by the user, and never for a directory named by an agent. The options and errors are the same as for
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

// A LoginFailure describes why an environment could not be read. It is itself an error, for use with errors.Is.
type LoginFailure string

// The possible failures.
const (
	// LoginShellNotFound means that the shell's path is relative or does not name an executable file.
	LoginShellNotFound = LoginFailure(loginshell.NotFound)
	// LoginShellUnsupported means that the program is known not to work: csh, tcsh, rc, es, nu, xonsh, elvish, pwsh,
	// true, false, nologin or git-shell.
	LoginShellUnsupported = LoginFailure(loginshell.Unsupported)
	// LoginNoDirectory means that the directory is relative, does not exist or cannot be entered.
	LoginNoDirectory = LoginFailure(loginshell.NoDirectory)
	// LoginNotStarted means that the shell could not be started for any other reason.
	LoginNotStarted = LoginFailure(loginshell.NotStarted)
	// LoginNoEnvironment means that the shell exited without writing its environment, because a start-up file exits or
	// executes a program other than a shell. LoginError.Status holds the exit status, if known.
	LoginNoEnvironment = LoginFailure(loginshell.NoDump)
	// LoginMixedOutput means that the environment was interspersed with other output, perhaps from a background job.
	LoginMixedOutput = LoginFailure(loginshell.Garbled)
	// LoginTooMuchOutput means that the shell wrote more than 16 MiB.
	LoginTooMuchOutput = LoginFailure(loginshell.TooMuch)
	// LoginTimedOut means that the shell took longer than LoginOptions.Timeout. errors.Is also finds
	// context.DeadlineExceeded.
	LoginTimedOut = LoginFailure(loginshell.TimedOut)
	// LoginCancelled means that the context was done. errors.Is also finds ErrCancelled and the context's cause.
	LoginCancelled = LoginFailure(loginshell.Cancelled)
	// LoginSurvivors means that the environment was read, but not all of the shell's processes could be killed.
	// errors.Is also finds ErrSurvivors, as it does for any failure with LoginError.PIDs.
	LoginSurvivors = LoginFailure(loginshell.Survivors)
)

// Error implements the error interface.
func (f LoginFailure) Error() string { return string(f) }

// A LoginError is returned by LoginEnvironment and LoginEnv.In. For security reasons, it contains neither the shell's
// output nor the values of any variables except SHELL.
type LoginError struct {
	// Shell is the shell's path.
	Shell   string
	Failure LoginFailure
	// Status is the exit status of the shell, or nil if the status is unknown or unrelated to the failure.
	Status *acpterm.TerminalExitStatus
	// PIDs lists the processes that were still running ten seconds after SIGKILL.
	PIDs []int
	// Err is the underlying error, if any, such as a system error or the cause of a context.
	Err error
}

// Error returns a message with the shell, the failure and its details.
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

// Unwrap returns the failure, the underlying error and the matching kind of acpterm.Error, all of them for errors.Is.
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

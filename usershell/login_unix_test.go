//go:build linux || darwin || freebsd

package usershell_test

// Tests of simulated login shells that do the same as real ones to programs that read them. login_shells_test.go tests
// real ones.

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/terminaltest"
	testchildren "github.com/acpterm/acpterm/internal/terminaltest/children"
	"github.com/acpterm/acpterm/usershell"
)

// loginOptions returns options with the test's own home. It fails the test if any started process remains at the end.
func loginOptions(t testing.TB, shell string, env ...string) *usershell.LoginOptions {
	t.Helper()
	mark := leaktest.Watch(t, func() error { return nil })
	base := []string{
		"HOME=" + t.TempDir(), "PATH=/usr/local/bin:/usr/bin:/bin", "GORACE=atexit_sleep_ms=0", "SECRET=hunter2", mark,
	}
	return &usershell.LoginOptions{Shell: shell, Env: append(base, env...), Timeout: time.Minute}
}

func requireValue(t testing.TB, env []string, name, want string) {
	t.Helper()
	got, ok := hosttest.Value(env, name)
	require.True(t, ok, "there is no %s", name)
	require.Equal(t, want, got)
}

// requireNone requires that variables are not there.
func requireNone(t testing.TB, env []string, names ...string) {
	t.Helper()
	for _, name := range names {
		_, there := hosttest.Value(env, name)
		require.False(t, there, name)
	}
}

// logIn returns the environment of a login shell.
func logIn(t testing.TB, o *usershell.LoginOptions) *usershell.LoginEnv {
	t.Helper()
	l, err := usershell.LoginEnvironment(t.Context(), o)
	require.NoError(t, err)
	return l
}

// failLogIn returns the error of a login shell, which requireLoginError checks.
func failLogIn(t testing.TB, o *usershell.LoginOptions, failure usershell.LoginFailure) *usershell.LoginError {
	t.Helper()
	_, err := usershell.LoginEnvironment(t.Context(), o)
	return requireLoginError(t, err, failure)
}

// requireLoginError checks an error, and that it does not contain secrets.
func requireLoginError(t testing.TB, err error, failure usershell.LoginFailure) *usershell.LoginError {
	t.Helper()
	require.ErrorIs(t, err, failure)
	failed, ok := errors.AsType[*usershell.LoginError](err)
	require.True(t, ok)
	require.Equal(t, failure, failed.Failure)
	require.NotContains(t, err.Error(), "hunter2")
	require.NotContains(t, err.Error(), "noise")
	return failed
}

// cancelWhen calls cancel when file exists.
func cancelWhen(file string, cancel func()) {
	testchildren.AwaitFile(file)
	cancel()
}

func TestLoginEnvironmentAmongNoise(t *testing.T) {
	for _, bytes := range []string{"0", "1000", "4000000"} {
		l := logIn(t, loginOptions(t, playedShell(t, "login-noise", bytes)))
		requireValue(t, l.Env(), "SECRET", "hunter2")
	}
	failLogIn(t, loginOptions(t, playedShell(t, "login-floods")), usershell.LoginTooMuchOutput)
}

func TestLoginEnvironmentHasEveryValueAsItIs(t *testing.T) {
	o := loginOptions(t, playedShell(t, "login-variables"))
	l := logIn(t, o)
	requireValue(t, l.Env(), "LOGIN_NEWLINES", "\na\nPATH=b\n")
	requireValue(t, l.Env(), "LOGIN_EQUALS", "=a==b=")
	requireValue(t, l.Env(), "LOGIN_BYTES", "\xff\xfe\x80\x01\x1b[2J\r")
	requireValue(t, l.Env(), "LOGIN_EMPTY", "")
	marks, _ := hosttest.Value(l.Env(), "LOGIN_MARKS")
	require.Contains(t, marks, "\nacpterm-begin-")
	require.Equal(t, o.Shell, l.Shell())

	first := l.Env()
	first[0] = "changed=yes"
	require.NotContains(t, l.Env(), "changed=yes")
}

// The result is the shell's environment without the variables of its process, and without those added to read it.
func TestLoginEnvironmentLeavesOutTheShellsOwn(t *testing.T) {
	own := []string{"TERM=dumb", "SHLVL=7", "PWD=/nowhere", "OLDPWD=/nowhere", "_=x", "ACPTERM_TERMINAL=term_outer"}
	o := loginOptions(t, playedShell(t, "login-noise", "0"), own...)
	l := logIn(t, o)
	want := slices.Concat(o.Env[:5], own[:1], own[5:])
	got := l.Env()
	slices.Sort(want)
	slices.Sort(got)
	require.Equal(t, want, got)
}

// Other output within the environment never becomes a variable: the shell writes the environment twice, then the call
// fails.
func TestLoginEnvironmentThatIsMixedUp(t *testing.T) {
	for _, where := range []string{"first", "error"} {
		l := logIn(t, loginOptions(t, playedShell(t, "login-mixes", where)))
		requireValue(t, l.Env(), "SECRET", "hunter2")
	}
	failLogIn(t, loginOptions(t, playedShell(t, "login-mixes", "each")), usershell.LoginMixedOutput)
}

func TestLoginShellThatEnds(t *testing.T) {
	for want, shell := range map[string]string{
		"exit code 3":    playedShell(t, "exit", "3"),
		"exit code 0":    playedShell(t, "exit", "0"),
		"signal SIGKILL": playedShell(t, "login-killed"),
	} {
		failed := failLogIn(t, loginOptions(t, shell), usershell.LoginNoEnvironment)
		require.Equal(t, want, failed.Status.String())
		require.ErrorContains(t, failed, want)
		require.Equal(t, shell, failed.Shell)
	}
}

// A process that holds the shell's output does not delay the call, and is ended.
func TestLoginShellWithABackgroundChild(t *testing.T) {
	l := logIn(t, loginOptions(t, playedShell(t, "login-holder", "with")))
	requireValue(t, l.Env(), "SECRET", "hunter2")
	failed := failLogIn(t, loginOptions(t, playedShell(t, "login-holder", "without")), usershell.LoginNoEnvironment)
	require.Equal(t, "exit code 3", failed.Status.String())
}

// A shell that hangs and ignores signals is ended, together with processes that have left its session.
func TestLoginShellThatHangs(t *testing.T) {
	hanging := func() (*usershell.LoginOptions, string) {
		children := []string{"ignores-sigterm", "setsid"}
		if runtime.GOOS == "linux" { // other systems do not find a daemon
			children = append(children, "daemon")
		}
		file := filepath.Join(t.TempDir(), "hangs")
		return loginOptions(t, playedShell(t, "login-hangs", append([]string{file}, children...)...)), file
	}

	late, _ := hanging()
	late.Timeout = time.Second
	cancelled, file := hanging()
	t.Run("until its time-out", func(t *testing.T) {
		t.Parallel()
		err := failLogIn(t, late, usershell.LoginTimedOut)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, acpterm.ErrCancelled)
	})
	t.Run("until it is cancelled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		reason := errors.New("the window was closed")
		go cancelWhen(file, func() { cancel(reason) })
		_, err := usershell.LoginEnvironment(ctx, cancelled)
		requireLoginError(t, err, usershell.LoginCancelled)
		require.ErrorIs(t, err, acpterm.ErrCancelled)
		require.ErrorIs(t, err, reason)

		_, err = usershell.LoginEnvironment(ctx, cancelled)
		requireLoginError(t, err, usershell.LoginCancelled)
	})
}

// A start-up file may run a program that holds a lock, like pyenv. After a timeout, that program can still remove the
// lock.
func TestLoginShellThatCleansUp(t *testing.T) {
	o := loginOptions(t, "/bin/sh")
	home, _ := hosttest.Value(o.Env, "HOME")
	lock := filepath.Join(home, "lock")
	tool := terminaltest.CleanUp(lock, "HUP")
	require.NoError(t, os.WriteFile(filepath.Join(home, "tool"), []byte(tool), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".profile"), []byte(`sh "$HOME/tool"`), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go cancelWhen(lock, cancel)
	_, err := usershell.LoginEnvironment(ctx, o)
	requireLoginError(t, err, usershell.LoginCancelled)
	require.NoFileExists(t, lock)
}

// Only detached processes outlive a successful call.
func TestLoginEnvironmentLeavesDaemons(t *testing.T) {
	dir := t.TempDir()
	o := loginOptions(t, playedShell(t, "login-leaves", dir))
	pid := func(name string) int {
		return hosttest.Number(string(hosttest.Must(os.ReadFile(filepath.Join(dir, name)))))
	}
	runs := func(name string) bool { return hosttest.StartTime(pid(name)) != "" }
	_, err := usershell.LoginEnvironment(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { // runs before the clean-up of loginOptions
		if runs("detached") {
			require.NoError(t, syscall.Kill(pid("detached"), syscall.SIGKILL))
		}
		require.Eventually(t, func() bool { return !runs("detached") }, time.Minute, time.Millisecond)
	})
	require.True(t, runs("detached"))
	require.False(t, runs("same"))
	if runtime.GOOS == "linux" { // other systems do not show which processes have a pipe open
		require.False(t, runs("holding"))
	}
}

func TestLoginShellThatCannotBeRun(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(text, nil, 0o600))
	noProgram := filepath.Join(dir, "garbage")
	require.NoError(t, os.WriteFile(noProgram, []byte("\x7fELF"), 0o700))
	for name, c := range map[string]struct {
		shell, dir string
		failure    usershell.LoginFailure
		also       error
	}{
		"none":         {shell: filepath.Join(dir, "none"), failure: usershell.LoginShellNotFound, also: fs.ErrNotExist},
		"a text":       {shell: text, failure: usershell.LoginShellNotFound, also: fs.ErrPermission},
		"a directory":  {shell: dir, failure: usershell.LoginShellNotFound, also: syscall.EISDIR},
		"relative":     {shell: "sh", failure: usershell.LoginShellNotFound},
		"garbage":      {shell: noProgram, failure: usershell.LoginNotStarted, also: syscall.ENOEXEC},
		"false":        {shell: "/bin/false", failure: usershell.LoginShellUnsupported},
		"nologin":      {shell: "/usr/sbin/nologin", failure: usershell.LoginShellUnsupported},
		"csh":          {shell: "/bin/csh", failure: usershell.LoginShellUnsupported},
		"nu":           {shell: "/usr/bin/nu", failure: usershell.LoginShellUnsupported},
		"no directory": {shell: "/bin/sh", dir: text + "/none", failure: usershell.LoginNoDirectory, also: syscall.ENOTDIR},
		"a file":       {shell: "/bin/sh", dir: text, failure: usershell.LoginNoDirectory, also: syscall.ENOTDIR},
		"no path":      {shell: "/bin/sh", dir: "relative", failure: usershell.LoginNoDirectory},
	} {
		t.Run(name, func(t *testing.T) {
			o := loginOptions(t, c.shell)
			o.Dir = c.dir
			failed := failLogIn(t, o, c.failure)
			require.Equal(t, c.shell, failed.Shell)
			if c.also != nil {
				require.ErrorIs(t, failed, c.also)
			}
			if c.dir != "" {
				require.NotContains(t, failed.Error(), c.dir)
			}
		})
	}
}

// Without LoginOptions.Shell, the shell is SHELL of the given environment, or of this process.
func TestLoginShellOfTheEnvironment(t *testing.T) {
	shell := playedShell(t, "login-noise", "0")
	l := logIn(t, loginOptions(t, "", "SHELL="+shell))
	require.Equal(t, shell, l.Shell())

	t.Setenv("SHELL", shell)
	t.Setenv("SECRET", "of the process")
	l = logIn(t, nil)
	require.Equal(t, shell, l.Shell())
	requireValue(t, l.Env(), "SECRET", "of the process")

	l = logIn(t, loginOptions(t, ""))
	require.True(t, filepath.IsAbs(l.Shell()), "the password file's, or /bin/sh")
}

func TestLoginEnvInAPlaceThatIsNone(t *testing.T) {
	l := logIn(t, loginOptions(t, "/bin/sh"))
	_, err := l.In(t.Context(), filepath.Join(t.TempDir(), "none"))
	requireLoginError(t, err, usershell.LoginNoDirectory)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.In(ended, t.TempDir())
	requireLoginError(t, err, usershell.LoginCancelled)
}

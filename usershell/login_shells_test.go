//go:build linux || darwin || freebsd

package usershell_test

// Tests of real login shells, with realistic start-up files.

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/usershell"
)

// loginShell returns the path of a shell, or skips the test.
func loginShell(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("ACPTERM_REQUIRE_SHELLS") == "" {
		t.Skip("there is no " + name)
	}
	require.NoError(t, err)
	return path
}

// startUpFiles maps shells to the start-up files that an open terminal reads.
var startUpFiles = map[string]string{
	"sh": ".profile", "bash": ".bash_profile", "zsh": ".zshrc", "fish": ".config/fish/config.fish",
}

// homeOf returns options for a shell with these start-up files, by shell.
func homeOf(t testing.TB, shell string, files map[string]string) *usershell.LoginOptions {
	t.Helper()
	o := loginOptions(t, loginShell(t, shell))
	home, _ := hosttest.Value(o.Env, "HOME")
	for name, text := range files {
		file := filepath.Join(home, startUpFiles[name])
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return o
}

// posix lists the shells with POSIX syntax.
var posix = []string{"sh", "bash", "zsh"}

func TestRealLoginShells(t *testing.T) {
	const tools = `
		echo noise; echo noise >&2; printf 'no line'
		export PATH="$HOME/.tools/bin:$PATH"
		export NEWLINES='a
b=c
'
		LOCAL=not_exported
		export TERM=xterm-256color
		export TOLD=$ACPTERM_LOGIN_ENVIRONMENT
		case $- in *i*) export INTERACTIVE=yes ;; esac
	`
	for shell, text := range map[string]string{
		"sh": tools, "bash": tools, "zsh": tools,
		"fish": `
			echo noise; echo noise >&2; printf 'no line'
			fish_add_path -gP $HOME/.tools/bin; mkdir -p $HOME/.tools/bin; set -gx PATH $HOME/.tools/bin $PATH
			set -gx NEWLINES a\nb=c\n
			set -g LOCAL not_exported
			set -gx TERM xterm-256color
			set -gx TOLD $ACPTERM_LOGIN_ENVIRONMENT
			status is-interactive; and status is-login; and set -gx INTERACTIVE yes
		`,
	} {
		t.Run(shell, func(t *testing.T) {
			o := homeOf(t, shell, map[string]string{shell: text})
			l := logIn(t, o)
			home, _ := hosttest.Value(o.Env, "HOME")
			path, _ := hosttest.Value(l.Env(), "PATH")
			require.True(t, strings.HasPrefix(path, home+"/.tools/bin:"), path)
			requireValue(t, l.Env(), "NEWLINES", "a\nb=c\n")
			requireValue(t, l.Env(), "TOLD", "1")
			requireValue(t, l.Env(), "INTERACTIVE", "yes")
			requireNone(t, l.Env(), "LOCAL", "TERM", "SHLVL", "_", "PWD", "OLDPWD", "ACPTERM_LOGIN_ENVIRONMENT",
				"ACPTERM_TERMINAL")
		})
	}
}

// If a start-up file executes another shell, the environment is that shell's.
func TestRealLoginShellThatExecutesAnother(t *testing.T) {
	fish := loginShell(t, "fish")
	executes := func(name, shell string, files map[string]string) {
		t.Run(name, func(t *testing.T) {
			l := logIn(t, homeOf(t, shell, files))
			requireValue(t, l.Env(), "FIRST", "1")
			requireValue(t, l.Env(), "SECOND", "2")
		})
	}
	for _, shell := range posix {
		for name, before := range map[string]string{
			"at once": "", "after questions": "read answer; read answer; ",
			"after a program that reads": "head -c 1 >/dev/null; ",
		} {
			executes(shell+" "+name, shell, map[string]string{
				shell: before + "export FIRST=1; exec " + fish, "fish": "set -gx SECOND 2",
			})
		}
	}
	executes("a shell below", "bash", map[string]string{"bash": "export FIRST=1; " + fish, "fish": "set -gx SECOND 2"})
	executes("fish", "fish", map[string]string{
		"fish": "set -gx FIRST 1; exec " + loginShell(t, "zsh") + " -i", "zsh": "export SECOND=2",
	})
}

// Start-up files can contain commands that have stopped other readers.
func TestRealLoginShellsWithDifficultFiles(t *testing.T) {
	for name, text := range map[string]string{
		"it fails on errors":         "set -e; set -u; export REACHED=1",
		"it shows commands":          "set -xv; export REACHED=1",
		"it has no terminal":         "stty sane; tput cols; tty; export REACHED=1",
		"it reads the terminal":      "read answer < /dev/tty; export REACHED=1",
		"it ignores hang-ups":        "trap '' HUP TERM INT; export REACHED=1",
		"it replaces commands":       "printf() { :; }; alias echo=false env=false od=false; export REACHED=1",
		"it closes standard error":   "exec 2>&-; export REACHED=1",
		"it has jobs":                "sleep 300 & sleep 300 & export REACHED=1",
		"it changes the directory":   "cd /; export REACHED=1",
		"it has no PATH":             "export REACHED=1; export PATH=/nowhere",
		"it has PATH unset":          "export REACHED=1; unset PATH",
		"a trap prints when it ends": "trap 'echo noise' EXIT; export REACHED=1",
	} {
		for _, shell := range posix {
			reached(t, shell, name, text)
		}
	}
	reached(t, "bash", "it prints before each command",
		"trap 'echo noise; export COUNT=$((COUNT+1))' DEBUG; export REACHED=1")
}

func reached(t *testing.T, shell, name, text string) {
	t.Run(shell+" "+name, func(t *testing.T) {
		requireValue(t, logIn(t, homeOf(t, shell, map[string]string{shell: text})).Env(), "REACHED", "1")
	})
}

// hooks contains start-up files for a tool that sets variables by directory. The tool, .tool in the home, reads the
// file .vars of the directory.
var hooks = map[string]string{
	"bash": `
		_hook() { local before=$?; eval "$("$HOME/.tool" export bash)"; return $before; }
		PROMPT_COMMAND="_hook${PROMPT_COMMAND:+;$PROMPT_COMMAND}"
	`,
	"bash with a list": `
		_other() { :; }
		_hook() { local before=$?; eval "$("$HOME/.tool" export bash)"; return $before; }
		PROMPT_COMMAND=(_other _hook)
	`,
	"zsh": `
		_hook() { eval "$("$HOME/.tool" export zsh)" }
		typeset -ag precmd_functions; precmd_functions=(_hook $precmd_functions)
	`,
	"zsh that changes": `
		_hook() { eval "$("$HOME/.tool" export zsh)" }
		typeset -ag chpwd_functions; chpwd_functions=(_hook $chpwd_functions)
	`,
	"zsh with a function": `precmd() { eval "$("$HOME/.tool" export zsh)" }`,
	"zsh that is strict":  `setopt ksh_arrays no_unset err_exit; precmd() { eval "$("$HOME/.tool" export zsh)"; false }`,
	"bash that is strict": `set -eu; PROMPT_COMMAND='false; eval "$("$HOME/.tool" export bash)"'`,
	"fish":                `function _hook --on-event fish_prompt; "$HOME/.tool" export fish | source; end`,
	"fish that changes":   `function _hook --on-variable PWD; "$HOME/.tool" export fish | source; end`,
}

const tool = `#!/bin/sh
test -f .vars || exit 0
echo "loading" >&2
case $2 in
fish) echo "set -gx WHERE '$(cat .vars)';" ;;
*) echo "export WHERE='$(cat .vars)';" ;;
esac
`

func TestLoginEnvIn(t *testing.T) {
	for name, hook := range hooks {
		t.Run(name, func(t *testing.T) {
			shell, _, _ := strings.Cut(name, " ")
			o := homeOf(t, shell, map[string]string{shell: "echo noise\n" + hook})
			home, _ := hosttest.Value(o.Env, "HOME")
			require.NoError(t, os.WriteFile(filepath.Join(home, ".tool"), []byte(tool), 0o700))
			l := logIn(t, o)

			for _, dir := range []string{"plain", "it's a $(dir) \"quoted\"\\ ;\n", "-n"} {
				dir = filepath.Join(t.TempDir(), dir)
				require.NoError(t, os.Mkdir(dir, 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(dir, ".vars"), []byte("in the directory"), 0o600))
				env, err := l.In(t.Context(), dir)
				require.NoError(t, err)
				requireValue(t, env, "WHERE", "in the directory")
				requireNone(t, env, "ACPTERM_LOGIN_DIRECTORY", "PWD", "OLDPWD")
			}
			env, err := l.In(t.Context(), t.TempDir())
			require.NoError(t, err)
			requireNone(t, env, "WHERE")
			requireNone(t, l.Env(), "WHERE") // the hook ran only where it was asked for
		})
	}
}

// In fails if a hook ends the shell, if the start-up files prevent the shell from entering the directory, or if a hook
// hangs.
func TestLoginEnvInFails(t *testing.T) {
	for _, text := range []string{"PROMPT_COMMAND='exit 4'", "cd() { :; }"} {
		l := logIn(t, homeOf(t, "bash", map[string]string{"bash": text}))
		_, err := l.In(t.Context(), t.TempDir())
		requireLoginError(t, err, usershell.LoginNoEnvironment)
	}
	dir := t.TempDir()
	o := homeOf(t, "bash", map[string]string{"bash": "PROMPT_COMMAND='>hangs; sleep 300'"})
	l := logIn(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go cancelWhen(filepath.Join(dir, "hangs"), cancel)
	_, err := l.In(ctx, dir)
	requireLoginError(t, err, usershell.LoginCancelled)
}

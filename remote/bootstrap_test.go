//go:build unix

package remote

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/remote/internal/frame"
	"github.com/stretchr/testify/require"
)

// scriptHelper returns a program that sends a helper's Hello and then waits for the end of its input. comment makes the
// program different, and longer.
func scriptHelper(t testing.TB, version int, comment string) []byte {
	var hello bytes.Buffer
	require.NoError(t, frame.NewWriter(&hello).Message(frame.Answer{Hello: &frame.Hello{
		Version: version, System: runtime.GOOS, Arch: runtime.GOARCH, Dir: frame.Bytes("/"),
		Env: frame.Texts([]string{"A=b"}),
	}}))
	var text strings.Builder
	for _, c := range hello.Bytes() {
		fmt.Fprintf(&text, `\%03o`, c)
	}
	return []byte("#!/bin/sh\nprintf '" + text.String() + "'\ncat >/dev/null\n# " + comment + "\n")
}

// helpers returns Options.Helpers with one program for this system.
func helpers(program []byte) fstest.MapFS {
	return fstest.MapFS{helperName + "-" + runtime.GOOS + "-" + runtime.GOARCH: {Data: program}}
}

// shells returns the command lines of the installed shells. Each runs itself as "sh", through a directory in PATH.
// Shells other than POSIX shells must become one, as when sshd asks a login shell to run a command: fish, for example,
// reads all its input before it runs the first line.
func shells(t testing.TB) map[string]Command {
	found := make(map[string]Command)
	for _, name := range []string{"dash", "bash", "zsh", "busybox", "ksh", "mksh", "fish", "tcsh", "csh"} {
		program, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		sh := program
		if name == "fish" || strings.HasSuffix(name, "csh") {
			sh = "/bin/sh"
		}
		dir := t.TempDir()
		require.NoError(t, os.Symlink(sh, filepath.Join(dir, "sh")))
		env := append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		args := []string{filepath.Join(dir, "sh")}
		if sh != program {
			args = []string{program, "-c", "exec sh"}
		}
		found[name] = Command{Args: args, Env: env}
	}
	require.NotEmpty(t, found)
	return found
}

func hashOf(program []byte) string {
	sum := sha256.Sum256(program)
	return hex.EncodeToString(sum[:])
}

// The line works in every login shell: none of them replaces any part of it, and it is short enough for a terminal.
func TestBootstrapLine(t *testing.T) {
	options := Options{Path: "/a 'b\\\n$!", Dir: "/x", Helpers: helpers([]byte("x"))}
	b := bootstrap{options: options, first: "F", second: "S"}
	line, err := b.line()
	require.NoError(t, err)
	inside, ok := strings.CutSuffix(strings.TrimPrefix(line, "exec sh -c '"), "'\n")
	require.True(t, ok)
	require.False(t, strings.ContainsAny(inside, "'!\n\t@"), inside)
	require.NotContains(t, inside, `\\`)
	require.NotContains(t, inside, "FS")
	require.Less(t, len(line), 4096)
}

// In each shell, a helper is copied once, and the next connection finds it.
func TestBootstrapCopies(t *testing.T) {
	leaveNothing(t)
	for name, shell := range shells(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "a 'b\\ $HOME `x` \"ü\"! \n")
			program := scriptHelper(t, frame.Version, strings.Repeat("x", 3<<20))
			copies := 0
			var last Progress
			options := Options{Transport: shell, Helpers: helpers(program), Dir: dir, Progress: func(p Progress) {
				if p.Step == StepCopying {
					require.Equal(t, runtime.GOOS+runtime.GOARCH, p.System+p.Arch)
					last = p
				}
				if p.Step == StepCopying && p.Copied == 0 {
					copies++
				}
			}}
			for range 2 {
				r := newRunner(t, options)
				require.NoError(t, r.Connect(testContext(t)))
				dir, env, err := r.Base(testContext(t))
				require.NoError(t, err)
				require.Equal(t, "/", dir)
				require.Equal(t, []string{"A=b"}, env)
				require.NoError(t, r.Close())
			}
			require.Equal(t, 1, copies)
			require.Equal(t, int64(len(program)), last.Size)
			require.Equal(t, last.Size, last.Copied)
			file := filepath.Join(dir, hashOf(program), "acpterm-remote")
			require.Equal(t, []string{file}, filesIn(t, dir))

			// A damaged helper is copied again.
			require.NoError(t, os.WriteFile(file, program[:100], 0o700))
			require.NoError(t, newRunner(t, options).Connect(testContext(t)))
			require.Equal(t, 2, copies)
			copied, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, hashOf(program), hashOf(copied))
		})
	}
}

func filesIn(t testing.TB, dir string) (files []string) {
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	}))
	return files
}

// A profile may print before the shell reads.
func TestBootstrapNoise(t *testing.T) {
	shell := Command{Args: []string{"sh", "-c", "head -c 60000 /dev/zero; echo welcome; exec sh"}}
	require.NoError(t, newRunner(t, Options{
		Transport: shell, Helpers: helpers(scriptHelper(t, frame.Version, "")), Dir: t.TempDir(),
	}).Connect(testContext(t)))
}

// The directories where the helper is looked for and copied to without Options.Dir.
func TestBootstrapDirectories(t *testing.T) {
	program := scriptHelper(t, frame.Version, "")
	connect := func(t *testing.T, env ...string) error {
		return newRunner(t, Options{
			Transport: Command{Args: []string{"/bin/sh"}, Env: append(env, "PATH="+os.Getenv("PATH"))},
			Helpers:   helpers(program),
		}).Connect(testContext(t))
	}
	file := filepath.Join("acpterm", hashOf(program), "acpterm-remote")
	temporary := filepath.Join(fmt.Sprintf("acpterm-%d", os.Getuid()), hashOf(program), "acpterm-remote")
	t.Run("XDG_CACHE_HOME", func(t *testing.T) {
		cache := t.TempDir()
		require.NoError(t, connect(t, "XDG_CACHE_HOME="+cache, "HOME=/nonexistent"))
		require.FileExists(t, filepath.Join(cache, file))
	})
	t.Run("HOME", func(t *testing.T) {
		home := t.TempDir()
		require.NoError(t, connect(t, "HOME="+home))
		require.FileExists(t, filepath.Join(home, ".cache", file))
	})
	t.Run("TMPDIR", func(t *testing.T) {
		tmp := t.TempDir()
		for range 2 {
			require.NoError(t, connect(t, "TMPDIR="+tmp, "HOME=/dev/null"))
		}
		require.FileExists(t, filepath.Join(tmp, temporary))
		info, err := os.Stat(filepath.Join(tmp, filepath.Dir(filepath.Dir(temporary))))
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
	})
	t.Run("a link in TMPDIR", func(t *testing.T) { // another user may have created it
		tmp := t.TempDir()
		require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(tmp, filepath.Dir(filepath.Dir(temporary)))))
		require.ErrorContains(t, connect(t, "TMPDIR="+tmp, "HOME=/dev/null"), "no program can be put into")
	})
	t.Run("a link in HOME", func(t *testing.T) {
		home, tmp := t.TempDir(), t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(home, ".cache"), 0o700))
		require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(home, ".cache", "acpterm")))
		require.NoError(t, connect(t, "TMPDIR="+tmp, "HOME="+home))
		require.FileExists(t, filepath.Join(tmp, temporary))
	})
	t.Run("nowhere", func(t *testing.T) {
		require.ErrorContains(t, connect(t, "TMPDIR=/dev/null", "HOME=/dev/null"), "no program can be put into")
	})
}

// A program in another user's directory does not run: that user could replace it between the check and the start.
func TestBootstrapAnothersDirectory(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root gives directories to another user")
	}
	leaveNothing(t)
	program := scriptHelper(t, frame.Version, "")
	helper := filepath.Join(hashOf(program), "acpterm-remote")
	own := fmt.Sprintf("acpterm-%d", os.Getuid())
	for _, installed := range []bool{false, true} {
		for name, anothers := range map[string]string{
			"the directory":            "home/.cache/acpterm",
			"the cache directory":      "home/.cache",
			"the home":                 "home",
			"XDG_CACHE_HOME":           "xdg",
			"in XDG_CACHE_HOME":        "xdg/acpterm",
			"the temporary directory":  "tmp",
			"in a temporary directory": "tmp/" + own,
		} {
			t.Run(fmt.Sprint(name, ", installed: ", installed), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				path := filepath.Join(dir, anothers)
				require.NoError(t, os.MkdirAll(filepath.Join(dir, "tmp"), 0o700))
				require.NoError(t, os.MkdirAll(path, 0o700))
				first := filepath.Join(dir, "home/.cache/acpterm", helper)
				env := []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + filepath.Join(dir, "tmp"), "HOME=/dev/null"}
				switch {
				case strings.HasPrefix(anothers, "home"):
					env = append(env, "HOME="+filepath.Join(dir, "home"))
				case strings.HasPrefix(anothers, "xdg"):
					first = filepath.Join(dir, "xdg/acpterm", helper)
					env = append(env, "XDG_CACHE_HOME="+filepath.Join(dir, "xdg"))
				default:
					first = filepath.Join(dir, "tmp", own, helper)
				}
				if installed {
					require.NoError(t, os.MkdirAll(filepath.Dir(first), 0o700))
					require.NoError(t, os.WriteFile(first, program, 0o700))
				}
				require.NoError(t, os.Chown(path, 65534, 65534))
				copied := false
				err := newRunner(t, Options{
					Transport: Command{Args: []string{"/bin/sh"}, Env: env}, Helpers: helpers(program),
					Progress: func(p Progress) { copied = copied || p.Step == StepCopying },
				}).Connect(testContext(t))
				switch anothers {
				case "tmp", "tmp/" + own: // the owner of a directory can replace its entries, even with a sticky bit
					require.ErrorContains(t, err, "no program can be put into")
					return
				default:
					require.NoError(t, err)
					require.True(t, copied, "the one in the other user's directory runs")
				}
				require.FileExists(t, filepath.Join(dir, "tmp", own, helper))
				if !installed && !strings.HasPrefix(anothers, "tmp") {
					require.NoFileExists(t, first)
				}
			})
		}
	}
}

// A program does not run if other users can write to it, to its directory or to a parent directory, and so could change
// or replace it. This holds in each shell, and with the tools of BusyBox alone. Outside .ci/long, only dash and BusyBox
// alone run all cases; other shells run a quarter.
func TestBootstrapWritableByOthers(t *testing.T) {
	leaveNothing(t)
	program := scriptHelper(t, frame.Version, "")
	hash := hashOf(program)
	own := fmt.Sprintf("acpterm-%d", os.Getuid())
	for name, shell := range withBusyBoxAlone(t, shells(t)) {
		for i, c := range []struct {
			path   string
			mode   fs.FileMode
			usable bool
		}{
			{"home/.cache/acpterm", 0o755, true},
			{"home/.cache/acpterm", 0o777, false},
			{"home/.cache/acpterm", 0o770, false},
			{"home/.cache/acpterm", 0o702, false},
			{"home/.cache/acpterm", fs.ModeSticky | 0o777, false},
			{"home/.cache", 0o770, false},
			{"home/.cache", fs.ModeSticky | 0o777, true},
			{"home", 0o777, false},
			{".", 0o777, false},
			{".", fs.ModeSticky | 0o777, true},
			{filepath.Join("home/.cache/acpterm", hash), 0o777, false},
			{filepath.Join("home/.cache/acpterm", hash, "acpterm-remote"), 0o720, false},
			{filepath.Join("home/.cache/acpterm", hash, "acpterm-remote"), 0o755, true},
			{filepath.Join("tmp", own), 0o777, false},
			{filepath.Join("tmp", own, hash), 0o770, false},
			{"tmp", 0o770, false},
			{"tmp", fs.ModeSticky | 0o777, true},
		} {
			if i%4 != 2 && name != "dash" && name != "BusyBox alone" && !longtest.Is() {
				continue
			}
			t.Run(fmt.Sprint(name, "/", strings.ReplaceAll(c.path, hash, "hash"), " ", c.mode), func(t *testing.T) {
				t.Parallel()
				shell := shell
				dir := t.TempDir()
				require.NoError(t, os.Chmod(dir, 0o755))
				home, tmp := filepath.Join(dir, "home/.cache/acpterm", hash), filepath.Join(dir, "tmp", own, hash)
				shell.Env = append(slices.Clone(shell.Env), "XDG_CACHE_HOME=", "HOME="+filepath.Join(dir, "home"),
					"TMPDIR="+filepath.Join(dir, "tmp"))
				installed := home
				if strings.HasPrefix(c.path, "tmp") {
					shell.Env = append(shell.Env, "HOME=/dev/null")
					installed = tmp
				}
				for _, d := range []string{home, tmp} {
					require.NoError(t, os.MkdirAll(d, 0o700))
				}
				file := filepath.Join(installed, "acpterm-remote")
				require.NoError(t, os.WriteFile(file, program, 0o700))
				require.NoError(t, os.Chmod(filepath.Join(dir, c.path), c.mode))
				copied := false
				err := newRunner(t, Options{Transport: shell, Helpers: helpers(program), Progress: func(p Progress) {
					copied = copied || p.Step == StepCopying
				}}).Connect(testContext(t))
				switch {
				case !c.usable && (installed == tmp || c.path == "."):
					require.ErrorContains(t, err, "no program can be put into")
				case filepath.Base(c.path) == "acpterm-remote" && !c.usable: // its directory is still usable
					require.NoError(t, err)
					require.True(t, copied, "the one that others can write to runs")
					info, err := os.Stat(file)
					require.NoError(t, err)
					require.Equal(t, fs.FileMode(0o700), info.Mode())
				default:
					require.NoError(t, err)
					require.Equal(t, !c.usable, copied)
					require.Equal(t, !c.usable || installed == tmp, len(filesIn(t, filepath.Join(dir, "tmp"))) == 1)
				}
			})
		}
	}
}

// withBusyBoxAlone adds BusyBox, if installed, without the tools of the system.
func withBusyBoxAlone(t testing.TB, shells map[string]Command) map[string]Command {
	if program, err := exec.LookPath("busybox"); err == nil {
		dir := t.TempDir()
		require.NoError(t, exec.Command(program, "--install", "-s", dir).Run())
		shells["BusyBox alone"] = Command{Args: []string{filepath.Join(dir, "sh")}, Env: []string{"PATH=" + dir}}
	}
	return shells
}

// A connection lost during the copying leaves nothing that a later one would run.
func TestBootstrapCutOff(t *testing.T) {
	program := scriptHelper(t, frame.Version, strings.Repeat("x", 8<<20))
	dir := t.TempDir()
	shell := Command{Args: []string{"sh"}, Env: append(os.Environ(), "COPIES_TO="+dir)}
	options := Options{Transport: shell, Helpers: helpers(program), Dir: dir}
	cut := options
	var r *Runner
	cut.Progress = func(p Progress) {
		if p.Copied == 1<<20 { // all could be copied before the shell is ended
			for r.stop(errClosed); len(leaktest.Running(dir)) > 0; time.Sleep(time.Millisecond) {
			}
		}
	}
	r = newRunner(t, cut)
	require.ErrorIs(t, r.Connect(testContext(t)), acpterm.ErrConnectionLost)
	require.NoError(t, r.Close())
	require.Empty(t, filesIn(t, dir))
	require.NoError(t, newRunner(t, options).Connect(testContext(t)))
}

// Connections that copy at the same time do not disturb each other.
func TestBootstrapConcurrently(t *testing.T) {
	program := scriptHelper(t, frame.Version, strings.Repeat("x", 1<<20))
	dir := t.TempDir()
	const n = 4
	errs := make(chan error, n)
	together := make(chan struct{}, n) // all begin to copy before one has finished
	for range n {
		r := newRunner(t, Options{
			Transport: Command{Args: []string{"sh"}}, Helpers: helpers(program), Dir: dir, Progress: func(p Progress) {
				if p.Step == StepCopying && p.Copied == 0 {
					together <- struct{}{}
					require.Eventually(t, func() bool { return len(together) == n }, time.Minute, time.Millisecond)
				}
			}})
		go func() { errs <- r.Connect(testContext(t)) }()
	}
	for range n {
		require.NoError(t, <-errs)
	}
	require.Equal(t, []string{filepath.Join(dir, hashOf(program), "acpterm-remote")}, filesIn(t, dir))
}

// If the helper cannot run, the error says why.
func TestBootstrapErrors(t *testing.T) {
	script := filepath.Join(t.TempDir(), "helper")
	require.NoError(t, os.WriteFile(script, scriptHelper(t, frame.Version+1, ""), 0o700))
	notExecutable := filepath.Join(t.TempDir(), "helper")
	require.NoError(t, os.WriteFile(notExecutable, nil, 0o600))
	broken := filepath.Join(t.TempDir(), "helper")
	require.NoError(t, os.WriteFile(broken, []byte("#!/nonexistent/interpreter\n"), 0o700))
	noise := filepath.Join(t.TempDir(), "helper")
	require.NoError(t, os.WriteFile(noise, []byte("#!/bin/sh\necho not a helper; cat >/dev/null\n"), 0o700))
	tools := func(names ...string) string {
		dir := t.TempDir()
		for _, name := range names {
			file, err := exec.LookPath(name)
			require.NoError(t, err)
			require.NoError(t, os.Symlink(file, filepath.Join(dir, name)))
		}
		return dir
	}
	good := helpers(scriptHelper(t, frame.Version, ""))
	for name, c := range map[string]struct {
		options Options
		path    string
		says    []string
	}{
		"another version": {Options{Path: script}, "",
			[]string{fmt.Sprint("version ", frame.Version+1), fmt.Sprint("version ", frame.Version), "install the helper", script}},
		"another version, copied": {Options{Helpers: helpers(scriptHelper(t, 7, "")), Dir: t.TempDir()}, "",
			[]string{"version 7", "build Options.Helpers again"}},
		"no file":            {Options{Path: "/nonexistent/helper"}, "", []string{"no program /nonexistent/helper"}},
		"not executable":     {Options{Path: notExecutable}, "", []string{"no program " + notExecutable}},
		"cannot be executed": {Options{Path: broken}, "", []string{"did not start", "standard error", broken}},
		"is something else":  {Options{Path: noise}, "", []string{"did not start", "not a helper"}},
		"not in PATH":        {Options{}, tools("sh"), []string{"the remote PATH has no program acpterm-remote"}},
		"no helper for it": {Options{Helpers: fstest.MapFS{}}, "",
			[]string{unameOf(t), "acpterm-remote-" + runtime.GOOS, "Options.Path"}},
		"no tool for hashes": {Options{Helpers: good, Dir: t.TempDir()}, tools("sh", "uname", "head"),
			[]string{"neither sha256sum nor shasum"}},
		"no head": {Options{Helpers: good, Dir: t.TempDir()},
			tools("sh", "uname", "mkdir", "id", "chmod", "find", "sha256sum", "rm"), []string{"cannot be written"}},
		"directory is a file": {Options{Helpers: good, Dir: notExecutable}, "",
			[]string{"no program can be put into " + notExecutable}},
	} {
		t.Run(name, func(t *testing.T) {
			env := []string{"PATH=" + cmp.Or(c.path, os.Getenv("PATH"))}
			c.options.Transport = Command{Args: []string{"sh"}, Env: env}
			err := newRunner(t, c.options).Connect(testContext(t))
			require.ErrorIs(t, err, acpterm.ErrConnectionLost)
			for _, text := range c.says {
				require.ErrorContains(t, err, text)
			}
		})
	}
}

// NoHelperError names the missing helper, for programs that can build it.
func TestNoHelperError(t *testing.T) {
	path := t.TempDir()
	for _, name := range []string{"sh", "uname"} {
		program, err := exec.LookPath(name)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(program, filepath.Join(path, name)))
	}
	for _, options := range []Options{{}, {Helpers: fstest.MapFS{}}} {
		options.Transport = Command{Args: []string{"sh"}, Env: []string{"PATH=" + path}}
		err := newRunner(t, options).Connect(testContext(t))
		missing, ok := errors.AsType[*NoHelperError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, runtime.GOOS+"/"+runtime.GOARCH, missing.System+"/"+missing.Arch)
	}
}

func unameOf(t *testing.T) string {
	text, err := exec.Command("uname", "-sm").Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(text))
}

// A command that does not provide a shell fails in time, and the error has its output.
func testNoShell(t *testing.T) {
	sh := func(script string) []string { return []string{"sh", "-c", script} }
	for name, c := range map[string]struct {
		args []string
		says []string
	}{
		"says something":         {[]string{"echo", "hi there"}, []string{"no remote shell answered", "hi there", "exit code 0"}},
		"fails":                  {[]string{"false"}, []string{"no remote shell answered", "exit code 1"}},
		"fails with an error":    {sh("echo no entry >&2; exit 255"), []string{"exit code 255", "no entry"}},
		"echoes":                 {[]string{"cat"}, []string{"comes back", "no shell", "(PTY)"}},
		"says nothing":           {sh("echo waiting >&2; sleep 600"), []string{"ConnectTimeout", "waiting"}},
		"closes its output":      {sh("echo waiting >&2; exec cat >/dev/null"), []string{"closed its output", "waiting"}},
		"makes noise":            {[]string{"yes", "noise"}, []string{"more than 65536 bytes", "noise"}},
		"does not exist":         {[]string{"/nonexistent/program"}, []string{"/nonexistent/program"}},
		"is killed":              {sh("kill -9 $$"), []string{"SIGKILL"}},
		"ends, and holds a pipe": {sh("sleep 600 & echo left $! >&2; exit 3"), []string{"exit code 3"}},
		"waits for nothing":      {[]string{"sleep", "600"}, []string{"ConnectTimeout"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := time.Minute
			if slices.Contains(c.says, "ConnectTimeout") {
				timeout = 3 * time.Second // enough for a shell to say something
			}
			r := newRunner(t, Options{Transport: Command{Args: c.args}, ConnectTimeout: timeout})
			err := r.Connect(testContext(t))
			require.ErrorIs(t, err, acpterm.ErrConnectionLost)
			for _, text := range c.says {
				require.ErrorContains(t, err, text)
			}
			if left := regexp.MustCompile(`left (\d+)`).FindStringSubmatch(err.Error()); left != nil {
				pid, err := strconv.Atoi(left[1])
				require.NoError(t, err)
				require.NoError(t, syscall.Kill(pid, syscall.SIGKILL), "what a command leaves goes on")
			}
		})
	}
}

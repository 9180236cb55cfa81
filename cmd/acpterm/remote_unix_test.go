//go:build unix

package main

// Commands at a far end, which is a shell on this machine, with a home and an environment of its own. And commands in a
// shell that the user chooses.

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func init() {
	parts["relay"] = relay
	parts["show"] = func(args []string) { fmt.Printf("%s is %q\n", args[0], os.Getenv(args[0])) }
}

// relay FILE ARG...: a transport that is not what it leads to. It runs a command line, and its process id is in a file.
func relay(args []string) {
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		panic(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	os.WriteFile(args[0], fmt.Append(nil, os.Getpid()), 0o600)
	go func() {
		io.Copy(stdin, os.Stdin)
		stdin.Close()
	}()
	io.Copy(os.Stdout, stdout)
	cmd.Wait()
}

// farShell is the command line of a far end: it has this home, of this process's environment only what the race detector
// reads, and programs of these directories before the system's.
func farShell(home string, path ...string) string {
	path = append(path, "/usr/bin", "/bin")
	return strings.Join([]string{"env", "-i", "GORACE=" + os.Getenv("GORACE"), "HOME=" + home, "PATH=" + strings.Join(path, ":"), "sh"}, " ")
}

// connected is what is said of a connection.
func connected() string {
	return fmt.Sprintf("acpterm: connecting\nacpterm: connected to %s/%s\n", runtime.GOOS, runtime.GOARCH)
}

func TestRunner(t *testing.T) {
	t.Parallel()
	home := realDir(t)
	require.NoError(t, os.Mkdir(filepath.Join(home, "src"), 0o700))
	for _, test := range []struct {
		flags  []string
		prompt string
		want   string
	}{
		{nil, line("where"), "in " + home},
		{[]string{"-cwd", "src"}, line("where"), "in " + home + "/src"},
		{[]string{"-root", home + "/src"}, line("where"), "in " + home + "/src"},
		{nil, line("show", secret), secret + ` is ""`},
		{nil, line("show", "HOME"), fmt.Sprintf("HOME is %q", home)},
	} {
		flags := append(test.flags, "-runner", farShell(home, binaries()), "-prompt", test.prompt)
		c := startClient(t, exampleAgent(), flags...)
		c.exit(0)
		require.Contains(t, c.stdout.String(), "\n[1] | "+test.want+"\n")
		require.Equal(t, connected(), c.stderr.String())
	}
	c := startClient(t, exampleAgent(), "-runner", farShell(home, binaries()), "-prompt", "exit 4")
	c.exit(0)
	require.Contains(t, c.stdout.String(), "[1] = exited 4 in ")
}

// Roots and rules are about the far end's directories and programs.
func TestRunnerGuards(t *testing.T) {
	t.Parallel()
	home := realDir(t)
	bin := filepath.Join(home, "bin")
	require.NoError(t, os.MkdirAll(filepath.Join(home, "src"), 0o700))
	require.NoError(t, os.Mkdir(bin, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "acpterm-there"), []byte("#!/bin/sh\necho there\n"), 0o700))
	require.NoError(t, os.Symlink("/", filepath.Join(home, "src", "out")))
	inside := createParams("s", "acpterm-there")
	outside, linked := inside, inside
	outside.Cwd, linked.Cwd = home, filepath.Join(home, "src", "out")
	file := filepath.Join(t.TempDir(), "audit.json")
	c := startClient(t, trying(t, inside, outside, linked, createParams("s", "true")), "-runner",
		farShell(home, binaries(), bin), "-root", "src", "-allow", "acpterm-there", "-audit", file, "-prompt", "x")
	c.exit(0)
	out := c.stdout.String()
	require.Contains(t, out, `terminal/create: "there\n" exit code 0`)
	require.Equal(t, 2, strings.Count(out, "! denied \"acpterm-there\": cwd is outside of the directories"), out)
	require.Contains(t, out, `! denied "true": no rule allows this`)
	require.Len(t, readRecords(t, file), 5)
	require.Equal(t, connected(), c.stderr.String())
}

// Commands run on PTYs of the remote system.
func TestRunnerWithPTYs(t *testing.T) {
	t.Parallel()
	c := startClient(t, exampleAgent(), "-runner", farShell(realDir(t), binaries()), "-pty", "-prompt", "tty")
	c.exit(0)
	require.Contains(t, c.stdout.String(), "/dev/")
}

// What cannot be is said before the agent starts.
func TestRunnerThatCannotBeHad(t *testing.T) {
	t.Parallel()
	home, empty := realDir(t), t.TempDir()
	shell := farShell(home, binaries())
	for _, test := range []struct {
		status int
		flags  []string
		want   string
	}{
		{exitUsage, []string{"-runner", ""}, "the command line is empty"},
		{exitUsage, []string{"-runner", "ssh 'host"}, "is not closed"},
		{exitUsage, []string{"-helpers", empty}, "-helpers: needs -runner"},
		{exitUsage, []string{"-runner", shell, "-helpers", home + "/missing"}, "-helpers: "},
		{exitUsage, []string{"-runner", shell, "-cwd", "missing"}, "-cwd: " + home + "/missing is not a directory"},
		{exitUsage, []string{"-runner", shell, "-root", "/", "-root", "/bin/sh"}, "-root: /bin/sh is not a directory"},
		{exitLost, []string{"-runner", "acpterm-no-such-program"}, `"acpterm-no-such-program"`},
		{exitLost, []string{"-runner", "false"}, "exit code 1"},
		{exitLost, []string{"-runner", "sh -c 'echo no such host >&2; exit 255'"}, "no such host"},
		{exitLost, []string{"-runner", farShell(home), "-helpers", empty}, "there is no acpterm-remote for "},
	} {
		c := startClient(t, []string{"acpterm-no-such-agent"}, append(test.flags, "-prompt", "x")...)
		c.exit(test.status)
		require.Contains(t, c.stderr.String(), test.want)
		require.NotContains(t, c.stderr.String(), "acpterm-no-such-agent")
		require.NotContains(t, c.stderr.String(), "lost")
		require.Empty(t, c.stdout.String())
	}
}

// A helper of -helpers is copied once.
func TestRunnerCopiesTheHelper(t *testing.T) {
	t.Parallel()
	home, helpers := realDir(t), t.TempDir()
	name := fmt.Sprintf("acpterm-remote-%s-%s", runtime.GOOS, runtime.GOARCH)
	require.NoError(t, os.Symlink(filepath.Join(binaries(), "acpterm-remote"), filepath.Join(helpers, name)))
	for _, copied := range []bool{true, false} {
		c := startClient(t, exampleAgent(),
			"-runner", farShell(home), "-helpers", helpers, "-prompt", line("print", "hello"))
		c.exit(0)
		require.Contains(t, c.stdout.String(), "[1] | hello\n")
		if !copied {
			require.Equal(t, connected(), c.stderr.String())
			continue
		}
		require.Regexp(t, fmt.Sprintf(
			`^acpterm: connecting\n(acpterm: copying \d+\.\d of \d+\.\d MB to %s/%s\n)+acpterm: connected`,
			runtime.GOOS, runtime.GOARCH), c.stderr.String())
	}
}

// startRelayed starts the client with a transport that is killed with kill.
func startRelayed(t *testing.T, agent []string, flags ...string) (c *client, kill func()) {
	file := filepath.Join(t.TempDir(), "relay")
	runner := line("relay", file, "sh", "-c", "'exec "+farShell(realDir(t), binaries())+"'")
	c = startClient(t, agent, append(flags, "-runner", runner)...)
	return c, func() {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		pid, err := strconv.Atoi(string(text))
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
}

// A connection that is lost ends what ran there. The agent hears of it, and the turn goes on.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	c, kill := startRelayed(t, exampleAgent(), "-prompt", line("sleep"))
	command := c.stdout.await(t, `\| command (\d+)\n`)
	kill()
	c.exit(0)
	// The helper ends the command, maybe a moment after its output has ended.
	require.Eventually(t, func() bool { return hasEnded(t, command) }, time.Minute, time.Millisecond)
	require.Contains(t, c.stdout.String(), "connection lost")
	require.Contains(t, c.stderr.String(), "\nacpterm: lost: ")
	require.Equal(t, 1, strings.Count(c.stderr.String(), "acpterm: connecting\n"))
}

// The helper and its commands end with the client, however that ends.
func TestRunnerInterrupted(t *testing.T) {
	t.Parallel()
	c, _ := startRelayed(t, exampleAgent(), "-prompt", line("sleep"))
	command := c.stdout.await(t, `\| command (\d+)\n`)
	c.signal(os.Interrupt)
	c.exit(exitInterrupted)
	requireGone(t, command)
	require.Contains(t, c.stdout.String(), "[1] = signal SIGTERM after ")
	require.NotContains(t, c.stderr.String(), "lost")
}

func TestInterruptWhileConnecting(t *testing.T) {
	t.Parallel()
	const silent = "sleep 60" // a runner that echoes its input, as cat does, ends the attempt by itself
	c := startClient(t, exampleAgent(), "-runner", silent, "-prompt", "x")
	c.stderr.await(t, "connecting\n")
	c.signal(os.Interrupt)
	c.exit(exitInterrupted)
	require.Contains(t, c.stderr.String(), "left: interrupt")
}

// With -shell, lines run in that shell.
func TestShell(t *testing.T) {
	t.Parallel()
	c := startClient(t, exampleAgent(), "-shell", "bash", "-prompt", `x=(a b); [[ -n $x ]] && echo "<${x[1]}>"; exit 5`)
	c.exit(0)
	require.Contains(t, c.stdout.String(), "[1] | <b>\n")
	require.Contains(t, c.stdout.String(), "[1] = exited 5 in ")
	require.Empty(t, c.stderr.String())
}

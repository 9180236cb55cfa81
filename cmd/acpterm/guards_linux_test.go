package main

// What takes Linux: a sandbox. And what the user is asked.

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
)

func needBubblewrap(t *testing.T) {
	if _, err := exec.LookPath("bwrap"); err != nil && os.Getenv("ACPTERM_REQUIRE_BUBBLEWRAP") == "" {
		t.Skip("bwrap is not installed")
	}
}

func TestSandbox(t *testing.T) {
	t.Parallel()
	needBubblewrap(t)
	root := realDir(t)
	outside, err := os.MkdirTemp("/var/tmp", "outside") // not below /tmp, which is another one in the sandbox
	require.NoError(t, err)
	defer os.RemoveAll(outside)
	audit := filepath.Join(t.TempDir(), "audit.json")

	c := startClient(t, exampleAgent(), "-sandbox", "-root", root, "-audit", audit, "-prompt", fmt.Sprintf(
		`echo mine > file; echo hers > %s/file; echo forged >> %s; for p in /proc/[0-9]*; do tr '\0' ' ' < $p/cmdline; echo; done`, outside, audit))
	c.exit(0)
	out := c.stdout.String()
	require.Contains(t, out, "Read-only file system")
	require.FileExists(t, filepath.Join(root, "file"))
	require.NoFileExists(t, filepath.Join(outside, "file"))
	for text := range strings.Lines(out) {
		if command, ok := strings.CutPrefix(text, "[1] | "); ok {
			require.NotRegexp(t, `acpterm.test|^\S*/acpterm |^\S*/agent `, command, "a process from outside")
		}
	}
	require.Regexp(t, `\| \S*bwrap `, out) // there are some
	require.Len(t, readRecords(t, audit), 2)
}

func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	c := startClient(t, exampleAgent(), "-idle-timeout", "1s", "-prompt", line("sleep"))
	c.exit(0)
	require.Regexp(t, `\[1\] = .*, was idle for too long\n`, c.stdout.String())
}

// With -runner, the sandbox is that of the remote system.
func TestSandboxOfARunner(t *testing.T) {
	t.Parallel()
	needBubblewrap(t)
	root := realDir(t)
	outside, err := os.MkdirTemp("/var/tmp", "outside")
	require.NoError(t, err)
	defer os.RemoveAll(outside)
	c := startClient(t, exampleAgent(), "-sandbox", "-runner", farShell(root, binaries()), "-root", root,
		"-prompt", fmt.Sprintf("echo mine > file; echo hers > %s/file", outside))
	c.exit(0)
	require.Contains(t, c.stdout.String(), "Read-only file system")
	require.FileExists(t, filepath.Join(root, "file"))
	require.NoFileExists(t, filepath.Join(outside, "file"))

	bin := t.TempDir() // has everything but bwrap
	for _, name := range []string{"sh", "uname", "acpterm-remote"} {
		path, err := exec.LookPath(name)
		if err != nil {
			path = filepath.Join(binaries(), name)
		}
		require.NoError(t, os.Symlink(path, filepath.Join(bin, name)))
	}
	without := "env -i HOME=" + root + " PATH=" + bin + " " + filepath.Join(bin, "sh")
	c = startClient(t, exampleAgent(), "-sandbox", "-runner", without, "-root", root, "-prompt", "echo no > file2")
	c.exit(0)
	require.Contains(t, c.stdout.String(), "bwrap cannot be found")
	require.NoFileExists(t, filepath.Join(root, "file2"))
}

func TestSandboxNetwork(t *testing.T) {
	t.Parallel()
	needBubblewrap(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	port := fmt.Sprintf(":%04X ", listener.Addr().(*net.TCPAddr).Port)
	for _, flags := range [][]string{{"-sandbox"}, {"-sandbox", "-network"}} {
		c := startClient(t, exampleAgent(), append(flags, "-root", t.TempDir(), "-prompt", "cat /proc/net/tcp")...)
		c.exit(0)
		require.Equal(t, len(flags) == 2, strings.Contains(c.stdout.String(), port))
	}
}

func TestSandboxThatIsMissing(t *testing.T) {
	agent := exampleAgent() // whose build needs the path
	t.Setenv("PATH", t.TempDir())
	c := startClient(t, agent, "-sandbox", "-prompt", "x")
	c.exit(1)
	require.Contains(t, c.stderr.String(), "-sandbox: acpterm: bubblewrap: bwrap cannot be found")
}

func TestNobodyToAsk(t *testing.T) {
	t.Parallel()
	c := startClientAs(t, nil, &syscall.SysProcAttr{Setsid: true}, exampleAgent(), "-ask", "-prompt", "x")
	c.exit(1)
	require.Contains(t, c.stderr.String(), "acpterm: -ask: there is no terminal to ask on")
}

func TestAsk(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit.json")
	version, environ := createParams("s", "go", "version"), createParams("s", "go", "env", "GOOS")
	pager := createParams("s", "go", "env", "GOARCH")
	pager.Env = []acpterm.EnvVariable{{Name: "PAGER", Value: "x\x1b[2J"}}
	w := openWindow(t, 300, 60, nil,
		trying(t, version, environ, environ, pager, pager, createParams("s", "go version && go version")),
		"-allow", "go version", "-ask", "-audit", file, "-prompt", "x")
	w.answer(`"env" "GOOS"`, "")
	w.answer("never: ", "s\n")
	w.answer(`"env" "GOARCH"`, "")
	w.answer(`"PAGER"="x\x1b[2J"`, "")
	w.answer("never: ", "N\n")
	w.answer(`line       "go version && go version"`, "")
	w.answer("never: ", "y\n")
	w.exit(0)
	require.Equal(t, 3, strings.Count(w.text(), "The agent wants to run"))
	require.Equal(t, 2, strings.Count(w.text(), "terminal/create: -32602 "))
	require.Equal(t, 2, strings.Count(w.text(), `! denied "go env GOARCH": `), w.text())
	require.Equal(t, 4, strings.Count(w.text(), "= exited 0 in "))

	var approvals []string
	for _, r := range readRecords(t, file) {
		if r.Msg == "decision" {
			approvals = append(approvals, r.Verdict+" "+r.Approval+" "+r.Approver)
		}
	}
	person := " the user at the terminal"
	require.Equal(t, []string{
		"allow  ", "allow allow_session" + person, "allow allow_session" + person, "deny reject_always" + person, "deny reject_always" + person, "allow allow_once" + person,
	}, approvals)
}

// The agent waits for an answer to its create; an interrupt is one.
func TestInterruptEndsAQuestion(t *testing.T) {
	t.Parallel()
	w := openWindow(t, 200, 30, nil, exampleAgent(), "-ask", "-prompt", "go version")
	w.answer("never: ", "\x03")
	w.exit(exitInterrupted)
	require.Contains(t, w.text(), "need not be answered any more.")
	require.Contains(t, w.text(), `the turn ended with "cancelled"`)
}

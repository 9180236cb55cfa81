package main

// What takes Linux: a sandbox, and a terminal of the client's own to be asked on.

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm"
)

func needBubblewrap(t *testing.T) {
	if _, err := exec.LookPath("bwrap"); err != nil && os.Getenv("ACPTERM_REQUIRE_BUBBLEWRAP") == "" {
		t.Skip("bwrap is not installed")
	}
}

func TestSandbox(t *testing.T) {
	needBubblewrap(t)
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	outside, err := os.MkdirTemp(".", "outside") // not in /tmp, which is another one in the sandbox
	require.NoError(t, err)
	defer os.RemoveAll(outside)
	outside, err = filepath.Abs(outside)
	require.NoError(t, err)
	audit := filepath.Join(root, "audit.json")

	c := startClient(t, exampleAgent(), "-sandbox", "-root", root, "-audit", audit, "-prompt", fmt.Sprintf(
		`echo mine > file; echo hers > %s/file; echo forged >> %s; for p in /proc/[0-9]*; do tr '\0' ' ' < $p/cmdline; echo; done`, outside, audit))
	c.exit(0)
	out := c.stdout.String()
	require.Contains(t, out, "Read-only file system")
	require.FileExists(t, filepath.Join(root, "file"))
	require.NoFileExists(t, filepath.Join(outside, "file"))
	for text := range strings.Lines(out) {
		if command, ok := strings.CutPrefix(text, "[1] | "); ok {
			require.NotRegexp(t, `client.test|^\S*/client |^\S*/agent `, command, "a process from outside")
		}
	}
	require.Regexp(t, `\| \S*bwrap `, out) // there are some
	require.Len(t, readRecords(t, audit), 2)
}

func TestSandboxNetwork(t *testing.T) {
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
	t.Setenv("PATH", t.TempDir())
	c := startClient(t, exampleAgent(), "-sandbox", "-prompt", "x")
	c.exit(1)
	require.Contains(t, c.stderr.String(), "-sandbox: acpterm: bubblewrap: bwrap cannot be found")
}

func TestNobodyToAsk(t *testing.T) {
	c := startClientAs(t, nil, &syscall.SysProcAttr{Setsid: true}, exampleAgent(), "-ask", "-prompt", "x")
	c.exit(1)
	require.Contains(t, c.stderr.String(), "client: -ask: there is no terminal to ask on")
}

// console is a client's terminal, and what was written on it.
type console struct {
	*transcript
	keys *os.File
}

// startOnConsole starts the client at a terminal.
func startOnConsole(t *testing.T, agent []string, flags ...string) (*client, *console) {
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	raw, err := keys.SyscallConn()
	require.NoError(t, err)
	var number int
	var problem error
	require.NoError(t, raw.Control(func(fd uintptr) {
		if problem = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); problem == nil {
			number, problem = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	}))
	require.NoError(t, problem)
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	defer tty.Close()

	screen, w := newTranscript(t)
	t.Cleanup(func() {
		keys.Close()
		<-screen.ended
		screen.pipe.Close()
	})
	go func() {
		defer w.Close()
		io.Copy(w, bufio.NewReader(keys)) // until the client is gone
	}()
	c := startClientAs(t, tty, &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}, agent, flags...)
	return c, &console{screen, keys}
}

func (c *console) typeLine(t *testing.T, line string) {
	_, err := c.keys.WriteString(line + "\n")
	require.NoError(t, err)
}

func TestAsk(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.json")
	version, environ := createParams("s", "go", "version"), createParams("s", "go", "env", "GOOS")
	pager := createParams("s", "go", "env", "GOARCH")
	pager.Env = []acpterm.EnvVariable{{Name: "PAGER", Value: "x\x1b[2J"}}
	c, console := startOnConsole(t, trying(t, version, environ, environ, pager, pager, createParams("s", "go version && go version")),
		"-allow", "go version", "-ask", "-audit", file, "-prompt", "x")
	console.await(t, `(?s)arguments  "env" "GOOS"\r\n.*never: $`)
	console.typeLine(t, "s")
	console.await(t, `(?s)arguments  "env" "GOARCH"\r\n.*variable   "PAGER"="x\\x1b\[2J".*never: $`)
	console.typeLine(t, "N")
	console.await(t, `(?s)line       "go version && go version"\r\n.*never: $`)
	console.typeLine(t, "y")
	c.exit(0)
	require.Equal(t, 3, strings.Count(console.String(), "The agent wants to run"))
	require.NotContains(t, console.String(), "\x1b")
	require.Equal(t, 2, strings.Count(c.stdout.String(), "terminal/create: -32602 "))
	require.Equal(t, 4, strings.Count(c.stdout.String(), "= exit code 0\n"))

	var approvals []string
	for _, r := range readRecords(t, file) {
		if r.Msg == "decision" {
			approvals = append(approvals, r.Verdict+" "+r.Approval+" "+r.Approver)
		}
	}
	person := " the person at the terminal"
	require.Equal(t, []string{
		"allow  ", "allow session" + person, "allow session" + person, "deny never" + person, "deny never" + person, "allow once" + person,
	}, approvals)
}

func TestAgentWithdrawsAQuestion(t *testing.T) {
	file := filepath.Join(t.TempDir(), "go-on")
	agent := part("agent-that-changes-its-mind", file, encode(t, createParams("s", "go", "env")), encode(t, createParams("s", "go", "version")))
	c, console := startOnConsole(t, agent, "-ask", "-prompt", "x")
	console.await(t, `(?s)"env"\r\n.*never: $`)
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	console.await(t, `Enter shows it: $`)
	console.typeLine(t, "")
	console.await(t, `(?s)"version"\r\n.*never: $`)
	console.typeLine(t, "y")
	c.exit(0)
	require.Contains(t, c.stdout.String(), "0: jsonrpc2: code -32800 ")
	require.Contains(t, c.stdout.String(), "1: <nil>\n")
}

// The agent waits for an answer to its create; an interrupt is one.
func TestInterruptEndsAQuestion(t *testing.T) {
	c, console := startOnConsole(t, exampleAgent(), "-ask", "-prompt", "go version")
	console.await(t, `never: $`)
	_, err := console.keys.Write([]byte{3}) // Ctrl-C
	require.NoError(t, err)
	c.exit(1)
	console.await(t, `need not be answered any more\.`)
	require.Contains(t, c.stderr.String(), `the turn ended with "cancelled"`)
}

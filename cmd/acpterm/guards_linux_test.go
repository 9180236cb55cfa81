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
	t.Parallel()
	needBubblewrap(t)
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
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
	t.Setenv("PATH", t.TempDir())
	c := startClient(t, exampleAgent(), "-sandbox", "-prompt", "x")
	c.exit(1)
	require.Contains(t, c.stderr.String(), "-sandbox: acpterm: bubblewrap: bwrap cannot be found")
}

func TestNobodyToAsk(t *testing.T) {
	t.Parallel()
	c := startClientAs(t, nil, &syscall.SysProcAttr{Setsid: true}, exampleAgent(), "-ask", "-prompt", "x")
	c.exit(1)
	require.Contains(t, c.stderr.String(), "acpterm: -ask: there is no terminal to ask on")
}

// console is a client's terminal, and what was written on it.
type console struct {
	*transcript
	keys *os.File
}

// newConsole makes a terminal, of which tty is the side that programs have.
func newConsole(t *testing.T) (c *console, tty *os.File) {
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
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)

	screen, w := newTranscript(t)
	t.Cleanup(func() {
		keys.Close()
		<-screen.ended
		screen.pipe.Close()
	})
	go func() {
		defer w.Close()
		io.Copy(w, bufio.NewReader(keys)) // until nothing has tty open
	}()
	return &console{screen, keys}, tty
}

// startOnConsole starts the client at a terminal.
func startOnConsole(t *testing.T, agent []string, flags ...string) (*client, *console) {
	console, tty := newConsole(t)
	defer tty.Close()
	c := startClientAs(t, tty, &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}, agent, flags...)
	return c, console
}

// Where standard output and standard error are one terminal, neither goes on in the other's line.
func TestOneTerminalHasOneLastLine(t *testing.T) {
	console, tty := newConsole(t)
	s := newScreen(tty, tty, false, func(err error) { t.Error(err) })
	s.print("[1] | ", "one")
	s.printError("two")
	s.print("[1] | ", "three\n")
	s.printError("four")
	s.finish()
	require.NoError(t, tty.Close())
	<-console.ended
	require.Equal(t, "[1] | one\r\nagent: two\r\n[1] | three\r\nagent: four\r\n", console.String())
}

// Colours are shown on a terminal unless the person does not want them.
func TestColoursOnATerminal(t *testing.T) {
	_, tty := newConsole(t)
	defer tty.Close()
	for _, test := range []struct {
		noColour, term string
		want           bool
	}{{"", "xterm", true}, {"1", "xterm", false}, {"", "dumb", false}} {
		t.Setenv("NO_COLOR", test.noColour)
		t.Setenv("TERM", test.term)
		require.Equal(t, test.want, wantColours(tty), "%v", test)
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer null.Close()
	require.False(t, wantColours(null), "a device that is no terminal")
}

func (c *console) typeLine(t *testing.T, line string) {
	_, err := c.keys.WriteString(line + "\n")
	require.NoError(t, err)
}

func TestAsk(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit.json")
	version, environ := createParams("s", "go", "version"), createParams("s", "go", "env", "GOOS")
	pager := createParams("s", "go", "env", "GOARCH")
	pager.Env = []acpterm.EnvVariable{{Name: "PAGER", Value: "x\x1b[2J"}}
	c, console := startOnConsole(t, trying(t, version, environ, environ, pager, pager, createParams("s", "go version && go version")),
		"-allow", "go version", "-ask", "-audit", file, "-prompt", "x")
	console.await(t, `(?s)arguments  "env" "GOOS"\r\n.*never: $`)
	console.typeLine(t, "s")
	console.await(t, `(?s)arguments  "env" "GOARCH"\r\n.*variables  "PAGER"="x\\x1b\[2J".*never: $`)
	console.typeLine(t, "N")
	console.await(t, `(?s)line       "go version && go version"\r\n.*never: $`)
	console.typeLine(t, "y")
	c.exit(0)
	require.Equal(t, 3, strings.Count(console.String(), "The agent wants to run"))
	require.NotContains(t, console.String(), "\x1b")
	require.Equal(t, 2, strings.Count(c.stdout.String(), "terminal/create: -32602 "))
	require.Equal(t, 2, strings.Count(c.stdout.String(), `! denied "go env GOARCH": `), c.stdout.String())
	require.Equal(t, 4, strings.Count(c.stdout.String(), "= exited 0 in "))

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
	c, console := startOnConsole(t, exampleAgent(), "-ask", "-prompt", "go version")
	console.await(t, `never: $`)
	_, err := console.keys.Write([]byte{3}) // Ctrl-C
	require.NoError(t, err)
	c.exit(exitInterrupted)
	console.await(t, `need not be answered any more\.`)
	require.Contains(t, c.stderr.String(), `the turn ended with "cancelled"`)
}

//go:build linux || darwin || freebsd

package usershell_test

// Simulated login shells: programs that get the options of a login shell, and do the same as start-up files.

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/stretchr/testify/require"

	testchildren "github.com/acpterm/acpterm/internal/terminaltest/children"
)

func TestMain(m *testing.M) { hosttest.RunTests(m, loginChildren()) }

// playedShell returns the file of a simulated shell. It runs a child, with its own arguments before the shell's.
func playedShell(t testing.TB, name string, args ...string) string {
	t.Helper()
	line := "exec"
	for _, arg := range append([]string{hosttest.Executable()}, hosttest.ChildArgs(name, args...)[1:]...) {
		line += " '" + arg + "'"
	}
	file := filepath.Join(t.TempDir(), "shell")
	require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\n"+line+` "$@"`+"\n"), 0o700))
	return file
}

// loginChildren returns the simulated shells, in addition to children. Their own arguments come first, then "-l", "-i",
// "-c" and the text.
func loginChildren() map[string]func(args []string) {
	text := func(args []string) string { return args[len(args)-1] }
	return map[string]func(args []string){
		// login-noise BYTES: writes BYTES bytes before and after, and to standard error.
		"login-noise": func(args []string) {
			noise := strings.Repeat("noise=\x00 0000000 61\n", hosttest.Number(args[0])/20)
			io.WriteString(os.Stdout, noise)
			io.WriteString(os.Stderr, noise)
			runShell(text(args))
			io.WriteString(os.Stdout, noise)
		},
		// login-variables: sets variables with hostile values.
		"login-variables": func(args []string) {
			marks := regexp.MustCompile(`acpterm-""[-\w]+`).FindAllString(text(args), -1)
			os.Setenv("LOGIN_MARKS", "\n"+strings.ReplaceAll(strings.Join(marks, "\n"), `""`, "")+"\n")
			os.Setenv("LOGIN_TEXT", text(args))
			os.Setenv("LOGIN_NEWLINES", "\na\nPATH=b\n")
			os.Setenv("LOGIN_EQUALS", "=a==b=")
			os.Setenv("LOGIN_BYTES", "\xff\xfe\x80\x01\x1b[2J\r")
			os.Setenv("LOGIN_EMPTY", "")
			execShell("-c", text(args))
		},
		// login-mixes WHERE: writes noise into the environment: "each" time, the "first" time, or to standard "error".
		"login-mixes": func(args []string) {
			written, _ := exec.Command("/bin/sh", "-c", text(args)).Output()
			for i, piece := range bytes.SplitAfter(written, []byte("\n0000016")) {
				switch {
				case i > 0 && args[0] == "error":
					io.WriteString(os.Stderr, "noise\n")
				case i == 1 || i > 1 && args[0] == "each":
					io.WriteString(os.Stdout, "noise\n")
				}
				os.Stdout.Write(piece)
			}
		},
		// login-hangs FILE CHILD...: starts children, creates the file when all are ready, and ignores all signals that
		// it can.
		"login-hangs": func(args []string) {
			signal.Ignore(syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT)
			for _, child := range args[1 : len(args)-4] {
				startReady(child)
			}
			os.WriteFile(args[0], nil, 0o600)
			time.Sleep(testchildren.SoLong)
		},
		// login-leaves DIR: starts one child in its session, one in a new session with its output, and one in a new
		// session without it, and then behaves correctly. The children's numbers are in files of DIR.
		"login-leaves": func(args []string) {
			null, _ := os.OpenFile(os.DevNull, os.O_RDWR, 0)
			silent, loud := []*os.File{null, null, null}, []*os.File{null, os.Stdout, null}
			for name, attr := range map[string]os.ProcAttr{
				"same": {Files: silent}, "detached": {Files: silent, Sys: &syscall.SysProcAttr{Setsid: true}},
				"holding": {Files: loud, Sys: &syscall.SysProcAttr{Setsid: true}},
			} {
				child := hosttest.Must(os.StartProcess(hosttest.Executable(), hosttest.ChildArgs("sleep-silently"), &attr))
				os.WriteFile(filepath.Join(args[0], name), fmt.Append(nil, child.Pid), 0o600)
			}
			runShell(text(args))
		},
		// login-holder WAY: starts a child that holds the output, and exits with or without its environment.
		"login-holder": func(args []string) {
			testchildren.StartSilent("sleep-silently")
			if args[0] == "with" {
				execShell("-c", text(args))
			}
			os.Exit(3)
		},
		// login-floods: writes without end.
		"login-floods": func([]string) {
			for {
				io.WriteString(os.Stdout, strings.Repeat("noise\n", 1000))
			}
		},
		// login-killed: ends by a signal.
		"login-killed": func([]string) {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			time.Sleep(testchildren.SoLong)
		},
	}
}

// startReady starts a child and waits until it is ready.
func startReady(name string) {
	r, w, _ := os.Pipe()
	null, _ := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	hosttest.Must(os.StartProcess(hosttest.Executable(), hosttest.ChildArgs(name), &os.ProcAttr{Files: []*os.File{null, w, null}}))
	w.Close()
	for said := ""; !strings.Contains(said, "ready"); {
		buf := make([]byte, 100)
		n, err := r.Read(buf)
		if err != nil {
			panic(err)
		}
		said += string(buf[:n])
	}
}

// execShell replaces the process by /bin/sh.
func execShell(args ...string) {
	panic(syscall.Exec("/bin/sh", append([]string{"sh"}, args...), os.Environ()))
}

// runShell runs a line with /bin/sh.
func runShell(line string) {
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Stdout = os.Stdout
	cmd.Run()
}

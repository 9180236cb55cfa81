package bubblewrap_test

// Attempts are made by the test binary itself, which runs as the sandboxed command with the attempts as its arguments.
// All other commands of the tests are shell lines.

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/racetest"
)

// attemptMark is the first argument of the test binary when it runs as a command that makes attempts.
const attemptMark = "bubblewrap-test-attempts"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == attemptMark {
		makeAttempts(os.Args[2])
		return
	}
	racetest.Restart()
	os.Exit(m.Run())
}

// attempt is an action of a sandboxed command.
type attempt struct{ What, On string }

// expectation is the result of attempts in the sandbox; "|" separates alternative results.
type expectation struct {
	want     string
	attempts []attempt
}

func expect(want string, attempts ...attempt) expectation { return expectation{want, attempts} }

// each returns attempts to do the same on several files.
func each(what string, on ...string) (attempts []attempt) {
	for _, file := range on {
		attempts = append(attempts, attempt{what, file})
	}
	return attempts
}

// Results of attempts.
const (
	done         = "done"
	readOnlyFS   = "read-only file system"
	forbidden    = "operation not permitted"
	denied       = "permission denied"
	missing      = "no such file or directory"
	refused      = "connection refused"
	noProcess    = "no such process"
	noSuchCall   = "function not implemented"
	noSuchFamily = "address family not supported by protocol"
)

func executable() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

// arguments returns the arguments that make the test binary perform the attempts.
func arguments(t testing.TB, attempts []attempt) []string {
	t.Helper()
	text, err := json.Marshal(attempts)
	require.NoError(t, err)
	return []string{attemptMark, string(text)}
}

// results decodes the results that a command wrote for attempts.
func results(t testing.TB, output string, attempts []attempt) (all []string) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(output), &all), "%s", output)
	require.Len(t, all, len(attempts))
	return all
}

// inside makes attempts in a sandbox, in a directory, and returns the result of each.
func inside(t testing.TB, m *acpterm.Manager, dir string, attempts ...attempt) []string {
	t.Helper()
	return results(t, run(t, m, acpterm.CreateTerminalRequest{
		SessionID: "s", Command: executable(), Args: arguments(t, attempts), Cwd: dir}).Output, attempts)
}

// outside makes attempts without a sandbox.
func outside(t testing.TB, attempts ...attempt) []string {
	t.Helper()
	output, err := exec.Command(executable(), arguments(t, attempts)...).Output()
	require.NoError(t, err)
	return results(t, string(output), attempts)
}

// try makes attempts in a sandbox, in a directory, and fails the test unless each has an expected result.
func try(t testing.TB, m *acpterm.Manager, dir string, expected ...expectation) {
	t.Helper()
	var attempts []attempt
	var wants []string
	for _, e := range expected {
		attempts = append(attempts, e.attempts...)
		wants = append(wants, slices.Repeat([]string{e.want}, len(e.attempts))...)
	}
	for i, got := range inside(t, m, dir, attempts...) {
		assert.Contains(t, strings.Split(wants[i], "|"), got, "%q", attempts[i])
	}
}

// makeAttempts makes attempts and writes their results.
func makeAttempts(text string) {
	var attempts []attempt
	if err := json.Unmarshal([]byte(text), &attempts); err != nil {
		panic(err)
	}
	all := []string{}
	for _, a := range attempts {
		all = append(all, a.result())
	}
	json.NewEncoder(os.Stdout).Encode(all)
}

// result makes the attempt and returns its finding, "done", or the system's error.
func (a attempt) result() string {
	result, err := a.perform()
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	} else if err != nil {
		return err.Error()
	}
	return result
}

func (a attempt) perform() (result string, err error) {
	switch a.What {
	case "write": // does not change an existing file
		var file *os.File
		if file, err = os.OpenFile(a.On, os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
			file.Close()
		}
	case "read":
		_, err = os.ReadFile(a.On)
	case "count": // the entries of a directory
		entries, err := os.ReadDir(a.On)
		return fmt.Sprint(len(entries)), err
	case "remount":
		err = unix.Mount("none", a.On, "", unix.MS_REMOUNT|unix.MS_BIND, "")
	case "unmount":
		err = unix.Unmount(a.On, unix.MNT_DETACH)
	case "mknod":
		err = unix.Mknod(a.On, unix.S_IFBLK|0o600, int(unix.Mkdev(254, 0)))
	case "load a module": // invalid: the kernel checks the right to load modules first
		err = unix.InitModule([]byte("none"), "")
	case "signal":
		err = unix.Kill(int(numbers(a.On)[0]), 0)
	case "dial":
		network, address, _ := strings.Cut(a.On, " ")
		var c net.Conn
		if c, err = net.DialTimeout(network, address, 5*time.Second); err == nil {
			c.Close()
		}
	case "call": // a system call by number, with its arguments
		n := numbers(a.On + " 0 0 0 0 0 0")
		if _, _, errno := unix.RawSyscall6(n[0], n[1], n[2], n[3], n[4], n[5], n[6]); errno != 0 {
			err = errno
		}
	case "key":
		return readKey(a.On)
	case "user namespace":
		cmd := exec.Command("true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
		err = cmd.Run()
	case "shared memory":
		_, err = unix.SysvShmGet(int(numbers(a.On)[0]), 1, 0)
	case "processes":
		return programs()
	}
	return done, err
}

func numbers(words string) (all []uintptr) {
	for _, word := range strings.Fields(words) {
		n, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			panic(err)
		}
		all = append(all, uintptr(n))
	}
	return all
}

// readKey returns the content of a key; words are the keyring and the name.
func readKey(words string) (string, error) {
	ring, name, _ := strings.Cut(words, " ")
	number, err := strconv.Atoi(ring)
	if err != nil {
		return "", err
	}
	key, err := unix.KeyctlSearch(number, "user", name, 0)
	if err != nil {
		return "", err
	}
	content := make([]byte, 100)
	n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, key, content, 0)
	return string(content[:max(n, 0)]), err
}

// programs returns the names of the running programs.
func programs() (string, error) {
	files, err := filepath.Glob("/proc/[0-9]*/comm")
	var found []string
	for _, file := range files {
		name, _ := os.ReadFile(file)
		found = append(found, strings.TrimSpace(string(name)))
	}
	return strings.Join(found, " "), err
}

//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/remote/internal/frame"
	"github.com/stretchr/testify/require"
)

// mainVariable turns the test binary into the helper.
const mainVariable = "ACPTERM_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		main()
		return
	}
	racetest.Restart()
	os.Exit(m.Run())
}

func helper(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), mainVariable+"=1")
	return cmd
}

func TestArguments(t *testing.T) {
	out, err := helper("-version").Output()
	require.NoError(t, err)
	require.Regexp(t, fmt.Sprintf(`^acpterm-remote .*, frames of version %d\n$`, frame.Version), string(out))

	out, err = helper("-help").CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), "usage")

	cmd := helper("-unknown")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err = cmd.Output()
	require.Equal(t, 2, err.(*exec.ExitError).ExitCode())
	require.Empty(t, out)
	require.Contains(t, stderr.String(), "usage")
}

// The helper ends everything it started, and itself, on a signal and when the connection is lost.
func TestEnds(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(t *testing.T, cmd *exec.Cmd, in io.Closer, out io.Closer)
		code int
		text string
	}{
		"input ended": {func(t *testing.T, _ *exec.Cmd, in, _ io.Closer) { require.NoError(t, in.Close()) }, 0, ""},
		"SIGTERM":     {sendSignal(syscall.SIGTERM), 1, "terminated"},
		"SIGHUP":      {sendSignal(syscall.SIGHUP), 1, "hangup"},
		"SIGINT":      {sendSignal(syscall.SIGINT), 1, "interrupt"},
		"output ended": {
			func(t *testing.T, _ *exec.Cmd, _, out io.Closer) { require.NoError(t, out.Close()) }, 1, "broken pipe",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := helper()
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			in, out := leaktest.StartPiped(t, cmd)
			mark := fmt.Sprintf("main-test-%d-%d", os.Getpid(), cmd.Process.Pid)
			frames := frame.NewReader(bufio.NewReader(out), frame.MaxHello)
			var hello, started frame.Answer
			_, err := frames.Read(&hello)
			require.NoError(t, err)
			require.Equal(t, frame.Version, hello.Hello.Version)
			line := "setsid sleep 300 & while :; do echo x; sleep 0.01; done"
			if longtest.Is() { // as in the tests of package server, 5 seconds each time
				line = "trap 'echo' TERM; " + line
			}
			require.NoError(t, frame.NewWriter(in).Message(frame.Request{ID: 1, Start: &frame.Start{
				Process: 1, MarkName: "ACPTERM_TERMINAL", MarkValue: mark,
				Command: frame.Command{
					Path: frame.Bytes("/bin/sh"), Args: frame.Texts([]string{"sh", "-c", line}), Dir: frame.Bytes("/"),
					Env: frame.Texts(append(os.Environ(), "ACPTERM_TERMINAL="+mark)),
				},
			}}))
			_, err = frames.Read(&started)
			require.NoError(t, err)
			require.NotNil(t, started.Reply.Started)
			output, err := frames.Read(new(frame.Answer))
			require.NoError(t, err)
			require.Equal(t, "x\n", string(output.Bytes[:2]))
			test.end(t, cmd, in, out)
			err = cmd.Wait()
			require.Empty(t, leaktest.Running("="+mark+"\x00"))
			require.Equal(t, test.code, cmd.ProcessState.ExitCode(), "%v %s", err, stderr.String())
			require.Contains(t, stderr.String(), test.text)
		})
	}
}

func sendSignal(sig syscall.Signal) func(*testing.T, *exec.Cmd, io.Closer, io.Closer) {
	return func(t *testing.T, cmd *exec.Cmd, _, _ io.Closer) { require.NoError(t, cmd.Process.Signal(sig)) }
}

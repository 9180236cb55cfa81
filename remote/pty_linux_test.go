package remote

// Commands on a PTY of the remote side.

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/remote/internal/frame"
)

func createOnPTY(t *testing.T, m *acpterm.Manager, line string, o acpterm.CommandOptions) *acpterm.Terminal {
	t.Helper()
	o.PTY = &acpterm.PTYOptions{Columns: 100, Rows: 30}
	terminal, err := m.Create(testContext(t), lineRequest(line), &o)
	require.NoError(t, err)
	return terminal
}

// awaitRaw waits until the bytes written so far contain a text.
func awaitRaw(t *testing.T, terminal *acpterm.Terminal, text string) {
	t.Helper()
	var raw strings.Builder
	for chunk := range terminal.Follow(testContext(t), 0) {
		if raw.WriteString(chunk.Raw); strings.Contains(raw.String(), text) {
			return
		}
	}
	t.Fatalf("%q is not in %q", text, tail([]byte(raw.String())))
}

// A command has a controlling terminal of the given size, whose input is the user's and whose screen the agent reads. It
// learns of a new size. At its exit, all output is there.
func TestRemotePTY(t *testing.T) {
	far := newFarEnd("sh")
	m, _ := newFarManager(t, far, far)
	terminal := createOnPTY(t, m, `trap 'stty size; seq 3' WINCH
		test -t 0 && test -t 1 && test -t 2 && echo "$TERM $(stty size)"; read line || read line; echo "line <$line>"; read line </dev/tty; seq 20000; exit 3`, acpterm.CommandOptions{})
	require.True(t, terminal.HasPTY())
	awaitRaw(t, terminal, "xterm-256color 30 100\r\n")
	require.NoError(t, terminal.Resize(120, 40))
	awaitRaw(t, terminal, "40 120\r\n1\r\n2\r\n3\r\n")
	n, err := terminal.Write([]byte("x y\x7fz\n"))
	require.NoError(t, err)
	require.Equal(t, 6, n)
	awaitRaw(t, terminal, "line <x z>\r\n")
	_, err = terminal.Write([]byte("\n"))
	require.NoError(t, err)
	status, err := terminal.Wait(testContext(t))
	require.NoError(t, err)
	require.EqualValues(t, 3, *status.ExitCode)
	out := terminal.Output()
	require.True(t, strings.HasSuffix(out.Output, "19999\n20000\n"))
	require.True(t, strings.HasPrefix(out.Output, "xterm-256color 30 100\n40 120\n1\n2\n3\n"))
	require.NotContains(t, out.Output, "\r")
	require.Equal(t, 20000, strings.Count(out.Output, "\n")-strings.Count(out.Output[:strings.Index(out.Output, "line <")], "\n")-3+1)

	_, err = terminal.Write([]byte("x"))
	require.ErrorIs(t, err, os.ErrClosed)
	require.ErrorIs(t, terminal.Resize(10, 10), os.ErrClosed)
	require.Equal(t, acpterm.TerminalSize{Columns: 120, Rows: 40}, *terminal.Info().Size)
}

// A kill hangs up the terminal, and ends processes that ignore that. An interrupt reaches the foreground only.
func TestRemotePTYEnds(t *testing.T) {
	far := newFarEnd("sh")
	m, _ := newFarManager(t, far, far)
	for line, want := range map[string]string{
		"echo ready; exec sleep 1000":                                         "SIGHUP",
		"trap '' HUP; echo ready; sleep 1000; echo no":                        "SIGTERM",
		"(trap '' HUP TERM; exec setsid sleep 1000) & echo ready; sleep 1000": "SIGHUP",
	} {
		terminal := createOnPTY(t, m, line, acpterm.CommandOptions{Escalation: []acpterm.EscalationStep{
			{Signal: syscall.SIGHUP, Wait: 100e6}, {Signal: syscall.SIGTERM, Wait: 100e6},
		}})
		awaitRaw(t, terminal, "ready")
		require.NoError(t, terminal.Kill(testContext(t)))
		require.Equal(t, want, *terminal.ExitStatus().Signal, line)
	}
	terminal := createOnPTY(t, m, "trap 'exit 7' INT; echo ready; while :; do read line; done", acpterm.CommandOptions{})
	awaitRaw(t, terminal, "ready")
	_, err := terminal.Write([]byte("\x03"))
	require.NoError(t, err)
	status, err := terminal.Wait(testContext(t))
	require.NoError(t, err)
	require.EqualValues(t, 7, *status.ExitCode)
}

// Input that nothing reads blocks its Write until the exit, and nothing else. More than a PTY holds arrives in order.
func TestRemotePTYInput(t *testing.T) {
	far := newFarEnd("sh")
	m, _ := newFarManager(t, far, far)
	blocked := createOnPTY(t, m, "stty raw -echo; echo ready; exec sleep 1000", acpterm.CommandOptions{})
	awaitRaw(t, blocked, "ready")
	written := make(chan error, 1)
	go func() {
		_, err := blocked.Write(make([]byte, 1<<20))
		written <- err
	}()
	counting := createOnPTY(t, m, "stty raw -echo; echo ready; head -c 300000 | cksum; stty sane", acpterm.CommandOptions{})
	awaitRaw(t, counting, "ready")
	text := strings.Repeat("0123456789abcde\n", 300_000/16)
	_, err := counting.Write([]byte(text))
	require.NoError(t, err)
	_, err = counting.Wait(testContext(t))
	require.NoError(t, err)
	local := create(t, m, "yes 0123456789abcde | head -c 300000 | cksum")
	_, err = local.Wait(testContext(t))
	require.NoError(t, err)
	require.Contains(t, counting.Output().Output, strings.TrimSpace(local.Output().Output))

	select {
	case err := <-written:
		t.Fatalf("nothing has read the input: %v", err)
	default:
	}
	require.NoError(t, blocked.Resize(50, 50))
	require.NoError(t, blocked.Kill(testContext(t)))
	require.ErrorIs(t, <-written, os.ErrClosed)
}

// A lost connection ends a Write with the reason.
func TestRemotePTYLosesTheConnection(t *testing.T) {
	far := newFarEnd("sh")
	m, runner := newFarManager(t, far, far)
	terminal := createOnPTY(t, m, "stty raw -echo; echo ready; exec sleep 1000", acpterm.CommandOptions{})
	awaitRaw(t, terminal, "ready")
	require.NoError(t, runner.Close())
	_, err := terminal.Wait(testContext(t))
	require.ErrorIs(t, err, acpterm.ErrConnectionLost)
	_, err = terminal.Write([]byte("x"))
	require.Error(t, err)
	require.False(t, errors.Is(err, errors.ErrUnsupported))
}

// Input that makes a command exit has been written, though the exit follows the reply immediately.
func TestInputThatEndsTheCommand(t *testing.T) {
	r := against(t, func(f *far) {
		f.serve(func(process uint64) {
			input := f.request()
			for input != nil && input.Input == nil { // a Close
				input = f.request()
			}
			if input == nil {
				return
			}
			f.write(messages(t, frame.Answer{Reply: &frame.Reply{ID: input.ID, Taken: 1}},
				frame.Answer{Exit: &frame.Exit{Process: process}}))
		})
	})
	for range 1000 {
		p, err := r.StartPTY(testContext(t), startRequest(new(lines)), acpterm.TerminalSize{Columns: 80, Rows: 24})
		require.NoError(t, err)
		n, err := p.Write([]byte("x"))
		require.NoError(t, err)
		require.Equal(t, 1, n)
		p.Close()
	}
}

// A helper that claims to have taken other input than was sent breaks the rules.
func TestLyingInput(t *testing.T) {
	for _, taken := range []int{-1, 0, 2} {
		r := against(t, func(f *far) {
			f.serve(func(uint64) {
				f.answer(frame.Answer{Reply: &frame.Reply{ID: f.request().ID, Taken: taken}})
			})
		})
		p, err := r.StartPTY(testContext(t), startRequest(new(lines)), acpterm.TerminalSize{Columns: 80, Rows: 24})
		require.NoError(t, err)
		_, err = p.Write([]byte("x"))
		require.ErrorIs(t, err, acpterm.ErrConnectionLost)
		require.ErrorContains(t, err, "bytes of input, of 1")
		p.Close()
	}
}

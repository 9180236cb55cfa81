package remote

// Standard input of remote commands through a pipe, and the processes of their trees.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/remote/internal/frame"
)

func createReading(t *testing.T, m *acpterm.Manager, line string, from io.Reader) *acpterm.Terminal {
	t.Helper()
	options := &acpterm.CommandOptions{Stdin: &acpterm.StdinOptions{Reader: from}}
	terminal, err := m.Create(testContext(t), lineRequest(line), options)
	require.NoError(t, err)
	return terminal
}

func waitExit(t *testing.T, terminal *acpterm.Terminal) {
	t.Helper()
	status, err := terminal.Wait(testContext(t))
	require.NoError(t, err)
	require.True(t, status.Success(), terminal.Output().Output)
}

// A Reader is copied to its end, also a file, and closed after the exit.
func TestRemoteStdinReader(t *testing.T) {
	far := newFarEnd("sh")
	m, _ := newFarManager(t, far, far)
	long := strings.Repeat("0123456789abcdef", 1<<16) // more than a pipe and a frame hold
	terminal := createReading(t, m, "cat", strings.NewReader(long))
	waitExit(t, terminal)
	require.Equal(t, long, terminal.Output().Output)
	_, err := io.WriteString(terminal, "more")
	require.ErrorIs(t, err, errors.ErrUnsupported, "the reader feeds the pipe")
	require.ErrorIs(t, terminal.CloseStdin(), errors.ErrUnsupported)

	name := filepath.Join(t.TempDir(), "input")
	require.NoError(t, os.WriteFile(name, []byte("from a file"), 0o600))
	file, err := os.Open(name)
	require.NoError(t, err)
	terminal = createReading(t, m, "cat", file)
	waitExit(t, terminal)
	require.Equal(t, "from a file", terminal.Output().Output)

	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer w.Close()
	waitExit(t, createReading(t, m, "true", r))
	require.NoError(t, m.Close()) // waits for the Read of r
}

// A command that does not read holds its Write back, and nothing else. CloseStdin, a kill, and the loss of the
// connection end the Write.
func TestRemoteStdinHoldsWritesBack(t *testing.T) {
	far := newFarEnd("sh")
	m, runner := newFarManager(t, far, far)
	for _, c := range []struct {
		name  string
		end   func(*acpterm.Terminal) error
		cause error
	}{
		{"CloseStdin", (*acpterm.Terminal).CloseStdin, os.ErrClosed},
		{"a kill", func(terminal *acpterm.Terminal) error { return terminal.Kill(testContext(t)) }, os.ErrClosed},
		{"the loss", func(*acpterm.Terminal) error { return runner.Close() }, acpterm.ErrConnectionLost},
	} {
		t.Run(c.name, func(t *testing.T) {
			blocked := createReading(t, m, "exec sleep 1000", nil)
			ended := make(chan error)
			go func() {
				_, err := blocked.Write(make([]byte, 8<<20))
				ended <- err
			}()
			other := createReading(t, m, "cat", nil)
			for range 100 {
				_, err := io.WriteString(other, "line\n")
				require.NoError(t, err)
			}
			require.NoError(t, other.CloseStdin())
			waitExit(t, other)
			require.Equal(t, strings.Repeat("line\n", 100), other.Output().Output)
			select {
			case err := <-ended:
				require.FailNow(t, "nothing has read the input", err)
			default:
			}
			require.NoError(t, c.end(blocked))
			err := <-ended
			require.ErrorIs(t, err, c.cause)
			require.ErrorIs(t, err, acpterm.ErrInternal)
		})
	}
}

// Ports of a remote tree are listed, and those of other processes are not. What a command has written before it waits for
// input can be read when it is seen to wait.
func TestRemoteProcesses(t *testing.T) {
	far := newFarEnd("sh")
	m, runner := newFarManager(t, far, far)
	const program = `import os, socket
s = socket.create_server(("127.0.0.1", 0)); os.write(1, b"x" * 100000 + b"%d" % s.getsockname()[1]); input()`
	other := createReading(t, m, "exec python3 -c '"+program+"'", nil)
	terminal := createReading(t, m, "python3 -c '"+program+"'; exec sleep 1000", nil)
	awaitActivity(t, other, "input")
	activity := awaitActivity(t, terminal, "input")
	port, ok := strings.CutPrefix(terminal.Output().Output, strings.Repeat("x", 100_000))
	require.True(t, ok)
	want := []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:" + port)}
	require.Equal(t, want, activity.Listening)
	list, err := terminal.Processes(testContext(t))
	require.NoError(t, err)
	require.Len(t, list, 2)
	shell, python := list[0], list[1]
	require.Equal(t, terminal.Info().PID, shell.PID)
	require.Empty(t, shell.Listening)
	require.Equal(t, shell.PID, python.Parent)
	require.Contains(t, python.Command, "python3 -c import os, socket")
	require.True(t, python.ReadsInput)
	require.Positive(t, python.CPUTime)
	require.Positive(t, python.Memory)
	require.Equal(t, want, python.Listening)
	_, err = io.WriteString(terminal, "\n")
	require.NoError(t, err)
	activity = awaitActivity(t, terminal, "idle")
	require.Empty(t, activity.Listening)

	require.NoError(t, other.Kill(testContext(t)))
	list, err = other.Processes(testContext(t))
	require.NoError(t, err)
	require.Empty(t, list)
	require.NoError(t, runner.Close())
	list, err = terminal.Processes(testContext(t))
	require.ErrorIs(t, err, acpterm.ErrConnectionLost)
	require.Empty(t, list)
}

// The port of another user's process is not shown, also if the helper is root's.
func TestRemotePortsOfOtherUsers(t *testing.T) {
	hosttest.NeedOtherUser(t)
	far := newFarEnd("sh")
	m, _ := newFarManager(t, far, far)
	terminal := create(t, m, "AS='"+hosttest.AsOther+"'; "+hosttest.Listen+" & AS=; "+hosttest.Listen+" & wait")
	require.Eventually(t, func() bool { return strings.Count(terminal.Output().Output, "\n") == 2 }, time.Minute, time.Millisecond)
	list, err := terminal.Processes(testContext(t))
	require.NoError(t, err)
	require.Len(t, list, 3)
	shown := 0
	for _, p := range list {
		info, err := os.Stat(fmt.Sprintf("/proc/%d", p.PID))
		require.NoError(t, err)
		if info.Sys().(*syscall.Stat_t).Uid == hosttest.OtherUser {
			require.Contains(t, p.Command, "perl")
			require.Empty(t, p.Listening)
		}
		for _, address := range p.Listening {
			shown++
			require.Contains(t, terminal.Output().Output, fmt.Sprintf("%d %d\n", p.PID, address.Port()))
		}
	}
	require.Equal(t, 1, shown)
}

func awaitActivity(t *testing.T, terminal *acpterm.Terminal, state string) acpterm.Activity {
	t.Helper()
	for activity, err := range terminal.Watch(testContext(t)) {
		require.NoError(t, err)
		if activity.State == state {
			return activity
		}
	}
	require.FailNow(t, "the watch has ended", terminal.Output().Output)
	return acpterm.Activity{}
}

// Only a remote command that neither writes nor works is idle.
func TestRemoteIdleCommandsEnd(t *testing.T) {
	far := newFarEnd("sh")
	m, _ := newFarManager(t, far, far)
	for line, want := range map[string]acpterm.EndedBy{
		"sleep 1000 & wait": acpterm.EndedByIdle,
		"(i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done) & wait": acpterm.EndedByItself,
	} {
		options := &acpterm.CommandOptions{IdleTimeout: 200 * time.Millisecond}
		terminal, err := m.Create(testContext(t), lineRequest(line), options)
		require.NoError(t, err)
		_, err = terminal.Wait(testContext(t))
		require.NoError(t, err)
		require.Equal(t, want, terminal.EndedBy())
	}
}

// A list that breaks the protocol ends the connection. An error in it is visible text.
func TestLyingLists(t *testing.T) {
	one := frame.Member{PID: 1}
	with := func(change func(*frame.Member)) *frame.List {
		m := one
		change(&m)
		return &frame.List{Processes: []frame.Member{m}}
	}
	address := func(text string) *frame.List {
		return with(func(m *frame.Member) { m.Listening = []netip.AddrPort{netip.MustParseAddrPort(text)} })
	}
	ask := func(l *frame.List) ([]acpterm.ProcessInfo, error) {
		r := against(t, func(f *far) {
			f.serve(func(uint64) { f.answer(frame.Answer{Reply: &frame.Reply{ID: f.request().ID, List: l}}) })
		})
		p, err := r.Start(testContext(t), startRequest(new(lines)))
		require.NoError(t, err)
		defer p.Close()
		return p.(*process).Processes(testContext(t))
	}
	for says, l := range map[string]*frame.List{
		"no list":                   nil,
		"process 0":                 with(func(m *frame.Member) { m.PID = 0 }),
		"process 4294967296":        with(func(m *frame.Member) { m.PID = 1 << 32 }),
		"the parent -1":             with(func(m *frame.Member) { m.Parent = -1 }),
		"1 after process 1":         nil,
		"-1ns of CPU":               with(func(m *frame.Member) { m.CPUTime = -1 }),
		"and -1 bytes":              with(func(m *frame.Member) { m.Memory = -1 }),
		"a command line of 4097":    with(func(m *frame.Member) { m.Command = make([]byte, 4097) }),
		`the address "[fe80::1%x`:   address("[fe80::1%x\x1b]:1"),
		`the address "invalid Addr`: with(func(m *frame.Member) { m.Listening = make([]netip.AddrPort, 1) }),
	} {
		if says == "1 after process 1" {
			l = &frame.List{Processes: []frame.Member{one, one}}
			says = "process 1 with the parent 0 after process 1"
		}
		list, err := ask(l)
		require.ErrorIs(t, err, acpterm.ErrConnectionLost, says)
		require.ErrorContains(t, err, says)
		require.Empty(t, list)
	}
	list, err := ask(&frame.List{Processes: []frame.Member{one}, Missing: "a\x1bb", Unsupported: true})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.EqualError(t, err, `a\x1bb`)
	require.Equal(t, []acpterm.ProcessInfo{{PID: 1}}, list)
}

// A remote side that does not answer delays neither a release nor the end of an observer's context. A late answer is
// dropped.
func TestUnansweredLists(t *testing.T) {
	asked := make(chan bool)
	r := against(t, func(f *far) {
		f.serve(func(uint64) {
			late := f.request().ID
			asked <- true
			f.request()
			f.answer(frame.Answer{Reply: &frame.Reply{ID: late, List: &frame.List{}}})
			asked <- true
			f.request()
			asked <- true
		})
	})
	p, err := r.Start(context.Background(), startRequest(new(lines)))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(testContext(t))
	for _, c := range []struct {
		end  func()
		want error
	}{{cancel, context.Canceled}, {p.Close, acpterm.ErrExitLost}} {
		listed := make(chan error)
		go func() {
			_, err := p.(*process).Processes(ctx)
			listed <- err
		}()
		<-asked
		c.end()
		require.ErrorIs(t, <-listed, c.want)
		ctx = testContext(t)
	}
	<-asked // the close
}

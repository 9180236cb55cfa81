package lawtest

// Standard input without a PTY: the pipe that Write feeds, and readers.

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/stretchr/testify/require"
)

// reading gives a command a standard input. If from is nil, that is the pipe of Write.
func reading(from io.Reader) *acpterm.CommandOptions {
	return &acpterm.CommandOptions{Stdin: &acpterm.StdinOptions{Reader: from}}
}

func TestStdinPipe(t *testing.T) {
	var bytes atomic.Int64
	m := hosttest.NewManager(t, nil, func(e acpterm.Event) {
		if input, ok := e.(*acpterm.InputEvent); ok {
			bytes.Add(int64(input.Bytes))
		}
	})
	term := hosttest.Create(t, m, hosttest.ChildRequest("echo"), reading(nil))
	for _, line := range []string{"Grüße\n", "2\n"} {
		n, err := io.WriteString(term, line)
		require.NoError(t, err)
		require.Equal(t, len(line), n)
		hosttest.AwaitOutput(t, term, line)
	}
	require.NoError(t, term.CloseStdin())
	require.NoError(t, term.CloseStdin())
	require.Equal(t, uint32(3), *hosttest.AwaitExit(t, term).ExitCode)
	require.Equal(t, "Grüße\n2\nbye", term.Output().Output)
	_, err := io.WriteString(term, "late")
	require.ErrorIs(t, err, os.ErrClosed)
	require.NoError(t, m.Close())
	require.EqualValues(t, len("Grüße\n2\n"), bytes.Load())
	require.NoError(t, term.CloseStdin(), "after the release")
}

// A command that does not read holds a write back. CloseStdin, the end of the command or that of its input ends it.
func TestStdinHoldsWritesBack(t *testing.T) {
	for _, c := range []struct {
		name, child string
		end         func(*acpterm.Terminal) error
	}{
		{"CloseStdin", "sleep", (*acpterm.Terminal).CloseStdin},
		{"a kill", "sleep", func(term *acpterm.Terminal) error { return term.Kill(t.Context()) }},
		{"a closed input", "stubborn-silently", func(*acpterm.Terminal) error { return nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := hosttest.NewManager(t, nil)
			term := hosttest.Create(t, m, hosttest.ChildRequest(c.child), reading(nil))
			var written atomic.Int64
			began, ended := make(chan struct{}), make(chan error)
			go func() {
				n, err := term.Write(make([]byte, 1))
				close(began)
				for ; err == nil; n, err = term.Write(make([]byte, 1<<20)) {
					written.Add(int64(n))
				}
				ended <- err
			}()
			<-began
			require.NoError(t, c.end(term))
			err := <-ended
			require.ErrorIs(t, err, os.ErrClosed)
			require.ErrorIs(t, err, acpterm.ErrInternal)
			require.Less(t, written.Load(), int64(1<<20))
			require.NoError(t, m.Close())
		})
	}
}

// stuckReader is a Reader whose Read returns only after Close.
type stuckReader struct{ closed chan struct{} }

func (r stuckReader) Read([]byte) (int, error) {
	<-r.closed
	return 0, io.ErrClosedPipe
}

func (r stuckReader) Close() error {
	close(r.closed)
	return nil
}

// panicReader is a Reader with a mistake.
type panicReader struct{}

func (panicReader) Read([]byte) (int, error) { panic("a mistake") }

func TestStdinReader(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	long := strings.Repeat("0123456789abcdef", 1<<16) // more than fits in a pipe
	term := hosttest.Finish(t, m, hosttest.ChildRequest("echo"), reading(strings.NewReader(long)))
	require.Equal(t, int64(len(long)+len("bye")), term.OutputTotal())
	_, err := io.WriteString(term, "more")
	require.ErrorIs(t, err, errors.ErrUnsupported, "the reader feeds the pipe")

	name := filepath.Join(t.TempDir(), "input")
	require.NoError(t, os.WriteFile(name, []byte("from a file"), 0o600))
	file, err := os.Open(name)
	require.NoError(t, err)
	term = hosttest.Create(t, m, hosttest.ChildRequest("echo"), reading(file))
	require.NoError(t, file.Close())
	hosttest.AwaitExit(t, term)
	require.Equal(t, "from a filebye", term.Output().Output)
	_, err = m.Create(t.Context(), hosttest.ChildRequest("echo"), reading(file))
	hosttest.RequireOptionRefused(t, err, "create", "CommandOptions.Stdin")

	hosttest.CaptureLog(t)
	term = hosttest.Finish(t, m, hosttest.ChildRequest("echo"), reading(panicReader{}))
	require.Equal(t, "bye", term.Output().Output)
	stuck := stuckReader{make(chan struct{})}
	hosttest.Finish(t, m, hosttest.ChildRequest("exit", "0"), reading(stuck))
	require.NoError(t, m.Close())
	<-stuck.closed
}

// Without the option, input is at end of file, and nothing can be written.
func TestStdinIsAtItsEndByDefault(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	term := hosttest.Create(t, m, hosttest.ChildRequest("stdin"))
	_, err := io.WriteString(term, "x")
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorIs(t, term.CloseStdin(), errors.ErrUnsupported)
	hosttest.AwaitExit(t, term)
	require.Equal(t, `"" <nil> eof`, term.Output().Output)
}

// A program that answers what it reads.
func TestStdinOfPrograms(t *testing.T) {
	for _, c := range []struct {
		program string
		args    []string
		says    [][2]string // what is written, and what follows in the output
	}{
		{"git", []string{"hash-object", "--stdin"}, [][2]string{{"hello\n", ""}}},
		{"python3", []string{"-q", "-i"}, [][2]string{{"6 * 7\n", "42"}, {"'a' + 'b'\n", "'ab'"}}},
	} {
		t.Run(c.program, func(t *testing.T) {
			if _, err := exec.LookPath(c.program); err != nil {
				t.Skip("there is no " + c.program)
			}
			m := hosttest.NewManager(t, nil)
			term := hosttest.Create(t, m, hosttest.CommandRequest(c.program, c.args...), reading(nil))
			for _, say := range c.says {
				_, err := io.WriteString(term, say[0])
				require.NoError(t, err)
				if say[1] != "" {
					hosttest.AwaitOutput(t, term, say[1])
				}
			}
			require.NoError(t, term.CloseStdin())
			require.True(t, hosttest.AwaitExit(t, term).Success(), term.Output().Output)
			if c.program == "git" {
				require.Equal(t, "ce013625030ba8dba906f756967f9e9ca394464a\n", term.Output().Output)
			}
		})
	}
}

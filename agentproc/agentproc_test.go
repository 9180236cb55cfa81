package agentproc_test

// Start, the agent's output, and the end of the agent and its processes.

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/internal/terminaltest/children"
)

// agentChildren returns the agents for these tests, in addition to those of package children.
func agentChildren() map[string]func(args []string) {
	return map[string]func(args []string){
		// complain PIECE...: writes the pieces, quoted as in Go, to standard error.
		"complain": func(args []string) {
			for _, piece := range args {
				text, _ := strconv.Unquote(piece)
				os.Stderr.WriteString(text)
			}
		},
		// complain-at-once LINES: writes this number of lines to standard error, in one write.
		"complain-at-once": func(args []string) {
			os.Stderr.WriteString(strings.Repeat("x\n", children.Number(args[0])))
		},
		// complain-long BYTES LINES: writes this number of lines of this length to standard error.
		"complain-long": func(args []string) {
			for range children.Number(args[1]) {
				os.Stderr.WriteString(strings.Repeat("x", children.Number(args[0])) + "\n")
			}
		},
	}
}

func TestMain(m *testing.M) {
	children.Main(agentChildren())
	racetest.Restart()
	os.Exit(m.Run())
}

func agentCommand(name string, args ...string) *exec.Cmd {
	return exec.Command(children.Program(), children.Args(name, args...)[1:]...)
}

// startAgent starts an agent. At the end of the test, it closes the agent and checks that nothing remains.
func startAgent(t testing.TB, cmd *exec.Cmd, options *agentproc.Options) *agentproc.Process {
	t.Helper()
	end := func() error { return nil }
	cmd.Env = append(os.Environ(), leaktest.Watch(t, func() error { return end() }))
	a, err := agentproc.Start(t.Context(), cmd, options)
	require.NoError(t, err)
	end = a.Close
	return a
}

// quick is a Grace that ends immediately.
const quick = -1

func awaitAgent(t *testing.T, a *agentproc.Process) string {
	t.Helper()
	status, err := a.Wait(context.Background())
	require.NoError(t, err)
	return status.String()
}

func readLine(t *testing.T, r io.Reader) string {
	t.Helper()
	line, err := bufio.NewReader(r).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSuffix(line, "\n")
}

// An agent that exits when its input ends does not get a signal, even if it is slow. Its last output can still be read.
func TestAgentEndsWithItsInput(t *testing.T) {
	cmd := agentCommand("echo")
	a := startAgent(t, cmd, &agentproc.Options{Grace: time.Hour})
	require.NoError(t, a.Close())
	require.Equal(t, "exit code 3", awaitAgent(t, a))
	require.Equal(t, 3, cmd.ProcessState.ExitCode())
	said, err := io.ReadAll(a)
	require.NoError(t, err)
	require.Equal(t, "bye", string(said))
	_, err = a.Write([]byte("more"))
	require.ErrorIs(t, err, os.ErrClosed)
}

func TestAgentThatIgnoresItsInputIsAskedToEnd(t *testing.T) {
	leaktest.NeedsAsking(t)
	a := startAgent(t, agentCommand("polite"), &agentproc.Options{Grace: 3 * time.Second})
	require.Equal(t, "ready", readLine(t, a))
	require.NoError(t, a.Close())
	require.Equal(t, "exit code 7", awaitAgent(t, a))
	said, err := io.ReadAll(a)
	require.NoError(t, err)
	require.Equal(t, "bye\n", string(said))
}

func TestAgentIsKilledWhileItIsClosed(t *testing.T) {
	a := startAgent(t, agentCommand("stubborn"), &agentproc.Options{Grace: time.Hour})
	require.Equal(t, "ready", readLine(t, a))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := a.Wait(ctx)
	require.ErrorIs(t, err, acpterm.ErrCancelled)
	require.ErrorIs(t, err, context.Canceled)
	closed := make(chan error, 1)
	go func() { closed <- a.Close() }()
	require.Eventually(t, func() bool { // Close has begun: it closes the agent's input first
		_, err := a.Write([]byte("x"))
		return errors.Is(err, os.ErrClosed)
	}, time.Minute, time.Millisecond)
	require.NoError(t, a.Kill())
	require.NoError(t, <-closed)
	require.Equal(t, "signal SIGKILL", awaitAgent(t, a))
}

// The agent's processes end with it, by SIGTERM or by SIGKILL. startAgent checks for leaks.
func TestWhatAnAgentStartedEndsWithIt(t *testing.T) {
	for _, child := range []string{"sleep-silently", "stubborn-silently"} {
		t.Run(child, func(t *testing.T) {
			a := startAgent(t, agentCommand("echo-with", child), &agentproc.Options{Grace: time.Second})
			require.NotEmpty(t, readLine(t, a))
			require.NoError(t, a.Close())
			require.Equal(t, "exit code 3", awaitAgent(t, a))
		})
	}
}

// If an agent exits by itself and leaves a child with its output, the child is ended, so that reads reach the end of
// the output.
func TestAgentThatExitsLeavesNothing(t *testing.T) {
	for _, agent := range []string{"holder", "stubborn-holder"} {
		t.Run(agent, func(t *testing.T) {
			a := startAgent(t, agentCommand(agent), &agentproc.Options{Grace: quick})
			said, err := io.ReadAll(a)
			require.NoError(t, err)
			require.NotEmpty(t, said)
			require.Equal(t, "exit code 0", awaitAgent(t, a))
			require.NoError(t, a.Close())
		})
	}
}

func TestAgentIsClosedOnce(t *testing.T) {
	a := startAgent(t, agentCommand("stubborn"), &agentproc.Options{Grace: quick})
	require.Equal(t, "ready", readLine(t, a))
	var busy sync.WaitGroup
	for range 8 {
		busy.Go(func() { _, err := io.Copy(io.Discard, a); require.NoError(t, err) })
		busy.Go(func() { require.NoError(t, a.Close()) })
		busy.Go(func() { require.Equal(t, "signal SIGKILL", awaitAgent(t, a)) })
	}
	busy.Wait()
	require.NoError(t, a.Close())
}

// An agent that does not read does not delay Close, and a blocked Write returns.
func TestAgentThatDoesNotReadIsClosed(t *testing.T) {
	a := startAgent(t, agentCommand("stubborn"), &agentproc.Options{Grace: quick})
	require.Equal(t, "ready", readLine(t, a))
	written := make(chan error)
	go func() {
		var err error
		for err == nil {
			_, err = a.Write(make([]byte, 1<<20))
		}
		written <- err
	}()
	require.NoError(t, a.Close())
	require.Error(t, <-written)
}

func TestAgentOutlivesTheContextOfItsStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	a, err := agentproc.Start(ctx, agentCommand("echo"), nil)
	require.NoError(t, err)
	cancel()
	_, err = io.WriteString(a, "hello\n")
	require.NoError(t, err)
	require.Equal(t, "hello", readLine(t, a))
	require.NoError(t, a.Close())
	require.Equal(t, "exit code 3", awaitAgent(t, a))
}

// The context of exec.CommandContext has the same meaning as in os/exec.
func TestAgentOfACommandContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, children.Program(), children.Args("stubborn")[1:]...)
	a := startAgent(t, cmd, nil)
	require.Equal(t, "ready", readLine(t, a))
	cancel()
	status, err := a.Wait(t.Context())
	require.NoError(t, err)
	require.False(t, status.Success())
}

// collector collects lines. Tests read them after Close.
type collector struct{ lines []string }

func (c *collector) add(line string) { c.lines = append(c.lines, line) }

func TestAgentsStandardErrorInLines(t *testing.T) {
	long := strings.Repeat("x", 16<<10)
	for name, c := range map[string]struct {
		pieces []string
		want   []string
	}{
		"lines":          {[]string{"one\ntw", "o\r\n\nlast"}, []string{"one", "two", "", "last"}},
		"no end":         {[]string{"x"}, []string{"x"}},
		"as long as may": {[]string{long[:8], long[8:] + "\n", "next\n"}, []string{long, "next"}},
		"too long":       {[]string{long, "yy\nz"}, []string{long, "yy", "z"}},
		"binary":         {[]string{"\x00\xff\xfe\x1b[2J\n"}, []string{"\x00\uFFFD\x1b[2J"}},
		"nothing":        {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var quoted []string
			for _, piece := range c.pieces {
				quoted = append(quoted, strconv.Quote(piece))
			}
			var got collector
			a := startAgent(t, agentCommand("complain", quoted...), &agentproc.Options{Stderr: got.add})
			require.NoError(t, a.Close())
			require.Equal(t, c.want, got.lines)
		})
	}
}

func TestAgentsStandardErrorIsLogged(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	a := startAgent(t, agentCommand("complain", `"careful\n\xff\x00"`), &agentproc.Options{Logger: logger})
	require.NoError(t, a.Close())
	require.Equal(t, 2, strings.Count(log.String(), "\n"), log.String())
	require.Contains(t, log.String(), `"level":"INFO"`)
	require.Contains(t, log.String(), `"line":"careful"`)
	require.True(t, utf8.Valid(log.Bytes()))
}

// A burst of short lines, such as the stacks of a panicking agent, is not too much for a hook that returns.
func TestAgentsStandardErrorInABurst(t *testing.T) {
	const lines = 20_000
	var got collector
	a := startAgent(t, agentCommand("complain-at-once", strconv.Itoa(lines)), &agentproc.Options{Stderr: got.add})
	require.NoError(t, a.Close())
	require.Len(t, got.lines, lines)
}

// A hook that hangs or panics does not delay the agent. The number of dropped lines is logged.
func TestAgentNeverWaitsForItsStandardError(t *testing.T) {
	var log bytes.Buffer
	options := agentproc.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	read, lines := make(chan struct{}), 0
	options.Stderr = func(string) {
		<-read
		if lines++; lines == 1 {
			panic("on purpose")
		}
	}
	// The end of its standard output shows that the agent has exited.
	a := startAgent(t, agentCommand("complain-long", "1000", "2000"), &options)
	_, err := io.ReadAll(a)
	require.NoError(t, err)
	close(read)
	require.NoError(t, a.Close())
	require.Greater(t, lines, 100)
	require.Less(t, lines, 2000)
	said := 0 // logged more than once if the agent kept writing while the hook was called again
	for _, dropped := range regexp.MustCompile(`lines=(\d+)`).FindAllStringSubmatch(log.String(), -1) {
		said += children.Number(dropped[1])
	}
	require.Equal(t, 2000-lines, said, log.String())
}

// The embedder's cmd.Stderr is kept: a file is inherited, and a writer gets the bytes. A failing writer does not block
// the agent.
func TestAgentsStandardErrorOfTheEmbedder(t *testing.T) {
	never := func(string) { t.Error("the hook was called") }
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	defer file.Close()
	cmd := agentCommand("complain", `"a\nb"`)
	cmd.Stderr = file
	a := startAgent(t, cmd, &agentproc.Options{Stderr: never})
	require.NoError(t, a.Close())
	said, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	require.Equal(t, "a\nb", string(said))

	var buffer bytes.Buffer
	cmd = agentCommand("complain", `"a\nb"`)
	cmd.Stderr = &buffer
	a = startAgent(t, cmd, &agentproc.Options{Stderr: never})
	require.NoError(t, a.Close())
	require.Equal(t, "a\nb", buffer.String())

	cmd = agentCommand("complain-long", "1000", "1000")
	cmd.Stderr = brokenWriter{}
	a = startAgent(t, cmd, nil)
	require.Equal(t, "exit code 0", awaitAgent(t, a))
}

// A slow writer delays Close but not Done. It gets all of the agent's output, even if it is slower than the time limit
// for reading the pipe after the agent's end.
func TestASlowWriterOfAnAgentsStandardErrorGetsAll(t *testing.T) {
	var w slowWriter
	w.let, w.waiting = make(chan struct{}), make(chan struct{})
	cmd := agentCommand("complain-long", "999", "60") // fits in a pipe
	cmd.Stderr = &w
	a := startAgent(t, cmd, nil)
	<-w.waiting
	<-a.Done()
	closed := make(chan error, 1)
	go func() { closed <- a.Close() }()
	select {
	case <-closed:
		t.Error("Close did not wait for the writer")
	case <-time.After(1500 * time.Millisecond): // one and a half times the wait for further output
	}
	close(w.let)
	require.NoError(t, <-closed)
	require.Equal(t, strings.Repeat(strings.Repeat("x", 999)+"\n", 60), w.written.String())
}

// slowWriter waits in its first Write.
type slowWriter struct {
	written      bytes.Buffer // not embedded: its ReadFrom would bypass Write
	waiting, let chan struct{}
}

func (w *slowWriter) Write(p []byte) (int, error) {
	if w.written.Len() == 0 {
		close(w.waiting)
		<-w.let
	}
	return w.written.Write(p)
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestAgentThatCannotBeStarted(t *testing.T) {
	noFile := fs.ErrNotExist
	if runtime.GOOS == "windows" {
		noFile = exec.ErrNotFound // exec.Command has searched for NAME.exe and similar names
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	started := agentCommand("exit", "0")
	require.NoError(t, started.Run())
	change := func(f func(cmd *exec.Cmd)) *exec.Cmd {
		cmd := agentCommand("echo")
		f(cmd)
		return cmd
	}
	before := leaktest.Descriptors()
	for name, c := range map[string]struct {
		ctx   context.Context
		cmd   *exec.Cmd
		kind  acpterm.Kind
		field string
		also  error
	}{
		"ended context": {ended, agentCommand("echo"), acpterm.ErrCancelled, "", context.Canceled},
		"nil":           {t.Context(), nil, acpterm.ErrInvalidParams, "cmd", nil},
		"empty":         {t.Context(), new(exec.Cmd), acpterm.ErrInvalidParams, "cmd", nil},
		"started":       {t.Context(), started, acpterm.ErrInvalidParams, "cmd", nil},
		"stdin": {
			t.Context(), change(func(cmd *exec.Cmd) { cmd.Stdin = os.Stdin }),
			acpterm.ErrInvalidParams, "cmd.Stdin", nil,
		},
		"stdout": {
			t.Context(), change(func(cmd *exec.Cmd) { cmd.Stdout = io.Discard }),
			acpterm.ErrInvalidParams, "cmd.Stdout", nil,
		},
		"directory": {
			t.Context(), change(func(cmd *exec.Cmd) { cmd.Dir = filepath.Join(t.TempDir(), "none") }),
			acpterm.ErrInvalidParams, "cmd.Dir", fs.ErrNotExist,
		},
		"no program": {t.Context(), exec.Command("no-such-agent"), acpterm.ErrCommandNotFound, "", exec.ErrNotFound},
		"no file": {
			t.Context(), exec.Command(filepath.Join(t.TempDir(), "none")), acpterm.ErrCommandNotFound, "", noFile,
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := agentproc.Start(c.ctx, c.cmd, nil)
			require.Nil(t, a)
			require.ErrorIs(t, err, c.kind)
			failed, ok := errors.AsType[*acpterm.Error](err)
			require.True(t, ok)
			require.Equal(t, "start agent", failed.Op)
			require.Equal(t, c.field, failed.Field)
			if c.also != nil {
				require.ErrorIs(t, err, c.also)
			}
		})
	}
	require.LessOrEqual(t, leaktest.Descriptors(), before, "descriptors are left")
	require.Empty(t, leaktest.Goroutines())
}

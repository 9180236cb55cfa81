//go:build unix

package server_test

// Helpers of the tests: a client on the other side of a Serve, which checks the order of the messages it receives, and
// checks for leftovers.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/remote/internal/frame"
	"github.com/acpterm/acpterm/remote/internal/server"
	"github.com/stretchr/testify/require"
)

const markName = "ACPTERM_TERMINAL"

func TestMain(m *testing.M) {
	racetest.Restart()
	code := m.Run()
	library := regexp.MustCompile(`acpterm(/remote)?/internal/(server|frame|proc|capture)\.`)
	if left := leaktest.Stacks(library.MatchString); len(left) > 0 && code == 0 {
		fmt.Printf("goroutines are left:\n%s\n", strings.Join(left, "\n\n"))
		code = 1
	}
	os.Exit(code)
}

// client is the Runner's side of a connection.
type client struct {
	t      *testing.T
	mark   string
	cancel context.CancelFunc
	in     *os.File // the helper's input
	out    *os.File // the helper's output
	write  *frame.Writer
	served chan error // the result of Serve
	nextID atomic.Uint64
	gate   sync.RWMutex // a write lock keeps the client from reading

	mu        sync.Mutex
	changed   sync.Cond
	hello     *frame.Hello
	replies   map[uint64]*frame.Reply
	processes map[uint64]*seen
	ended     bool // no more messages arrive
	broken    []string
}

// seen records the messages received about a process.
type seen struct {
	output                      []byte
	started                     *frame.Started
	exit                        *frame.Exit
	exitAt                      int // bytes of output before the exit
	repliesAtExit               int // replies to requests about any process before the exit
	listedAt                    int // bytes of output before the last list of any process
	gone, endedOutput, isClosed bool
}

var marks atomic.Int64

// serve begins a connection. At its end, trees have less time than Serve gives them, except in .ci/long.
func serve(t *testing.T) *client {
	t.Helper()
	return serveWithGrace(t, time.Duration(longtest.Times(1, 5))*time.Second)
}

// serveWithGrace begins a connection. It ends when the test ends, and must leave nothing behind.
func serveWithGrace(t *testing.T, grace time.Duration) *client {
	t.Helper()
	ours, out, err := os.Pipe()
	require.NoError(t, err)
	in, theirs, err := os.Pipe()
	require.NoError(t, err)
	c := &client{
		t: t, mark: fmt.Sprintf("server-test-%d-%d", os.Getpid(), marks.Add(1)), in: theirs, out: ours,
		write: frame.NewWriter(theirs), served: make(chan error, 1),
		replies: make(map[uint64]*frame.Reply), processes: make(map[uint64]*seen),
	}
	c.changed.L = &c.mu
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	go func() {
		err := server.ServeWithGrace(ctx, in, out, grace)
		in.Close()
		out.Close()
		c.served <- err
	}()
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.read()
	}()
	t.Cleanup(func() {
		c.in.Close()
		c.served <- <-c.served
		cancel()
		<-read
		c.out.Close()
		require.Empty(t, c.broken)
		require.Empty(t, marked(c.mark), "processes are left")
	})
	c.await(func() bool { return c.hello != nil })
	require.Equal(t, frame.Version, c.hello.Version)
	return c
}

// gated reads in small pieces, and only while the gate is open.
type gated struct{ c *client }

func (g gated) Read(p []byte) (int, error) {
	g.c.gate.RLock()
	p = p[:min(len(p), 4000)]
	g.c.gate.RUnlock()
	runtime.Gosched()
	return g.c.out.Read(p)
}

func (c *client) read() {
	frames := frame.NewReader(gated{c}, frame.MaxHello)
	for read := uint64(0); ; {
		var a frame.Answer
		output, err := frames.Read(&a)
		if output != nil {
			read += uint64(frame.Header + len(output.Bytes))
			_ = c.write.Message(frame.Request{Read: read}) // the helper may have ended
		}
		c.mu.Lock()
		if err != nil {
			if err != io.EOF && !errors.Is(err, os.ErrClosed) && !errors.Is(err, io.ErrUnexpectedEOF) {
				c.broken = append(c.broken, err.Error())
			}
			c.ended = true
			c.changed.Broadcast()
			c.mu.Unlock()
			return
		}
		c.takeLocked(output, a)
		c.changed.Broadcast()
		c.mu.Unlock()
	}
}

// takeLocked records a message, and violations of the protocol.
func (c *client) takeLocked(output *frame.Output, a frame.Answer) {
	broken := func(is bool, what string) {
		if is {
			c.broken = append(c.broken, what)
		}
	}
	of := func(number uint64) *seen {
		p := c.processes[number]
		if p == nil || p.started == nil {
			c.broken = append(c.broken, fmt.Sprintf("something of process %d, which is not known", number))
			return new(seen)
		}
		broken(p.isClosed, "something of a process after Closed")
		return p
	}
	switch {
	case output != nil:
		p := of(output.Process)
		broken(output.Offset != int64(len(p.output)), "a gap in the output")
		broken(p.gone || p.endedOutput, "output after its end")
		p.output = append(p.output, output.Bytes...)
	case a.Hello != nil:
		broken(c.hello != nil, "a second Hello")
		c.hello = a.Hello
	case a.Reply != nil:
		broken(c.replies[a.Reply.ID] != nil, "a second Reply")
		c.replies[a.Reply.ID] = a.Reply
		if p := c.processes[a.Reply.ID]; p != nil {
			p.started = a.Reply.Started
		}
		for _, p := range c.processes {
			if a.Reply.List != nil {
				p.listedAt = len(p.output)
			}
		}
	case a.Exit != nil:
		p := of(a.Exit.Process)
		broken(p.exit != nil || p.gone, "Exit twice or after Gone")
		p.exit, p.exitAt, p.repliesAtExit = a.Exit, len(p.output), len(c.replies)
	case a.Gone != nil:
		p := of(a.Gone.Process)
		broken(p.exit == nil || p.gone, "Gone twice or before Exit")
		p.gone = true
	case a.Ended != nil:
		p := of(a.Ended.Process)
		broken(p.endedOutput, "Ended twice")
		p.endedOutput = true
	case a.Closed != nil:
		if p := c.processes[a.Closed.Process]; p != nil {
			broken(p.isClosed, "Closed twice")
			p.isClosed = true
		}
	}
}

// await waits until is returns true, or the connection has ended.
func (c *client) await(is func() bool) {
	c.t.Helper()
	late := false
	timer := time.AfterFunc(time.Minute, func() {
		c.mu.Lock()
		late = true
		c.mu.Unlock()
		c.changed.Broadcast()
	})
	defer timer.Stop()
	c.mu.Lock()
	for !is() && !c.ended && !late {
		c.changed.Wait()
	}
	held, what := is(), fmt.Sprintf("this did not come: late %v, ended %v", late, c.ended)
	c.mu.Unlock()
	require.True(c.t, held, what)
}

// send sends a request, with an ID for its answer.
func (c *client) send(r frame.Request) (id uint64) {
	c.t.Helper()
	r.ID = c.nextID.Add(1)
	require.NoError(c.t, c.write.Message(r))
	return r.ID
}

// ask sends a request and returns its answer.
func (c *client) ask(r frame.Request) *frame.Reply {
	c.t.Helper()
	return c.answered(c.send(r))
}

func (c *client) tell(r frame.Request) {
	c.t.Helper()
	require.NoError(c.t, c.write.Message(r))
}

// shell returns the start of a shell line. Its mark follows the mark of all the client's commands.
func (c *client) shell(text string) frame.Start {
	mark := fmt.Sprint(marks.Add(1))
	return frame.Start{
		Command: frame.Command{
			Path: frame.Bytes("/bin/sh"), Args: frame.Texts([]string{"sh", "-c", text}), Dir: frame.Bytes("/"),
			Env: frame.Texts(append(os.Environ(), markName+"="+c.mark+":"+mark)),
		},
		MarkName: markName, MarkValue: mark,
	}
}

// begin sends a start. The process's number is that of the request.
func (c *client) begin(start frame.Start) (number uint64) {
	c.t.Helper()
	number = c.nextID.Add(1)
	c.mu.Lock()
	c.processes[number] = new(seen)
	c.mu.Unlock()
	start.Process = number
	require.NoError(c.t, c.write.Message(frame.Request{ID: number, Start: &start}))
	return number
}

// start starts a process.
func (c *client) start(start frame.Start) (number uint64, p *seen) {
	c.t.Helper()
	number = c.begin(start)
	require.Nil(c.t, c.answered(number).Error)
	return number, c.of(number)
}

// refused returns the error of a start that must fail.
func (c *client) refused(start frame.Start) *frame.Error {
	c.t.Helper()
	reply := c.answered(c.begin(start))
	require.Nil(c.t, reply.Started)
	require.NotNil(c.t, reply.Error)
	return reply.Error
}

func (c *client) signal(number uint64, name string) {
	c.t.Helper()
	c.tell(frame.Request{Signal: &frame.Signal{Process: number, Name: name}})
}

func (c *client) awaitOutput(p *seen, text string) {
	c.t.Helper()
	c.await(func() bool { return bytes.Contains(p.output, []byte(text)) })
}

func (c *client) awaitExit(p *seen) frame.Exit {
	c.t.Helper()
	c.await(func() bool { return p.exit != nil })
	return *c.now(p).exit
}

// now returns a copy of p, with the messages received so far.
func (c *client) now(p *seen) seen {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *p
}

// of returns the record of the process with a number.
func (c *client) of(number uint64) *seen {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.processes[number]
}

// answered waits for the reply to a request.
func (c *client) answered(id uint64) *frame.Reply {
	c.t.Helper()
	c.await(func() bool { return c.replies[id] != nil })
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.replies[id]
}

// end kills a process and closes it.
func (c *client) end(number uint64, p *seen) {
	c.t.Helper()
	c.signal(number, "SIGKILL")
	c.await(func() bool { return p.gone })
	c.close(number, p)
}

func (c *client) close(number uint64, p *seen) {
	c.t.Helper()
	c.tell(frame.Request{Close: &frame.Process{Process: number}})
	c.await(func() bool { return p.isClosed })
}

// marked returns the running processes of a mark.
func marked(mark string) []string { return leaktest.Running("=" + mark + ":") }

// requireNone waits until no process with a mark runs.
func requireNone(t *testing.T, mark string) {
	t.Helper()
	require.Eventually(t, func() bool { return len(marked(mark)) == 0 }, time.Minute, time.Millisecond)
}

const (
	waitLimit      = time.Minute
	pollPause      = time.Millisecond
	enforcesLimits = runtime.GOOS == "linux"
)

// fifo returns the path of a named pipe. A command that reads it waits until release is called.
func fifo(t *testing.T) (path string, release func()) {
	path = t.TempDir() + "/fifo"
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	return path, func() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		require.NoError(t, err)
		require.NoError(t, file.Close())
	}
}

//go:build unix

package server_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/acpterm/acpterm/internal/terminaltest"
	"github.com/acpterm/acpterm/remote/internal/frame"
	"github.com/acpterm/acpterm/remote/internal/server"
	"github.com/stretchr/testify/require"
)

// run starts processes that are hard to end, and others that are still starting.
func (c *client) run() {
	c.t.Helper()
	_, stubborn := c.start(c.shell("trap '' TERM; echo ready; while :; do sleep 0.1; done"))
	_, detached := c.start(c.shell("setsid sh -c 'setsid sleep 300 & echo ready; exec sleep 300' & exit 0"))
	_, writes := c.start(c.shell("exec yes ready"))
	for _, p := range []*seen{stubborn, detached, writes} {
		c.awaitOutput(p, "ready")
	}
	for range 20 {
		c.begin(c.shell("sleep 300 & exec sleep 300"))
	}
}

// returned waits for the result of Serve.
func (c *client) returned() error {
	err := <-c.served
	c.served <- err
	return err
}

func TestInputEnds(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.run()
	require.NoError(t, c.in.Close())
	require.NoError(t, c.returned())
	require.Empty(t, marked(c.mark))
}

// All processes end, even if nothing reads the output any more.
func TestInputEndsWhileNothingReads(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.run()
	c.gate.Lock()
	require.NoError(t, c.in.Close())
	require.NoError(t, c.returned())
	require.Empty(t, marked(c.mark))
	c.gate.Unlock()
}

func TestWriteFails(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.run()
	c.gate.Lock() // waits for the end of a read, whose file could not be closed
	require.NoError(t, c.out.Close())
	c.gate.Unlock()
	require.ErrorContains(t, c.returned(), "broken pipe")
	require.Empty(t, marked(c.mark))
}

func TestContextEnds(t *testing.T) {
	t.Parallel()
	c := serve(t)
	c.run()
	c.cancel()
	require.ErrorIs(t, c.returned(), context.Canceled)
	require.Empty(t, marked(c.mark))
}

// A process that cleans up at the end of the connection has time to finish.
func TestCleanUpIsLeftAlone(t *testing.T) {
	t.Parallel()
	c := serveWithGrace(t, 5*time.Second) // as in Serve
	lock := filepath.Join(t.TempDir(), "lock")
	_, p := c.start(c.shell(terminaltest.CleanUp(lock, "TERM")))
	c.awaitOutput(p, "ready")
	require.NoError(t, c.in.Close())
	require.NoError(t, c.returned())
	require.NoFileExists(t, lock)
}

// Malformed input ends the connection and the running processes.
func TestMalformed(t *testing.T) {
	t.Parallel()
	both := frame.Request{Cancel: &frame.Process{Process: 1}, Close: &frame.Process{Process: 1}}
	noAnswer := frame.Request{Look: &frame.Command{}}
	for _, text := range []string{
		"x\x00\x00\x00\x01x", "m\xff\xff\xff\xff", "m\x00\x00\x00\x02{x", "m\x00\x00", "m\x00\x00\x00\x05{}",
		"o\x00\x00\x00\x01x", "o\x00\x00\x00\x12" + strings.Repeat("x", 18), "m\x00\x00\x00\x08\"string\"",
		framed(t, both), framed(t, noAnswer), "GET / HTTP/1.1\r\n\r\n",
	} {
		c := serve(t)
		c.start(c.shell("exec sleep 300"))
		_, err := io.WriteString(c.in, text)
		require.NoError(t, err)
		require.NoError(t, c.in.Close())
		require.Error(t, c.returned(), "%q", text)
		require.Empty(t, marked(c.mark))
	}
}

func framed(t testing.TB, message any) string {
	var b bytes.Buffer
	require.NoError(t, frame.NewWriter(&b).Message(message))
	return b.String()
}

// Requests that a Runner must not send get an error, or are ignored if they have no answer.
func TestLies(t *testing.T) {
	t.Parallel()
	c := serve(t)
	number, p := c.start(c.shell("echo ready; exec sleep 300"))
	c.awaitOutput(p, "ready")
	again := c.shell("exit 0")
	again.Process = number
	for _, r := range []frame.Request{
		{Start: &again}, {Cancel: &frame.Process{Process: 999}}, {Signal: &frame.Signal{Process: 999, Name: "SIGTERM"}},
		{Signal: &frame.Signal{Process: number, Name: "SIGNOTHING"}}, {Signal: &frame.Signal{Process: number}},
	} {
		reply := c.ask(r)
		require.NotNil(t, reply.Error)
		if r.Start == nil {
			c.tell(r)
		}
	}
	c.tell(frame.Request{})
	_, err := io.WriteString(c.in, "m\x00\x00\x00\x04null")
	require.NoError(t, err)
	require.Nil(t, c.ask(frame.Request{}).Error) // a ping
	require.Nil(t, c.ask(frame.Request{Signal: &frame.Signal{Process: number, Name: "SIGCONT"}}).Error)
	require.Nil(t, c.now(p).exit)
	c.end(number, p)
	c.ask(frame.Request{Close: &frame.Process{Process: 999}})

	number = c.begin(c.shell("exit 7")) // a number may be reused after Closed
	require.NotNil(t, c.answered(number).Started)
	c.end(number, c.of(number))
}

// FuzzRequests sends arbitrary requests. The helper answers with valid frames, and ends.
func FuzzRequests(f *testing.F) {
	for _, r := range []frame.Request{
		{ID: 1}, {ID: 2, RealDir: &frame.RealDir{Dir: frame.Bytes("/tmp")}}, {ID: 3, Look: command("/", "/bin", "sh")},
		{ID: 4, Start: &frame.Start{
			Process: 5, Command: *command("/", "/bin", "sh"), Pin: "1", MarkName: markName, MarkValue: "x",
			Limits: []frame.Limit{{Name: "Nice", Value: 1}},
		}},
		{Cancel: &frame.Process{Process: 5}}, {Signal: &frame.Signal{Process: 5, Name: "SIGTERM"}},
		{Close: &frame.Process{Process: 5}}, {EndInput: &frame.Process{Process: 5}},
		{ID: 6, List: &frame.Process{Process: 5}}, {ID: 7, Input: &frame.Input{Process: 5, Bytes: frame.Bytes("x")}},
	} {
		f.Add([]byte(framed(f, r)[5:]), []byte{})
		f.Add([]byte(framed(f, r)[5:]), []byte(framed(f, r)))
	}
	f.Add([]byte("{}"), []byte("m\x00\x00\x00\xf9")) // the rest is its body
	f.Fuzz(func(t *testing.T, message, more []byte) {
		in, theirs := io.Pipe()
		ours, out := io.Pipe()
		requests := binary.BigEndian.AppendUint32([]byte{'m'}, uint32(len(message)))
		requests = slices.Concat(requests, message, more)
		go func() {
			theirs.Write(requests)
			io.WriteString(theirs, framed(t, frame.Request{ID: math.MaxUint64}))
			if !isWhole(requests) { // the last request is part of a frame that would wait for more
				theirs.Close()
			}
		}()
		var malformed error
		read := make(chan struct{})
		go func() { // reads until the end or the last answer
			defer close(read)
			defer theirs.Close()
			frames := frame.NewReader(ours, frame.MaxHello)
			for last := false; !last && malformed == nil; {
				var a frame.Answer
				_, malformed = frames.Read(&a)
				last = a.Reply != nil && a.Reply.ID == math.MaxUint64
			}
			ours.Close()
		}()
		server.Serve(context.Background(), in, out) // an error is about the input
		in.Close()
		out.Close()
		<-read
		if malformed != io.EOF && !errors.Is(malformed, io.ErrUnexpectedEOF) {
			require.NoError(t, malformed)
		}
	})
}

// isWhole reports whether requests consists of complete frames.
func isWhole(requests []byte) bool {
	frames := frame.NewReader(bytes.NewReader(requests), frame.MaxRequest)
	for {
		var r frame.Request
		if _, err := frames.Read(&r); err != nil {
			return err == io.EOF
		}
	}
}

package docker

// An open exec: its input, output and end.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/moby/moby/client"

	"github.com/acpterm/acpterm/remote"
)

const (
	// exitTimeout limits the time after the end of the output for the daemon to report the shell's exit.
	exitTimeout = 2 * time.Second
	// exitInterval is the time between two requests for the exit.
	exitInterval = 20 * time.Millisecond
)

// connection is an exec with the stream of its standard input and output.
type connection struct {
	name   string
	api    *client.Client
	exec   string
	stream client.HijackedResponse
	stdout *io.PipeReader
	stderr remote.Tail

	closing atomic.Bool
	cancel  context.CancelFunc // ends the requests for the exit
	ended   chan struct{}      // closed when the stream has ended and end is set
	end     error
}

func newConnection(name string, api *client.Client, exec string, stream client.HijackedResponse) *connection {
	stdout, writer := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	c := &connection{
		name:   name,
		api:    api,
		exec:   exec,
		stream: stream,
		stdout: stdout,
		cancel: cancel,
		ended:  make(chan struct{}),
	}
	go func() {
		defer close(c.ended)
		err := demultiplex(stream.Reader, writer, &c.stderr)
		c.end = c.reason(ctx, err)
		_ = writer.CloseWithError(c.end)
	}()
	return c
}

// demultiplex copies both outputs from a stream until its end. Each piece has a header of eight bytes: the number of
// the output, three ignored bytes, and the length. Only a buffer of a piece is in memory, however long the piece is.
func demultiplex(stream io.Reader, stdout, stderr io.Writer) error {
	outputs := map[byte]io.Writer{1: stdout, 2: stderr}
	var header [8]byte
	for {
		if _, err := io.ReadFull(stream, header[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		output, ok := outputs[header[0]]
		if !ok {
			return fmt.Errorf("the daemon sends output number %d, which there is not", header[0])
		}
		if _, err := io.CopyN(output, stream, int64(binary.BigEndian.Uint32(header[4:]))); err == io.EOF {
			return io.ErrUnexpectedEOF
		} else if err != nil {
			return err
		}
	}
}

// Read reads from the shell's standard output. The final error is io.EOF if the shell exited with status 0 and did not
// write to its standard error. Otherwise, it describes how the shell exited.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.stdout.Read(p)
	if err != nil && c.closing.Load() {
		err = c.failure(net.ErrClosed)
	}
	return n, err
}

// Write writes to the shell's standard input.
func (c *connection) Write(p []byte) (int, error) {
	n, err := c.stream.Conn.Write(p)
	if err == nil {
		return n, nil
	}
	if c.closing.Load() {
		return n, c.failure(net.ErrClosed)
	}
	ctx, cancel := context.WithTimeout(context.Background(), exitTimeout)
	defer cancel()
	select {
	case <-c.ended:
		if !errors.Is(c.end, io.EOF) {
			return n, c.end
		}
		return n, c.failure(io.ErrClosedPipe)
	case <-ctx.Done(): // some output has not been read
		return n, c.failure(err)
	}
}

// CloseWrite closes the shell's standard input.
func (c *connection) CloseWrite() error { return c.stream.CloseWrite() }

// Close closes the connection, including the shell's standard input, and waits until everything has been shut down.
func (c *connection) Close() error {
	c.closing.Store(true)
	c.cancel()
	c.stream.Close()
	_ = c.stdout.Close()
	<-c.ended
	return c.api.Close()
}

// reason returns the reason for the end of the stream, including err if reading failed. A cut stream gives no error:
// only the exec distinguishes it from the end of the shell.
func (c *connection) reason(ctx context.Context, err error) error {
	if err != nil {
		return c.failure(fmt.Errorf("the connection is lost: %w", err))
	}
	code, err := c.exitCode(ctx)
	switch {
	case err != nil:
		return c.failure(fmt.Errorf("the connection is lost: %w", err))
	case code == 0 && c.stderr.String() == "":
		return io.EOF
	default:
		return c.failure(fmt.Errorf("the shell has ended with exit status %d", code))
	}
}

// exitCode polls the daemon until the shell has ended, and returns its exit code.
func (c *connection) exitCode(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, exitTimeout)
	defer cancel()
	again := time.NewTicker(exitInterval)
	defer again.Stop()
	for {
		exec, err := c.api.ExecInspect(ctx, c.exec, client.ExecInspectOptions{})
		if err != nil || !exec.Running {
			return exec.ExitCode, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return 0, errors.New("its output has ended, and the shell has not")
		}
	}
}

// failure adds the container's name and standard error to an error.
func (c *connection) failure(err error) error {
	if said := c.stderr.String(); said != "" {
		return fmt.Errorf("remote/docker: %s: %w: %s", c.name, err, said)
	}
	return fmt.Errorf("remote/docker: %s: %w", c.name, err)
}

package ssh

// An open connection: its input, output and end.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/acpterm/acpterm/remote"
)

// reasonTimeout limits the time that an error of Read or Write waits for the server to report the shell's exit.
const reasonTimeout = time.Second

// connection is a shell with its own SSH connection. It uses a channel instead of an ssh.Session. A Session stops
// reading the server's requests at a malformed one, so that closing could hang. It also reports an exit only when no
// process holds the output.
type connection struct {
	name   string
	client *ssh.Client
	jumps  []*ssh.Client // that client leads through
	shell  ssh.Channel
	stderr remote.Tail

	closing atomic.Bool
	exited  chan struct{} // closed once exit is set: the shell has ended, but its channel may still have output
	exit    string
	ended   chan struct{} // closed when the channel is closed and stderr is complete
	lost    chan struct{} // closed when the connection has ended, once cause is set
	cause   error
}

func newConnection(name string, client *ssh.Client, jumps []*ssh.Client) *connection {
	c := &connection{
		name:   name,
		client: client,
		jumps:  jumps,
		exited: make(chan struct{}),
		ended:  make(chan struct{}),
		lost:   make(chan struct{}),
	}
	go func() {
		defer close(c.lost)
		c.cause = client.Wait()
	}()
	return c
}

// start starts the shell. The caller must close the connection even if start fails.
func (c *connection) start() error {
	shell, requests, err := c.client.OpenChannel("session", nil)
	if err != nil {
		close(c.ended)
		return err
	}
	c.shell = shell
	go func() {
		defer close(c.ended)
		var copying sync.WaitGroup
		copying.Go(func() { _, _ = io.Copy(&c.stderr, shell.Stderr()) })
		c.serve(requests)
		copying.Wait()
	}()
	accepted, err := shell.SendRequest("exec", true, ssh.Marshal(struct{ Command string }{"exec sh"}))
	if err == nil && !accepted {
		err = errors.New("the server refuses to run sh")
	}
	return err
}

// serve handles the server's requests until the channel is closed.
func (c *connection) serve(requests <-chan *ssh.Request) {
	exited := sync.OnceFunc(func() { close(c.exited) })
	for request := range requests {
		var status struct{ Code uint32 }
		var signal struct {
			Name       string
			CoreDumped bool
			Message    string
			Language   string
		}
		switch {
		case c.exit != "":
		case request.Type == "exit-status" && ssh.Unmarshal(request.Payload, &status) == nil:
			c.exit = fmt.Sprintf("exit status %d", status.Code)
			exited()
		case request.Type == "exit-signal" && ssh.Unmarshal(request.Payload, &signal) == nil:
			c.exit = fmt.Sprintf("signal %.24q", "SIG"+signal.Name)
			exited()
		}
		if request.WantReply { // the server asks whether this side is alive
			_ = request.Reply(false, nil)
		}
	}
}

// Read reads from the shell's standard output. The final error is io.EOF if the shell exited with status 0 and did not
// write to its standard error. Otherwise, it describes how the shell exited.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.shell.Read(p)
	if err != nil {
		err = c.reason(err)
	}
	return n, err
}

// Write writes to the shell's standard input.
func (c *connection) Write(p []byte) (int, error) {
	n, err := c.shell.Write(p)
	if err != nil {
		err = c.reason(io.ErrClosedPipe)
	}
	return n, err
}

// CloseWrite closes the shell's standard input.
func (c *connection) CloseWrite() error { return c.shell.CloseWrite() }

// Close closes the connection, including the shell's standard input, and waits until everything has been shut down.
func (c *connection) Close() error {
	c.closing.Store(true)
	_ = c.client.Close() // fails if the connection is already lost
	<-c.lost
	<-c.ended
	closeAll(c.jumps)
	return nil
}

// reason returns the reason why nothing can be read or written. It is atEnd if the shell ended without an error to
// report.
func (c *connection) reason(atEnd error) error {
	if c.closing.Load() {
		return c.failure(net.ErrClosed)
	}
	ctx, cancel := context.WithTimeout(context.Background(), reasonTimeout)
	defer cancel()
	select {
	case <-c.ended: // the usual case: stderr is complete
	case <-ctx.Done():
	}
	select {
	case <-c.exited:
		if c.exit == "exit status 0" && c.stderr.String() == "" {
			return atEnd
		}
		return c.failure(fmt.Errorf("the shell has ended with %s", c.exit))
	default:
	}
	select {
	case <-c.lost:
		if errors.Is(c.cause, io.EOF) {
			return c.failure(errors.New("the connection was closed by the other end"))
		}
		return c.failure(fmt.Errorf("the connection is lost: %w", c.cause))
	case <-ctx.Done():
		return c.failure(errors.New("the shell has closed its output"))
	}
}

// failure adds the connection's name and standard error to an error.
func (c *connection) failure(err error) error {
	if said := c.stderr.String(); said != "" {
		return fmt.Errorf("remote/ssh: %s: %w: %s", c.name, err, said)
	}
	return fmt.Errorf("remote/ssh: %s: %w", c.name, err)
}

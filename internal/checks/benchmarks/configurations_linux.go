package main

// The acpterm clients of the second table: each adds one thing to the bare client.

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/display"
	"github.com/acpterm/acpterm/internal/checks/benchmarks/bench"
	"github.com/acpterm/acpterm/remote"
	"github.com/acpterm/acpterm/view"
)

// serveFollowed serves with ten followers of each terminal.
func serveFollowed(conn io.ReadWriteCloser) (ended <-chan struct{}, err error) {
	f := followers{each: int(followersOf(followedByTen))}
	h := acpterm.NewHandler(must(acpterm.NewManager(nil)), &acpterm.HandlerOptions{Created: f.add})
	return serve(h, conn, jsonrpc2.HandlerWithError(f.handle)), nil
}

// serveDisplayed copies all output, as to the user's terminal.
func serveDisplayed(conn io.ReadWriteCloser) (ended <-chan struct{}, err error) {
	h := acpterm.NewHandler(must(acpterm.NewManager(nil)), &acpterm.HandlerOptions{
		Created: func(t *acpterm.Terminal) { go display.Follow(context.Background(), io.Discard, t) },
	})
	return serve(h, conn, h), nil
}

// servePaged serves with a live page, which another process reads.
func servePaged(conn io.ReadWriteCloser) (ended <-chan struct{}, err error) {
	m := must(acpterm.NewManager(nil))
	v, err := view.New(m, nil)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := v.Server()
	go server.Serve(listener)
	line := bench.Self("page", v.URL(listener.Addr()))
	page := exec.Command(line[0], line[1:]...)
	page.Stderr = os.Stderr
	opened, err := page.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := page.Start(); err != nil {
		return nil, err
	}
	if _, err := opened.Read(make([]byte, 1)); err != nil {
		return nil, err
	}
	h := acpterm.NewHandler(m, nil)
	return afterwards(serve(h, conn, h), func() error {
		return errors.Join(v.Close(), server.Close(), page.Wait())
	}), nil
}

// afterwards returns a channel that is closed once ended is closed and do has returned.
func afterwards(ended <-chan struct{}, do func() error) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-ended
		if err := do(); err != nil {
			panic(err)
		}
	}()
	return done
}

// methodOwned asks for the size of the output of the agent's own terminals.
const methodOwned = "benchmark/owned"

// serveAgentsOwn shows terminals of the agent.
func serveAgentsOwn(conn io.ReadWriteCloser) (ended <-chan struct{}, err error) {
	m := must(acpterm.NewManager(nil))
	h := acpterm.NewHandler(m, nil)
	owned := jsonrpc2.HandlerWithError(func(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) (any, error) {
		total := int64(0)
		for _, t := range m.Terminals() {
			total += t.OutputTotal()
		}
		return total, nil
	})
	return serve(h, conn, agentterm.New(h, nil).Handler(owned)), nil
}

// serveRemotely runs the commands through package remote, whose helper runs on this machine.
func serveRemotely(conn io.ReadWriteCloser) (ended <-chan struct{}, err error) {
	dir, err := os.MkdirTemp("", "acpterm-benchmark-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	if err := remote.Build(context.Background(), "", dir, runtime.GOOS, runtime.GOARCH); err != nil {
		return nil, err
	}
	r, err := remote.NewRunner(remote.Options{
		Transport: remote.Command{Args: []string{"sh"}}, Helpers: os.DirFS(dir), Dir: dir,
	})
	if err != nil {
		return nil, err
	}
	if err := r.Connect(context.Background()); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	m := must(acpterm.NewManager(&acpterm.Options{Runner: r}))
	h := acpterm.NewHandler(m, nil)
	return afterwards(serve(h, conn, h), func() error {
		return errors.Join(m.Close(), r.Close(), os.RemoveAll(dir))
	}), nil
}

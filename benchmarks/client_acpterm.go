package main

// The two clients on acpterm: the bare one, as README's smallest client, and the one with what README recommends.

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/audit"
	"github.com/acpterm/acpterm/policy"
)

func serveBare(conn io.ReadWriteCloser) (ended <-chan struct{}, err error) {
	h := acpterm.NewHandler(must(acpterm.NewManager(nil)), nil)
	return serve(h, conn, h), nil
}

// serve serves an agent's connection; other answers all other requests.
func serve(h *acpterm.Handler, conn io.ReadWriteCloser, other jsonrpc2.Handler) (ended <-chan struct{}) {
	ctx := context.Background()
	return jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(h.Filter(ctx, conn)), other).DisconnectNotify()
}

// methodFollowed asks the full client what its followers have read. The answer comes when all of them have ended.
const methodFollowed = "benchmark/followed"

// followed is the answer, in bytes.
type followed struct{ Read, Missed int64 }

// serveFull has rules for programs and variables, a session with a root, a hook that makes a record of each event, and
// a follower for each terminal.
func serveFull(conn io.ReadWriteCloser) (ended <-chan struct{}, err error) {
	rules, err := allowCommands()
	if err != nil {
		return nil, err
	}
	m := must(acpterm.NewManager(&acpterm.Options{
		RequireSessions: true,
		Policy:          acpterm.Policies{rules, policy.AllowVariables(policy.SafeVariables()...)},
	}))
	m.Observe(audit.LogEvents(slog.New(slog.NewJSONHandler(io.Discard, nil))))
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if err := m.OpenSession(session, &acpterm.SessionOptions{Roots: []string{dir}}); err != nil {
		return nil, err
	}
	var f followers
	h := acpterm.NewHandler(m, &acpterm.HandlerOptions{Created: f.add})
	return serve(h, conn, jsonrpc2.HandlerWithError(f.handle)), nil
}

// allowCommands are rules for the programs that the rows run.
func allowCommands() (acpterm.Policy, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var rules policy.Rules
	for _, program := range []string{self, "true", "sleep", "sh"} {
		rules.Rules = append(rules.Rules, policy.Rule{Name: program, Verdict: acpterm.VerdictAllow, Program: program})
	}
	return rules.Compile(nil)
}

// followers read the output of all terminals.
type followers struct {
	all          sync.WaitGroup
	read, missed atomic.Int64
}

func (f *followers) add(t *acpterm.Terminal) {
	f.all.Go(func() {
		for chunk := range t.Follow(context.Background(), 0) {
			f.read.Add(chunk.End - chunk.Offset)
			f.missed.Add(chunk.Missed)
		}
	})
}

func (f *followers) handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	if req.Method != methodFollowed {
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: req.Method}
	}
	f.all.Wait()
	return followed{f.read.Swap(0), f.missed.Swap(0)}, nil
}

// missed is the share of so many bytes, all output since it was asked last, that the full client's followers missed.
func (p *process) missed(written int64) (share float64, err error) {
	var f followed
	if err := p.call(methodFollowed, struct{}{}, &f); err != nil {
		return 0, err
	}
	if f.Read+f.Missed != written {
		return 0, fmt.Errorf("the follower read %d bytes and missed %d, of %d", f.Read, f.Missed, written)
	}
	return float64(f.Missed) / float64(written), nil
}

// must is a value that is made without an error.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

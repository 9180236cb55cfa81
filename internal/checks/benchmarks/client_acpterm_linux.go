package main

// The acpterm clients: the bare one is the smallest client of the README, and the full one follows the README's
// recommendations.

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

// serveWith returns the bare client with the options of a manager.
func serveWith(options *acpterm.Options) client {
	return func(conn io.ReadWriteCloser) (ended <-chan struct{}, err error) {
		h := acpterm.NewHandler(must(acpterm.NewManager(options)), nil)
		return serve(h, conn, h), nil
	}
}

// serve serves an agent's connection. other handles all other requests.
func serve(h *acpterm.Handler, conn io.ReadWriteCloser, other jsonrpc2.Handler) (ended <-chan struct{}) {
	ctx := context.Background()
	return jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(h.Filter(ctx, conn)), other).DisconnectNotify()
}

// methodFollowed asks a client with followers how much its followers have read. The client answers when all followers
// have ended.
const methodFollowed = "benchmark/followed"

// followed is the answer to methodFollowed, in bytes.
type followed struct{ Read, Missed int64 }

// serveFull serves with rules for programs and variables, a session with a root, a hook that records each event, and a
// follower for each terminal.
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
	for _, id := range append(further(), session) {
		if err := m.OpenSession(acpterm.SessionID(id), &acpterm.SessionOptions{Roots: []string{dir}}); err != nil {
			return nil, err
		}
	}
	f := followers{each: 1}
	h := acpterm.NewHandler(m, &acpterm.HandlerOptions{Created: f.add})
	return serve(h, conn, jsonrpc2.HandlerWithError(f.handle)), nil
}

// allowCommands returns rules for the programs of the rows.
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
	each int // how many follow a terminal

	all          sync.WaitGroup
	read, missed atomic.Int64
}

func (f *followers) add(t *acpterm.Terminal) {
	for range f.each {
		f.all.Go(func() {
			for chunk := range t.Follow(context.Background(), 0) {
				f.read.Add(chunk.End - chunk.Offset)
				f.missed.Add(chunk.Missed)
			}
		})
	}
}

func (f *followers) handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	if req.Method != methodFollowed {
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: req.Method}
	}
	f.all.Wait()
	return followed{f.read.Swap(0), f.missed.Swap(0)}, nil
}

// haveFollowed fails unless the client's followers have read or missed as many bytes since the last call.
func (p *process) haveFollowed(written int64) error {
	var f followed
	err := p.call(methodFollowed, struct{}{}, &f)
	if err == nil && f.Read+f.Missed != written {
		err = fmt.Errorf("the followers read %d bytes and missed %d, of %d", f.Read, f.Missed, written)
	}
	return err
}

// must returns value. It panics if err is not nil.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

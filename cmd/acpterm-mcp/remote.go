package main

// The remote side, where commands run with -runner.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/acpterm/acpterm/bubblewrap"
	"github.com/acpterm/acpterm/remote"
)

// farSide is the remote side. It is nil if commands run here.
type farSide struct {
	*remote.Runner
	home string
	env  []string // of commands
}

func (f *farSide) close() {
	if f != nil {
		f.Runner.Close()
	}
}

// connect opens the connection, so that an error shows before the agent runs a command, and makes the remote paths
// absolute. It returns nil without -runner.
func connect(ctx context.Context, opts *options) (*farSide, error) {
	if opts.runner == nil {
		return nil, nil
	}
	isRelative := func(p string) bool { return !path.IsAbs(p) }
	if slices.ContainsFunc(opts.writable, isRelative) || slices.ContainsFunc(opts.hidden, isRelative) {
		f, err := dial(ctx, opts, nil) // to ask for the home directory: the sandbox is made with absolute paths
		if err != nil {
			return nil, err
		}
		for _, list := range [][]string{opts.writable, opts.hidden} {
			for i := range list {
				list[i] = f.abs(list[i])
			}
		}
		f.close()
	}
	var sandbox *bubblewrap.Options
	if opts.sandbox {
		sandbox = &bubblewrap.Options{Network: opts.network, Writable: opts.writable, Hidden: opts.hidden}
	}
	f, err := dial(ctx, opts, sandbox)
	if err != nil {
		return nil, err
	}
	if err := f.findRoots(ctx, opts); err != nil {
		f.close()
		return nil, fmt.Errorf("-runner: %w", err)
	}
	return f, nil
}

// dial opens a connection whose commands run in a sandbox, unless it is nil.
func dial(ctx context.Context, opts *options, sandbox *bubblewrap.Options) (*farSide, error) {
	o := remote.Options{Transport: remote.Command{Args: opts.runner}, Sandbox: sandbox}
	if opts.helpers != "" {
		o.Helpers = os.DirFS(opts.helpers)
	}
	runner, err := remote.NewRunner(o)
	if err != nil {
		return nil, fmt.Errorf("-runner: %w", err)
	}
	home, env, err := runner.Base(ctx)
	if err == nil {
		return &farSide{runner, home, env}, nil
	}
	runner.Close()
	if missing, ok := errors.AsType[*remote.NoHelperError](err); ok {
		return nil, fmt.Errorf("-runner: there is no acpterm-remote for %s/%s; install it there, in PATH: "+
			"go install github.com/acpterm/acpterm/remote/cmd/acpterm-remote@latest", missing.System, missing.Arch)
	}
	return nil, fmt.Errorf("-runner: %w", err)
}

// abs returns a path as an absolute one. Relative paths are below the remote home directory.
func (f *farSide) abs(p string) string {
	if path.IsAbs(p) {
		return p
	}
	return path.Join(f.home, strings.TrimPrefix(p, "~/"))
}

// findRoots makes the roots absolute. The default is the remote home directory.
func (f *farSide) findRoots(ctx context.Context, opts *options) (err error) {
	if opts.roots == nil {
		opts.roots = []string{"."}
	}
	for i, root := range opts.roots {
		if opts.roots[i], err = f.RealDir(ctx, f.abs(root)); err != nil {
			return fmt.Errorf("-root %s: %w", f.abs(root), err)
		}
	}
	return nil
}

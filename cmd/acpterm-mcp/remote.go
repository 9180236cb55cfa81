package main

// The remote side, where commands run with -runner.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"

	"github.com/acpterm/acpterm/remote"
)

// farSide is the remote side. It is nil if commands run here.
type farSide struct{ *remote.Runner }

func (f *farSide) close() {
	if f != nil {
		f.Runner.Close()
	}
}

// connect opens the connection, so that an error shows before the agent runs a command, and makes the roots absolute
// there. It returns nil without -runner.
func connect(ctx context.Context, opts *options) (*farSide, error) {
	if opts.runner == nil {
		return nil, nil
	}
	o := remote.Options{Transport: remote.Command{Args: opts.runner}}
	if opts.helpers != "" {
		o.Helpers = os.DirFS(opts.helpers)
	}
	runner, err := remote.NewRunner(o)
	if err != nil {
		return nil, fmt.Errorf("-runner: %w", err)
	}
	f := &farSide{runner}
	if err := f.findRoots(ctx, opts); err != nil {
		f.close()
		if missing, ok := errors.AsType[*remote.NoHelperError](err); ok {
			return nil, fmt.Errorf("-runner: there is no acpterm-remote for %s/%s; install it there, in PATH: "+
				"go install github.com/acpterm/acpterm/remote/cmd/acpterm-remote@latest", missing.System, missing.Arch)
		}
		return nil, fmt.Errorf("-runner: %w", err)
	}
	return f, nil
}

// findRoots makes the roots absolute. Relative ones are below the remote home directory, which is the default.
func (f *farSide) findRoots(ctx context.Context, opts *options) error {
	home, _, err := f.Base(ctx)
	if err != nil {
		return err
	}
	if opts.roots == nil {
		opts.roots = []string{"."}
	}
	for i, root := range opts.roots {
		if !path.IsAbs(root) {
			root = path.Join(home, root)
		}
		if opts.roots[i], err = f.RealDir(ctx, root); err != nil {
			return fmt.Errorf("-root %s: %w", root, err)
		}
	}
	return nil
}

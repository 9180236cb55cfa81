package main

// This file connects to the place where commands run with -runner, and reports on the connection.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/bubblewrap"
	"github.com/acpterm/acpterm/remote"
)

const helperPackage = "github.com/acpterm/acpterm/remote/cmd/acpterm-remote"

// setRunner parses the value of -runner.
func (opts *options) setRunner(line string) (err error) {
	opts.runner, err = remote.Split(line)
	return err
}

// farEnd is the remote side, where commands run. If nil, they run here.
type farEnd struct {
	*remote.Runner
	news   *news
	closed sync.Once
}

// connect opens the connection to the remote side, and replaces the directories in opts with remote ones. It returns
// nil without -runner.
func connect(ctx context.Context, opts *options, screen *screen) (*farEnd, error) {
	if opts.runner == nil {
		return nil, nil
	}
	f := &farEnd{news: &news{notices: newNotices(screen, screen.errors, "acpterm: ")}}
	err := f.open(ctx, opts)
	if err == nil {
		err = f.findDirectories(ctx, opts)
	}
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// close ends the remote commands and the connection. It may be called twice.
func (f *farEnd) close() {
	if f == nil {
		return
	}
	f.closed.Do(func() {
		f.news.closing.Store(true)
		if f.Runner != nil {
			f.Runner.Close()
		}
		f.news.end()
	})
}

// open connects with a helper from -helpers or, without the flag, with one on the remote side.
func (f *farEnd) open(ctx context.Context, opts *options) error {
	options := remote.Options{Transport: remote.Command{Args: opts.runner}, Progress: f.news.progress}
	if opts.helpers != "" {
		options.Helpers = os.DirFS(opts.helpers)
	}
	if opts.sandbox {
		options.Sandbox = &bubblewrap.Options{Network: opts.network}
	}
	runner, err := remote.NewRunner(options)
	if err != nil {
		return err
	}
	if err := runner.Connect(ctx); err != nil {
		runner.Close()
		if missing, ok := errors.AsType[*remote.NoHelperError](err); ok {
			return noHelper(missing)
		}
		return fmt.Errorf("-runner: %w", err)
	}
	f.Runner = runner
	return nil
}

// noHelper returns an error that tells the user how to get a helper. It suggests no command line with a system and
// architecture unknown to Go: these are the remote side's words.
func noHelper(missing *remote.NoHelperError) error {
	text := fmt.Sprintf("-runner: there is no acpterm-remote for %s/%s\n"+
		"Install it there, in PATH: go install %s@latest", missing.System, missing.Arch, helperPackage)
	known := slices.Contains([]string{"linux", "darwin", "freebsd"}, missing.System) &&
		slices.Contains([]string{"amd64", "arm64"}, missing.Arch)
	if known {
		text += fmt.Sprintf("\nOr build it here, for -helpers DIR: "+
			"CGO_ENABLED=0 GOOS=%[1]s GOARCH=%[2]s go build -o DIR/acpterm-remote-%[1]s-%[2]s %[3]s",
			missing.System, missing.Arch, helperPackage)
	}
	return &acpterm.Error{Kind: acpterm.ErrConnectionLost, Reason: text}
}

// findDirectories replaces the directories in opts with remote ones. Relative paths are below the remote home
// directory.
func (f *farEnd) findDirectories(ctx context.Context, opts *options) error {
	home, env, err := f.Base(ctx)
	if err != nil {
		return err
	}
	err = opts.findDirectories(func(dir string) (string, error) {
		if !path.IsAbs(dir) {
			dir = path.Join(home, dir)
		}
		_, err := f.LookPath(ctx, acpterm.Command{Args: []string{"sh"}, Dir: dir, Env: env})
		switch {
		case errors.Is(err, acpterm.ErrInvalidParams):
			return "", fmt.Errorf("%s is not a directory where commands run", dir)
		case errors.Is(err, acpterm.ErrCommandNotFound):
			return dir, nil // sh itself does not matter
		}
		return dir, err
	})
	if err != nil && ctx.Err() == nil && !errors.Is(err, acpterm.ErrConnectionLost) {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	return err
}

// news says how the connection is, on standard error.
type news struct {
	*notices
	opened  atomic.Bool // connected before, so a loss is news
	closing atomic.Bool // closed on purpose
	copied  time.Time   // time of the last message about copying; used by progress only
}

// progress is passed to remote.Options.Progress.
func (n *news) progress(p remote.Progress) {
	there := p.System + "/" + p.Arch
	switch p.Step {
	case remote.StepConnecting:
		n.say("connecting")
	case remote.StepCopying:
		if now := time.Now(); now.Sub(n.copied) >= time.Second || p.Copied == p.Size {
			n.copied = now
			n.say(fmt.Sprintf("copying %.1f of %.1f MB to %s", float64(p.Copied)/1e6, float64(p.Size)/1e6, there))
		}
	case remote.StepConnected:
		n.opened.Store(true)
		n.say("connected to " + there)
	case remote.StepLost:
		if n.opened.Load() && !n.closing.Load() { // otherwise an error says it, or the loss is not news
			cause := p.Err
			if lost, ok := errors.AsType[*acpterm.Error](cause); ok {
				cause = cmp.Or(lost.Err, cause)
			}
			n.say(fmt.Sprintf("lost: %v", cause))
		}
	}
}

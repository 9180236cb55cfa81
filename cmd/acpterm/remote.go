package main

// This file connects to the place where commands run with -runner, and reports on the connection.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/remote"
)

const (
	library       = "github.com/acpterm/acpterm" // a module
	helperName    = "acpterm-remote"
	helperPackage = library + "/remote/cmd/" + helperName
)

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

// open connects with a helper from -helpers. Without the flag, it uses a helper built earlier, or else one in the
// remote PATH, or else one that it builds.
func (f *farEnd) open(ctx context.Context, opts *options) error {
	var helpers fs.FS
	version := helperVersion()
	dir, noDirectory := helperDirectory(version)
	if opts.helpers != "" {
		helpers = os.DirFS(opts.helpers)
	} else if version != "" && noDirectory == nil && isBuilt(dir) {
		helpers = os.DirFS(dir)
	}
	err := f.try(ctx, opts.runner, helpers)
	missing, ok := errors.AsType[*remote.NoHelperError](err)
	switch {
	case !ok:
		return err
	case opts.helpers != "":
		return noHelper(missing, "-helpers has none")
	case noDirectory != nil:
		return noHelper(missing, "there is no directory to build it in: "+noDirectory.Error())
	}
	f.news.say(fmt.Sprintf("building %s for %s/%s", helperName, missing.System, missing.Arch))
	switch err := buildHelper(ctx, version, dir, missing); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return noHelper(missing, "it cannot be built here: "+err.Error())
	}
	return f.try(ctx, opts.runner, os.DirFS(dir))
}

// try connects with one of helpers. If nil, it uses a helper on the remote side.
func (f *farEnd) try(ctx context.Context, line []string, helpers fs.FS) error {
	runner, err := remote.NewRunner(remote.Options{
		Transport: remote.Command{Args: line}, Helpers: helpers, Progress: f.news.progress,
	})
	if err != nil {
		return err
	}
	if err := runner.Connect(ctx); err != nil {
		runner.Close()
		return fmt.Errorf("-runner: %w", err)
	}
	f.Runner = runner
	return nil
}

// noHelper returns an error that tells the user how to get a helper. It suggests no command line with a system and
// architecture unknown to Go: these are the remote side's words.
func noHelper(missing *remote.NoHelperError, why string) error {
	text := fmt.Sprintf("where -runner leads, %s/%s, there is no %s, and %s\n"+
		"Install it there, in PATH: go install %s@%s",
		missing.System, missing.Arch, helperName, why, helperPackage, cmp.Or(helperVersion(), "latest"))
	known := slices.Contains([]string{"linux", "darwin", "freebsd"}, missing.System) &&
		slices.Contains([]string{"amd64", "arm64"}, missing.Arch)
	if known {
		text += fmt.Sprintf("\nOr build it here, for -helpers DIR: "+
			"CGO_ENABLED=0 GOOS=%[1]s GOARCH=%[2]s go build -o DIR/%[3]s-%[1]s-%[2]s %[4]s",
			missing.System, missing.Arch, helperName, helperPackage)
	}
	return &acpterm.Error{Kind: acpterm.ErrConnectionLost, Reason: text}
}

// helperVersion returns the version of the helper's module. It returns "" if the module is the directory that this
// program is built in.
func helperVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, module := range info.Deps {
		if module.Path == library && module.Replace == nil && module.Version != "(devel)" {
			return module.Version
		}
	}
	return ""
}

// helperDirectory returns the directory of the locally built helpers of a version.
func helperDirectory(version string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	if version == "" {
		version = "devel" // built each time
	}
	return filepath.Join(cache, "acpterm", "helpers", version), nil
}

// isBuilt reports whether dir contains a helper.
func isBuilt(dir string) bool {
	built, err := filepath.Glob(filepath.Join(dir, helperName+"-*"))
	return err == nil && built != nil
}

// buildHelper builds a helper with the go command. If the helper has a version, it is built in a module of its own.
func buildHelper(ctx context.Context, version, dir string, target *remote.NoHelperError) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(dir, "new")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	module := ""
	if version != "" {
		module = temporary
		for _, args := range [][]string{
			{"mod", "init", "helper"}, {"get", helperPackage + "@" + version},
		} {
			cmd := exec.CommandContext(ctx, "go", args...)
			cmd.Dir, cmd.Env = module, append(os.Environ(), "GOFLAGS=", "GOWORK=off")
			if text, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("building it: %w: %s", err, text)
			}
		}
	}
	if err := remote.Build(ctx, module, temporary, target.System, target.Arch); err != nil {
		return err
	}
	name := helperName + "-" + target.System + "-" + target.Arch
	return os.Rename(filepath.Join(temporary, name), filepath.Join(dir, name)) // whole, or not at all
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

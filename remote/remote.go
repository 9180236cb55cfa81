// Package remote runs the commands of an acpterm.Manager on another machine or in a container, with what acpterm
// promises of commands here. A Runner connects to the far end through a Transport, such as the command line "ssh host",
// which gives it a shell there; the shell starts the helper acpterm-remote, which runs the commands with the code that
// a Manager itself uses. When the connection ends, the helper ends everything that it started.
package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"
)

// Transport opens shells at the far end. Its methods must be safe for concurrent use.
type Transport interface {
	// Open starts a POSIX shell at the far end and returns its standard input and output. The shell may print something
	// before it reads. A Read or Write fails when the connection is lost, with an error that says why, as far as that
	// is known. Close ends the connection, also during a Read or Write, and returns when nothing of it is left here.
	// When ctx ends before Open returns, nothing must be left; after that it does not matter.
	Open(ctx context.Context) (io.ReadWriteCloser, error)
}

// Options are what a Runner is made with.
type Options struct {
	// Transport leads to the far end. It must be set.
	Transport Transport

	// Path is the helper's file at the far end, an absolute path. Empty: the one of Helpers, which is copied there if
	// it is not there yet; without Helpers, "acpterm-remote" as the shell finds it.
	Path string

	// Helpers has the helper for each kind of far end, in files with names such as "acpterm-remote-linux-amd64": a
	// directory (os.DirFS), or files of the program (embed.FS). Build makes them. They are read for each connection.
	// Not with Path.
	Helpers fs.FS

	// Dir is the directory that a helper is copied to, an absolute path; neither its owner nor its mode is checked.
	// The default is acpterm in the user's cache directory ($XDG_CACHE_HOME or ~/.cache), or, where no program can be
	// put there or another user could replace it, the user's own directory in $TMPDIR or /tmp. Other users could
	// replace it if they can write to the directory, or to one above it without the sticky bit. Only with Helpers.
	Dir string

	// ConnectTimeout is how long a connection may take until the helper runs. While the helper is copied, it is how
	// long each piece of it may take. 0: one minute.
	ConnectTimeout time.Duration

	// SilenceTimeout is how long the far end may say nothing until the connection counts as lost. The Runner asks it to
	// say something three times as often. 0: 45 seconds.
	SilenceTimeout time.Duration

	// Progress is called with what a new connection has come to, and when it is lost. It is called from one goroutine
	// at a time, and delays the connection. It must not call the Runner. Nil: nothing is called.
	Progress func(Progress)
}

// Progress is a step of a connection.
type Progress struct {
	Step Step
	// System and Arch are the far end's, as Go names them, once they are known.
	System, Arch string
	// Copied and Size are bytes of the helper, while it is copied.
	Copied, Size int64
	// Err is why the connection was lost, or could not be made.
	Err error
}

// Step is what a connection has come to.
type Step string

// The steps.
const (
	// StepConnecting is before the shell is there.
	StepConnecting Step = "connecting"
	// StepCopying is while the helper is copied.
	StepCopying Step = "copying"
	// StepConnected is once the helper runs.
	StepConnected Step = "connected"
	// StepLost is when the connection is lost, is closed, or could not be made.
	StepLost Step = "lost"
)

const (
	defaultConnectTimeout = time.Minute
	defaultSilenceTimeout = 45 * time.Second
)

// check returns the options with their defaults, or an error that names the one that cannot be used.
func (o Options) check() (Options, error) {
	option := ""
	err := errors.New("is not an absolute path without NUL")
	unusable := func(p string) bool { return p != "" && !path.IsAbs(p) || strings.ContainsRune(p, 0) }
	switch {
	case o.Transport == nil:
		option, err = "Transport", errors.New("is nil")
	case unusable(o.Path):
		option = "Path"
	case unusable(o.Dir):
		option = "Dir"
	case o.Path != "" && o.Helpers != nil:
		option, err = "Helpers", errors.New("does not go with Path")
	case o.Dir != "" && o.Helpers == nil:
		option, err = "Dir", errors.New("needs Helpers")
	case o.ConnectTimeout < 0:
		option, err = "ConnectTimeout", errors.New("is negative")
	case o.SilenceTimeout < 0:
		option, err = "SilenceTimeout", errors.New("is negative")
	}
	if option != "" {
		return o, fmt.Errorf("remote: Options.%s %w", option, err)
	}
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = defaultConnectTimeout
	}
	if o.SilenceTimeout == 0 {
		o.SilenceTimeout = defaultSilenceTimeout
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	return o, nil
}

// Package remote runs the commands of an acpterm.Manager on another machine or in a container, with the same guarantees
// as for local commands:
//
//	runner, err := remote.NewRunner(remote.Options{
//		Transport: remote.Command{Args: []string{"ssh", "host"}},
//		Helpers:   os.DirFS("helpers"), // with acpterm-remote-linux-amd64
//	})
//	defer runner.Close()
//	m, err := acpterm.NewManager(&acpterm.Options{Runner: runner})
//
// A Runner connects through a Transport, such as the command line "ssh host", which provides a remote shell. The shell
// starts the helper acpterm-remote, which runs the commands with the code that a Manager itself uses. When the
// connection ends, the helper ends everything it started.
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

// Transport opens remote shells. Its methods must be safe for concurrent use.
type Transport interface {
	// Open starts a POSIX shell on the remote side and returns its standard input and output. The shell may print text
	// before it reads. When the connection is lost, Read and Write fail, with the reason in the error if it is known.
	// Close ends the connection, even during a Read or Write, and returns when nothing of it is left on the local side.
	// If ctx is done before Open returns, Open must leave nothing behind; after that, ctx has no effect.
	Open(ctx context.Context) (io.ReadWriteCloser, error)
}

// Options configure a Runner.
type Options struct {
	// Transport connects to the remote side. It is required.
	Transport Transport

	// Path is the absolute path of the helper on the remote side. If empty, the helper comes from Helpers and is copied
	// if it is not there yet; without Helpers, it is "acpterm-remote" as found by the shell.
	Path string

	// Helpers contains the helper for each kind of remote system, in files with names such as
	// "acpterm-remote-linux-amd64". It can be a directory (os.DirFS) or be part of the program (embed.FS). Build makes
	// the files. They are read for each connection. Helpers cannot be combined with Path.
	Helpers fs.FS

	// Dir is the absolute path of the directory where the helper is copied to; neither its owner nor its mode is
	// checked. The default is acpterm in the user's cache directory ($XDG_CACHE_HOME or ~/.cache). If no program can be
	// put there, or another user could replace it, the default is the user's own directory in $TMPDIR or /tmp. Other
	// users could replace it if they can write to the directory, or to a parent without the sticky bit. Dir requires
	// Helpers.
	Dir string

	// ConnectTimeout limits the time until the helper of a new connection runs. While the helper is copied, it limits
	// the time for each piece. The default is one minute.
	ConnectTimeout time.Duration

	// SilenceTimeout limits the silence of the remote side: if nothing arrives for that long, the connection counts as
	// lost. The Runner pings three times as often. The default is 45 seconds.
	SilenceTimeout time.Duration

	// Progress is called at each step of a new connection, and when it is lost. Calls do not overlap, and delay the
	// connection. Progress must not call the Runner. It may be nil.
	Progress func(Progress)
}

// Progress reports a step of a connection.
type Progress struct {
	Step Step
	// System and Arch are those of the remote side, as Go names them, once they are known.
	System, Arch string
	// Copied and Size are in bytes, and are set while the helper is copied.
	Copied, Size int64
	// Err is the reason why the connection was lost or could not be made.
	Err error
}

// Step is the state of a connection.
type Step string

// The steps.
const (
	// StepConnecting means that the shell has not started yet.
	StepConnecting Step = "connecting"
	// StepCopying means that the helper is being copied.
	StepCopying Step = "copying"
	// StepConnected means that the helper runs.
	StepConnected Step = "connected"
	// StepLost means that the connection was lost or closed, or could not be made.
	StepLost Step = "lost"
)

const (
	defaultConnectTimeout = time.Minute
	defaultSilenceTimeout = 45 * time.Second
)

// check returns the options with their defaults, or an error that names the unusable option.
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

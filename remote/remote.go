// Package remote runs an acpterm.Manager's commands on another machine or in a container, with the same guarantees as
// for local commands:
//
//	runner, err := remote.NewRunner(remote.Options{
//		Transport: remote.Command{Args: []string{"ssh", "host"}},
//		Helpers:   os.DirFS("helpers"), // with acpterm-remote-linux-amd64
//	})
//	defer runner.Close()
//	m, err := acpterm.NewManager(&acpterm.Options{Runner: runner})
//
// A Runner connects through a Transport, such as the command line "ssh host", which provides a remote shell. The shell
// starts the helper acpterm-remote, which runs commands with the same code as a local Manager. When the connection
// ends, the helper ends everything it started.
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

// A Transport opens remote shells. It must be safe for concurrent use by multiple goroutines.
type Transport interface {
	// Open starts a POSIX shell on the remote side and returns its standard input and output. The shell may print text
	// before it starts reading. When the connection is lost, Read and Write must fail, with an error giving the reason
	// if it is known. Close ends the connection, unblocks any Read or Write, and returns once nothing of it is left on
	// the local side. If ctx is done before Open returns, Open must leave nothing behind. After that, ctx has no
	// effect.
	Open(ctx context.Context) (io.ReadWriteCloser, error)
}

// Options configure a Runner.
type Options struct {
	// Transport is used to connect to the remote side. It is required.
	Transport Transport

	// Path is the absolute path of the helper on the remote side. If empty, the helper is taken from Helpers and copied
	// there unless it already exists. If Helpers is nil too, the shell looks up "acpterm-remote" itself.
	Path string

	// Helpers holds the helper for each kind of remote system, in files named like "acpterm-remote-linux-amd64". It can
	// be a directory (os.DirFS) or part of the program (embed.FS). Build can be used to make the files, which are read
	// for each connection. Helpers cannot be combined with Path.
	Helpers fs.FS

	// Dir is the absolute path of the directory that the helper is copied to. Its owner and mode are not checked. The
	// default is acpterm in the user's cache directory ($XDG_CACHE_HOME or ~/.cache). If programs cannot be put there,
	// or other users could replace them, the user's own directory in $TMPDIR or /tmp is used instead. This is the case
	// if they can write to the directory, or to a parent without the sticky bit. Dir requires Helpers.
	Dir string

	// ConnectTimeout is the maximum time to wait for the helper of a new connection to run. While the helper is being
	// copied, the timeout applies to each piece. The default is one minute.
	ConnectTimeout time.Duration

	// SilenceTimeout is the maximum time without data from the remote side before the connection is considered lost.
	// The Runner sends a ping three times in this period. The default is 45 seconds.
	SilenceTimeout time.Duration

	// Progress, if non-nil, is called at each step of a new connection, and when the connection is lost. It is never
	// called concurrently, delays the connection until it returns, and must not call the Runner.
	Progress func(Progress)
}

// Progress describes a step of a connection.
type Progress struct {
	Step Step
	// System and Arch are the GOOS and GOARCH of the remote side, once they are known.
	System, Arch string
	// Copied and Size count bytes, and are set while the helper is being copied.
	Copied, Size int64
	// Err is the reason why the connection was lost or could not be established.
	Err error
}

// Step represents a connection's state.
type Step string

// Step constants.
const (
	// StepConnecting means that the shell is being started.
	StepConnecting Step = "connecting"
	// StepCopying means that the helper is being copied.
	StepCopying Step = "copying"
	// StepConnected means that the helper is running.
	StepConnected Step = "connected"
	// StepLost means that the connection was lost or closed, or could not be established.
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

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
// A Runner obtains a remote shell from a Transport, such as the command line "ssh host". The shell starts the helper
// program acpterm-remote, which runs commands using the same code as a local Manager. When the connection is closed or
// lost, the helper terminates everything that it has started.
package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/acpterm/acpterm/bubblewrap"
)

// A Transport opens remote shells. Implementations must be safe for concurrent use by multiple goroutines.
type Transport interface {
	// Open starts a POSIX shell on the remote side and returns a connection to its standard input and output. Note that
	// the shell may print text before it starts reading. Once the connection is lost, Read and Write must return an
	// error, which must include the reason if it is known. Close must unblock any pending calls to Read and Write, and
	// must not return until all local resources have been released.
	//
	// If ctx is done before Open returns, Open must not leave anything behind. Once Open has returned, ctx no longer
	// has any effect.
	Open(ctx context.Context) (io.ReadWriteCloser, error)
}

// Options configure a Runner.
type Options struct {
	// Transport connects to the remote side. It is required.
	Transport Transport

	// Path is the absolute path of the helper on the remote side. If Path is empty, the helper is copied from Helpers
	// to the remote side, unless it is already there. If Helpers is also nil, the shell looks for "acpterm-remote" in
	// its PATH.
	Path string

	// Helpers holds a helper for each of the supported remote systems, in files with names of the form
	// "acpterm-remote-linux-amd64". The files can be created using Build and provided as an os.DirFS or an embed.FS,
	// for example. They are read each time a connection is opened. If Path is set, Helpers must be nil.
	Helpers fs.FS

	// Dir is the absolute path of the directory that the helper is copied to. The owner and mode of this directory are
	// not checked. By default, the helper is copied to acpterm in the user's cache directory ($XDG_CACHE_HOME or
	// ~/.cache). If programs cannot be put there, for example because the file system is full, or if other users could
	// replace them because they can write to the directory, or to a parent that does not have the sticky bit set, the
	// user's own directory in $TMPDIR or /tmp is used instead. If Dir is set, Helpers must be set as well. Each copy
	// removes the helpers in the directory that no connection has used for 30 days.
	Dir string

	// ConnectTimeout is the maximum amount of time to wait for the helper to start on a new connection. If the helper
	// has to be copied first, the timeout applies to each copied chunk. If the shell has not answered by then, and the
	// connection has a method CloseWrite() error, it is called, and a shell that reads all its input before it runs
	// anything, such as fish, has two more seconds to answer, so that the error can name it. The default is one minute.
	ConnectTimeout time.Duration

	// SilenceTimeout is how long to wait for data from the remote side before the connection is considered lost. During
	// this time, the remote side is pinged three times. The default is 45 seconds.
	SilenceTimeout time.Duration

	// Sandbox, if non-nil, confines all commands on the remote side, as package bubblewrap does on this system. Its
	// paths are those of the remote system, where the program bwrap must be installed. If the sandbox cannot be made,
	// create requests fail, and nothing is run.
	Sandbox *bubblewrap.Options

	// Progress, if non-nil, is called at each step of opening a connection and when a connection is lost. Progress is
	// never called concurrently. It should return quickly, since the connection does not proceed until it does, and it
	// must not call any of the Runner's methods.
	Progress func(Progress)
}

// Progress describes the state of a connection.
type Progress struct {
	Step Step
	// System and Arch are the GOOS and GOARCH values of the remote side. Each is empty if it is not yet known.
	System, Arch string
	// While the helper is being copied, Copied is the number of bytes copied so far, and Size is the total. If the
	// first directory has no room, the helper is copied again, from the start.
	Copied, Size int64
	// Err explains why the connection was lost or could not be established.
	Err error
}

// Step is the state of a connection.
type Step string

// Step constants.
const (
	// StepConnecting indicates that the shell is being started.
	StepConnecting Step = "connecting"
	// StepCopying indicates that the helper is being copied.
	StepCopying Step = "copying"
	// StepConnected indicates that the helper is running.
	StepConnected Step = "connected"
	// StepLost indicates that the connection was lost or closed, or could not be established.
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
	if o.Sandbox != nil {
		s := *o.Sandbox
		s.Writable, s.ReadOnly, s.Hidden = slices.Clone(s.Writable), slices.Clone(s.ReadOnly), slices.Clone(s.Hidden)
		o.Sandbox = &s
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	return o, nil
}

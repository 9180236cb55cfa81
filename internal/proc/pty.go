package proc

// This file has the part of a PTY shared by all systems. The rest is in pty_unix.go, pty_linux.go, pty_darwin.go,
// pty_freebsd.go, pty_windows.go and pty_other.go.

import "errors"

// Size is the size of a terminal, in characters.
type Size struct{ Columns, Rows uint16 }

// ErrNoPTY is returned by Resize and Write if the command has no PTY. It is errors.ErrUnsupported.
var ErrNoPTY = noPTY{}

type noPTY struct{}

func (noPTY) Error() string        { return "the command has no PTY" }
func (noPTY) Is(target error) bool { return target == errors.ErrUnsupported }

// Console is the PTY of a command: that of a Tree, or NoConsole.
type Console interface {
	Write(p []byte) (int, error)
	Resize(size Size) error
}

// NoConsole is the Console of a command that cannot have a PTY.
type NoConsole struct{}

// Write returns ErrNoPTY.
func (NoConsole) Write([]byte) (int, error) { return 0, ErrNoPTY }

// Resize returns ErrNoPTY.
func (NoConsole) Resize(Size) error { return ErrNoPTY }

// Resize changes the size of the command's PTY. The system notifies the foreground programs (SIGWINCH). Resize fails
// with ErrNoPTY if the command has no PTY, and with os.ErrClosed after Close (on Windows, after the command's exit).
func (c *common) Resize(size Size) error {
	if c.pty == nil {
		return ErrNoPTY
	}
	return c.pty.resize(size)
}

// Write sends keyboard input to the command's PTY. It blocks while the programs do not read and the system's buffer is
// full, at most until the command exits. It returns ErrNoPTY without a PTY, and os.ErrClosed after the exit.
func (c *common) Write(p []byte) (int, error) {
	if c.pty == nil {
		return 0, ErrNoPTY
	}
	return c.pty.write(p)
}

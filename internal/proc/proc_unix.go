//go:build linux || darwin || freebsd

package proc

// This file has the code shared by Linux, macOS and FreeBSD.

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// exitSeen reports whether the leader has exited and its exit status is known.
func (s *ExitStatus) exitSeen() bool { return s.HasExited() && s.exitErr == nil }

// send sends a signal through by, and then SIGCONT, so that stopped processes also receive the signal.
func send(sig syscall.Signal, by func(syscall.Signal) error) error {
	err := by(sig)
	if err == nil && sig != syscall.SIGKILL {
		by(syscall.SIGCONT)
	}
	return err
}

// ownSession returns a copy of the caller's attributes that puts the command into its own session and group.
func ownSession(asked *syscall.SysProcAttr) (*syscall.SysProcAttr, error) {
	var sys syscall.SysProcAttr
	if asked != nil {
		sys = *asked
	}
	if sys.Setpgid && sys.Pgid != 0 || sys.Foreground {
		return nil, ErrForeignGroup
	}
	sys.Setsid, sys.Setpgid = true, false // setpgid fails for the leader of a session
	return &sys, nil
}

func exitOf(status syscall.WaitStatus) Exit {
	if status.Signaled() {
		return Exit{Signal: SignalName(status.Signal())}
	}
	return Exit{Code: uint32(status.ExitStatus())}
}

// caught holds the signals that this process ignores. While commands start, it catches and drops them instead: a child
// keeps ignoring the signals that its parent ignores, and resets those that the parent catches. A signal has only one
// disposition per process, so a process has only one caught. The zero value is ready to use.
type caught struct {
	mu      sync.Mutex
	starts  int         // number of starts in progress
	signals []os.Signal // to ignore again after the last start
}

var whileStarting caught

// withDefaultSignals calls start. The started process has the default action for every signal, even for signals that
// this process ignores, by its own choice or its parent's (nohup).
func withDefaultSignals(start func() error) error {
	whileStarting.begin()
	defer whileStarting.end()
	return start()
}

func (c *caught) begin() {
	const last = 64 // the highest on any system
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starts++
	for sig := syscall.Signal(1); sig <= last; sig++ {
		if sig != syscall.SIGCHLD && signal.Ignored(sig) { // a host that ignores SIGCHLD relies on it at all times
			signal.Notify(make(chan os.Signal, 1), sig)
			c.signals = append(c.signals, sig)
		}
	}
}

// end ignores the signals again. It uses signal.Ignore: signal.Stop would restore the default action of some.
func (c *caught) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.starts--; c.starts == 0 && len(c.signals) > 0 { // without arguments, signal.Ignore ignores every signal
		signal.Ignore(c.signals...)
		c.signals = nil
	}
}

//go:build linux || darwin || freebsd

package proc

// What Linux, macOS and FreeBSD have in common.

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// exitSeen reports whether the leader has exited, and it is known how.
func (s *ExitStatus) exitSeen() bool { return s.hasExited() && s.exitErr == nil }

// send sends a signal to a group or by a number, and then SIGCONT, so that stopped processes receive the signal too.
func send(sig syscall.Signal, by func(syscall.Signal) error) error {
	err := by(sig)
	if err == nil && sig != syscall.SIGKILL {
		by(syscall.SIGCONT)
	}
	return err
}

// ownSession is a copy of a caller's attributes, with a session of the command's own. That has a group of its own too.
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

// exitOf is an exit by its wait status.
func exitOf(status syscall.WaitStatus) Exit {
	if status.Signaled() {
		return Exit{Signal: SignalName(status.Signal())}
	}
	return Exit{Code: uint32(status.ExitStatus())}
}

// caught are the signals that this process ignores. It catches and drops them while commands start: a child ignores the
// signals that its parent ignores, and resets those that the parent catches. A process has one disposition of a signal,
// and so one of these. The zero value is ready.
type caught struct {
	mu      sync.Mutex
	starts  int         // that have begun
	signals []os.Signal // to ignore again after the last of them
}

var whileStarting caught

// withDefaultSignals calls start. The process that it starts takes every signal by default, also those that this
// process ignores, by its own choice or its parent's (nohup).
func withDefaultSignals(start func() error) error {
	whileStarting.begin()
	defer whileStarting.end()
	return start()
}

func (c *caught) begin() {
	const last = 64 // of any system
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

// end ignores the signals again. signal.Ignore forgets the channels; signal.Stop would restore the default of some.
func (c *caught) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.starts--; c.starts == 0 && len(c.signals) > 0 { // without arguments, signal.Ignore ignores all
		signal.Ignore(c.signals...)
		c.signals = nil
	}
}

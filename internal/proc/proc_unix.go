//go:build linux || darwin || freebsd

package proc

// What Linux, macOS and FreeBSD have in common.

import "syscall"

// exitSeen reports whether the leader has exited, and it is known how.
func (s *ExitStatus) exitSeen() bool { return s.hasExited() && s.exitErr == nil }

// send sends a signal to a group or by a number, and then SIGCONT, as procfs.Handle.Signal does.
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

//go:build linux || darwin || freebsd

package proc

// This file implements a PTY on Unix, as a pair of descriptors. The slave is the command's standard input, output and
// error, and its controlling terminal. The command's output is read from the master, and keyboard input written to it.

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pty is the part of a PTY that a Tree keeps. Its methods are safe for concurrent use.
type pty struct {
	// control is the master, in addition to Tree.Output. It stays open until the Tree is closed. Until then, the system
	// does not give the terminal's number to another terminal, so Tree.output keeps meaning this one.
	control *os.File
	// slave stays open until the leader's exit. Without it, reads of the master would fail as if the output had ended,
	// even while the command has only closed the slave and can open it again as /dev/tty.
	slave *os.File
}

// openPTY opens a PTY. output is a file for reading from the master, with deadlines.
func openPTY(size Size) (p *pty, output *os.File, err error) {
	master, err := openMaster()
	if err != nil {
		return nil, nil, err
	}
	p = &pty{control: pollable(master, "terminal")}
	if output, err = p.open(master, size); err != nil {
		p.close()
		return nil, nil, err
	}
	return p, output, nil
}

func openTerminal(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}

// open opens the slave and the output, and sets the size.
func (p *pty) open(master int, size Size) (output *os.File, err error) {
	slave, err := openSlave(master)
	if err != nil {
		return nil, err
	}
	p.slave = os.NewFile(uintptr(slave), "terminal")
	window := &unix.Winsize{Col: size.Columns, Row: size.Rows}
	if err := unix.IoctlSetWinsize(slave, unix.TIOCSWINSZ, window); err != nil {
		return nil, os.NewSyscallError("ioctl TIOCSWINSZ", err)
	}
	if settings, err := unix.IoctlGetTermios(slave, getTermios); err == nil && utf8Input != 0 {
		settings.Iflag |= utf8Input // otherwise a backspace erases only one byte of a character
		unix.IoctlSetTermios(slave, setTermios, settings)
	}
	reading, err := unix.FcntlInt(uintptr(master), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl F_DUPFD_CLOEXEC", err)
	}
	return pollable(reading, "output"), nil
}

// pollable returns a file in Go's poller for a descriptor whose file has no other status flags. Such a file supports
// deadlines.
func pollable(fd int, name string) *os.File {
	unix.FcntlInt(uintptr(fd), unix.F_SETFL, unix.O_NONBLOCK) // SetNonblock would ask for the flags first
	return os.NewFile(uintptr(fd), name)
}

// hangUp is called when the leader has exited. The master then ends once no process has the slave open.
func (p *pty) hangUp() {
	if p != nil {
		p.slave.Close()
		p.control.SetWriteDeadline(time.Unix(1, 0))
	}
}

func (p *pty) close() {
	if p != nil {
		p.slave.Close()
		p.control.Close()
	}
}

func (p *pty) write(b []byte) (int, error) {
	n, err := p.control.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) { // set by hangUp
		err = os.ErrClosed
	}
	return n, err
}

func (p *pty) resize(size Size) error {
	raw, err := p.control.SyscallConn()
	if err != nil {
		return err
	}
	window := &unix.Winsize{Col: size.Columns, Row: size.Rows}
	controlErr := raw.Control(func(fd uintptr) { err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, window) })
	if controlErr != nil { // not os.ErrClosed itself
		return os.ErrClosed
	}
	return os.NewSyscallError("ioctl TIOCSWINSZ", err)
}

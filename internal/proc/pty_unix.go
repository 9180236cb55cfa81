//go:build linux || darwin || freebsd

package proc

// A PTY on Unix: a pair of descriptors. The command has the slave as its standard input, output and error and as its
// controlling terminal; what it writes comes out of the master, and what is written to the master is what a person
// types.

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pty is the part of a PTY that a Tree keeps. Its methods may be called concurrently.
type pty struct {
	// control is the master, besides Tree.Output, open until the Tree is closed: the system gives the terminal's number
	// to no other one until then, so that Tree.output means this one.
	control *os.File
	// slave is open until the leader's exit. Without it, a read of the master would fail as at the end while the
	// command has closed the slave and can open it again, as /dev/tty.
	slave *os.File
}

// openPTY opens a PTY. output is the master for reading, with deadlines.
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

// open opens the rest of a PTY.
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
		settings.Iflag |= utf8Input // else a backspace takes one byte of a character
		unix.IoctlSetTermios(slave, setTermios, settings)
	}
	reading, err := unix.FcntlInt(uintptr(master), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl F_DUPFD_CLOEXEC", err)
	}
	return pollable(reading, "output"), nil
}

// pollable is a descriptor as a file in Go's poller, which supports deadlines.
func pollable(fd int, name string) *os.File {
	unix.SetNonblock(fd, true)
	return os.NewFile(uintptr(fd), name)
}

// hangUp is called when the leader has exited. Reads of the master reach the end when no process has the slave open any
// more.
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
	if errors.Is(err, os.ErrDeadlineExceeded) { // of hangUp
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
	if controlErr != nil { // which is not os.ErrClosed
		return os.ErrClosed
	}
	return os.NewSyscallError("ioctl TIOCSWINSZ", err)
}

package wire

// A connection of two halves, and writes that do not block.

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// Join returns a connection that reads from stdout and writes to stdin. A nil half has ended. Close closes both.
func Join(stdout io.ReadCloser, stdin io.WriteCloser) io.ReadWriteCloser {
	if stdout == nil {
		stdout = endedConn{}
	}
	if stdin == nil {
		stdin = endedConn{}
	}
	return &stdio{stdout, stdin}
}

// endedConn is a connection that has ended, or one half of it.
type endedConn struct{}

func (endedConn) Read([]byte) (int, error)  { return 0, io.EOF }
func (endedConn) Write([]byte) (int, error) { return 0, os.ErrClosed }
func (endedConn) Close() error              { return nil }

type stdio struct {
	io.ReadCloser
	stdin io.WriteCloser
}

func (s *stdio) Write(p []byte) (int, error) { return s.stdin.Write(p) }

func (s *stdio) Close() error { return errors.Join(s.stdin.Close(), s.ReadCloser.Close()) }

// tryWriter writes as many bytes as it can without blocking, and returns how many these are.
type tryWriter interface{ tryWrite(p []byte) int }

// newTryWriter returns the tryWriter of a connection, nil if it has none. Only known types have one: the SyscallConn of
// another type may be that of what it reads from.
func newTryWriter(conn io.ReadWriteCloser) tryWriter {
	var writer any = conn
	if joined, ok := conn.(*stdio); ok {
		writer = joined.stdin
	}
	switch writer.(type) {
	case *os.File, *net.TCPConn, *net.UnixConn:
		if raw, err := writer.(syscall.Conn).SyscallConn(); err == nil {
			return newRawWriter(raw)
		}
	}
	return nil
}

package wire

// An agent's standard input and output as the one connection that they are.

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// Join makes one connection of what is read from and what is written to. A nil half is one that is at its end.
func Join(stdout io.ReadCloser, stdin io.WriteCloser) io.ReadWriteCloser {
	if stdout == nil {
		stdout = endedConn{}
	}
	if stdin == nil {
		stdin = endedConn{}
	}
	return &stdio{stdout, stdin}
}

// endedConn is a connection that has ended.
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

// tryWriter writes what it can without waiting, and says how many bytes that were.
type tryWriter interface{ tryWrite(p []byte) int }

// newTryWriter returns the tryWriter of a connection, nil if it has none. It goes by the types that are known: another
// one may well have a SyscallConn, but perhaps only of what it reads from.
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

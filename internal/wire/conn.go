package wire

// A connection made of two halves.

import (
	"errors"
	"io"
	"os"
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

// endedConn is a connection, or one half of one, that has ended.
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

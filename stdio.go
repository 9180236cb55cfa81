package acpterm

// An agent's standard input and output as the one connection that they are.

import (
	"errors"
	"io"
	"os"
)

// JoinStdio makes one connection of an agent's standard output, which is read from, and its standard input, which is
// written to: what exec.Cmd's StdoutPipe and StdinPipe return. On Linux, macOS and the BSDs a Stream over such pipes
// answers short requests without a goroutine for each.
//
// Closing it closes both, and what waits in a Read or Write of a pipe returns. It may be used as its two halves may.
// A nil half is one that is at its end.
func JoinStdio(stdout io.ReadCloser, stdin io.WriteCloser) io.ReadWriteCloser {
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

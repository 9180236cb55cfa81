package agentproc

import (
	"errors"
	"io"
	"os"
)

// JoinStdio returns a connection that reads from stdout and writes to stdin, which are typically the pipes returned by
// the StdoutPipe and StdinPipe methods of exec.Cmd.
//
// Closing the connection closes both pipes and unblocks any pending calls to Read and Write. The connection is safe for
// concurrent use if both pipes are. A nil pipe is treated as if the agent had already closed it.
func JoinStdio(stdout io.ReadCloser, stdin io.WriteCloser) io.ReadWriteCloser {
	if stdout == nil {
		stdout = closedPipe{}
	}
	if stdin == nil {
		stdin = closedPipe{}
	}
	return &stdio{stdout, stdin}
}

type stdio struct {
	io.ReadCloser
	stdin io.WriteCloser
}

func (s *stdio) Write(p []byte) (int, error) { return s.stdin.Write(p) }

func (s *stdio) Close() error { return errors.Join(s.stdin.Close(), s.ReadCloser.Close()) }

// closedPipe is a pipe that the agent has closed.
type closedPipe struct{}

func (closedPipe) Read([]byte) (int, error)  { return 0, io.EOF }
func (closedPipe) Write([]byte) (int, error) { return 0, os.ErrClosed }
func (closedPipe) Close() error              { return nil }

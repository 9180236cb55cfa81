package agentproc

import (
	"io"

	"github.com/acpterm/acpterm/internal/wire"
)

// JoinStdio returns a connection that reads from stdout and writes to stdin, which are usually the pipes returned by
// exec.Cmd's StdoutPipe and StdinPipe.
//
// Closing the connection closes both pipes and unblocks pending Reads and Writes. The connection is safe for concurrent
// use if both pipes are. A nil pipe behaves like one already closed by the agent.
func JoinStdio(stdout io.ReadCloser, stdin io.WriteCloser) io.ReadWriteCloser {
	return wire.Join(stdout, stdin)
}

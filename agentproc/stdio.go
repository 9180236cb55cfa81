package agentproc

import (
	"io"

	"github.com/acpterm/acpterm/internal/wire"
)

// JoinStdio returns a connection that reads from stdout and writes to stdin, which are typically the pipes returned by
// the StdoutPipe and StdinPipe methods of exec.Cmd.
//
// Closing the connection closes both pipes and unblocks pending calls to Read and Write. It is safe for concurrent use
// if both pipes are. A nil pipe is treated like one closed by the agent.
func JoinStdio(stdout io.ReadCloser, stdin io.WriteCloser) io.ReadWriteCloser {
	return wire.Join(stdout, stdin)
}

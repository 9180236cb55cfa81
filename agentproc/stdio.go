package agentproc

import (
	"io"

	"github.com/acpterm/acpterm/internal/wire"
)

// JoinStdio returns a connection for reading from stdout and writing to stdin. Typically, these are the pipes returned
// by the StdoutPipe and StdinPipe methods of exec.Cmd.
//
// Closing the connection closes both pipes and unblocks any pending Reads and Writes. It is safe for concurrent use if
// both pipes are. A nil pipe is treated as if it had been closed by the agent.
func JoinStdio(stdout io.ReadCloser, stdin io.WriteCloser) io.ReadWriteCloser {
	return wire.Join(stdout, stdin)
}

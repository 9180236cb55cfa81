package agentproc

import (
	"io"

	"github.com/acpterm/acpterm/internal/wire"
)

// JoinStdio makes one connection of an agent's standard output and standard input. It reads from stdout and writes to
// stdin, the pipes returned by exec.Cmd's StdoutPipe and StdinPipe.
//
// Closing the connection closes both pipes and ends blocked Reads and Writes. Its methods are safe for concurrent use
// if those of the two pipes may. A nil pipe is at its end.
func JoinStdio(stdout io.ReadCloser, stdin io.WriteCloser) io.ReadWriteCloser {
	return wire.Join(stdout, stdin)
}

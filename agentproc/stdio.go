package agentproc

import (
	"io"

	"github.com/acpterm/acpterm/internal/wire"
)

// JoinStdio makes one connection of an agent's standard output, from which it reads, and its standard input, to which
// it writes: the pipes that exec.Cmd's StdoutPipe and StdinPipe return.
//
// Closing the connection closes both, and ends Reads and Writes that wait for a pipe. Its methods may be called
// concurrently as those of the two halves may. A nil half is at its end.
func JoinStdio(stdout io.ReadCloser, stdin io.WriteCloser) io.ReadWriteCloser {
	return wire.Join(stdout, stdin)
}

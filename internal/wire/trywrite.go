package wire

// Writing only as much as can be written without waiting, where a connection can do that.

import (
	"io"
	"net"
	"os"
	"syscall"
)

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

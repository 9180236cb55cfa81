//go:build !unix

package wire

import "syscall"

// newRawWriter returns nil: Windows writes to a pipe by overlapped operations, which a RawConn does not have.
func newRawWriter(syscall.RawConn) tryWriter { return nil }

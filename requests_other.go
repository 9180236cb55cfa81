//go:build !linux

package acpterm

import "io"

// requests is Linux's; elsewhere a connection is read by one goroutine.
type requests struct{}

func newRequests(io.ReadWriteCloser, *loop, func(read func([]byte) (int, error)) bool) *requests {
	return nil
}

func (*requests) await() {}
func (*requests) end()   {}

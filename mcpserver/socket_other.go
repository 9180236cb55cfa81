//go:build !linux && !darwin && !freebsd && !windows

package mcpserver

import (
	"errors"
	"net"
)

func newSocket() (*socket, error) { return nil, errors.ErrUnsupported }

func checkPeer(net.Conn) error { return errors.ErrUnsupported }

//go:build linux || darwin || freebsd

package mcpserver

import (
	"errors"
	"net"
	"os"
	"path/filepath"

	"github.com/acpterm/acpterm/mcpserver/internal/relay"
)

// newSocket listens on a Unix socket in a directory that other users cannot enter.
func newSocket() (*socket, error) {
	temp, err := filepath.Abs(os.TempDir()) // the relay may run in another directory
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(temp, "acpterm-mcp-") // mode 0700
	if err != nil {
		return nil, err
	}
	if len(dir) > maxDir {
		os.Remove(dir)
		if dir, err = os.MkdirTemp("/tmp", "acpterm-mcp-"); err != nil {
			return nil, err
		}
	}
	s := &socket{dir: dir, path: filepath.Join(dir, "s")}
	if s.Listener, err = net.Listen("unix", s.path); err == nil {
		err = os.Chmod(s.path, 0o600)
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

// maxDir is the maximum length of the directory. macOS limits the path of a socket to 103 bytes.
const maxDir = 103 - len("/s")

// checkPeer returns an error unless a connection's peer is a process of this user.
func checkPeer(conn net.Conn) error {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return errors.New("not a Unix socket")
	}
	return relay.CheckPeer(c)
}

//go:build linux || darwin || freebsd

package relay

import (
	"errors"
	"net"
	"os"
)

// dial connects to a Unix socket of a process of the same user. After the end of the process that created it, another
// user may have created a socket with the same name.
func dial(path string) (halfConn, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := CheckPeer(conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// CheckPeer returns an error unless the process on the other side of a Unix socket is of the same user.
func CheckPeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var uid uint32
	var optErr error
	if err := raw.Control(func(fd uintptr) { uid, optErr = peerUID(int(fd)) }); err != nil {
		return err
	}
	if optErr != nil {
		return optErr
	}
	if int(uid) != os.Geteuid() {
		return errors.New("the socket is used by another user")
	}
	return nil
}

package mcpserver

import (
	"crypto/rand"
	"fmt"
	"net"
	"os/user"

	"github.com/Microsoft/go-winio"
)

// newSocket listens on a named pipe that only this user may open, and not from other machines. It is in message mode,
// because halves of other pipes cannot be closed.
func newSocket() (*socket, error) {
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	path := `\\.\pipe\acpterm-mcp-` + rand.Text()
	only := fmt.Sprintf("D:P(A;;GA;;;%s)", me.Uid) // a SID
	l, err := winio.ListenPipe(path, &winio.PipeConfig{SecurityDescriptor: only, MessageMode: true})
	if err != nil {
		return nil, err
	}
	return &socket{Listener: l, path: path}, nil
}

// checkPeer returns nil, because the pipe's security descriptor keeps out other users.
func checkPeer(net.Conn) error { return nil }

package mcpserver

// Relays: programs that an agent starts as an MCP server over stdio, and that connect the agent to this process.

import (
	"errors"
	"net"
	"time"

	"github.com/acpterm/acpterm/mcpserver/internal/relay"
)

// RunRelay turns the process into a relay if an agent started it as one, and then does not return. Otherwise, it
// returns immediately. A host whose executable is ListenOptions.Relay calls it first in main:
//
//	func main() {
//		mcpserver.RunRelay()
//		...
func RunRelay() { relay.Main() }

// acceptRelays serves relays until the socket is closed.
func (l *Listener) acceptRelays(s *socket) {
	c := newConnections()
	defer c.closeUnadmitted()
	for delay := time.Duration(0); ; {
		conn, err := s.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as too many open files
			delay = min(max(2*delay, 5*time.Millisecond), time.Second)
			time.Sleep(delay)
			continue
		}
		delay = 0
		c.add(conn)
		l.busy.Go(func() {
			defer c.remove(conn)
			defer conn.Close()
			if e := l.admitRelay(conn); e != nil && c.admit(conn, e) {
				e.serveRelay(conn)
			}
		})
	}
}

// admitRelay reads a relay's token and returns its entry, or nil.
func (l *Listener) admitRelay(conn net.Conn) *Entry {
	if checkPeer(conn) != nil {
		return nil
	}
	conn.SetReadDeadline(time.Now().Add(l.options.headerTimeout))
	token, err := relay.ReadToken(conn)
	conn.SetReadDeadline(time.Time{})
	if err != nil {
		return nil
	}
	return l.find(token)
}

// serveRelay serves one MCP session, until either side ends it.
func (e *Entry) serveRelay(conn net.Conn) {
	k, err := e.open()
	if err != nil {
		return
	}
	k.run(newRelayConnection(conn, int(e.listener.options.MaxBody), e.server.options.Logger))
}

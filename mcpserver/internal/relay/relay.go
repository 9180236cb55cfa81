// Package relay connects an agent, which started it as an MCP server over stdio, to the process that serves MCP.
package relay

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
)

const (
	// Argument is the only argument of a relay. Without it, a program does not become one.
	Argument = "acpterm-mcp-relay"
	// SocketVariable is the environment variable with the path of the socket.
	SocketVariable = "ACPTERM_MCP_SOCKET"
	// TokenVariable is the environment variable with the token. Other users can see arguments, but not the environment.
	TokenVariable = "ACPTERM_MCP_TOKEN"

	maxToken = 256 // bytes; more than rand.Text will ever return
)

// Main is the main function of a relay. It returns immediately if the process is not one.
func Main() {
	if !slices.Equal(os.Args[1:], []string{Argument}) {
		return
	}
	if err := run(os.Getenv(SocketVariable), os.Getenv(TokenVariable), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, Argument+":", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run sends the token and a newline, and then copies in both directions, until the client closes the socket or the
// agent closes out. It closes only its half of the connection at the end of in, so that the last responses still
// arrive. The client waits for them a second.
func run(path, token string, in io.Reader, out io.Writer) error {
	if path == "" || token == "" {
		return fmt.Errorf("the variables %s and %s must be set: an ACP client passes them in mcpServers",
			SocketVariable, TokenVariable)
	}
	conn, err := dial(path)
	if err != nil {
		return fmt.Errorf("connect to the client: %w", err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, token+"\n"); err != nil {
		return fmt.Errorf("send the token: %w", err)
	}
	ended := make(chan struct{}) // closed at the end of in
	go func() {
		_, err := io.Copy(conn, in)
		conn.CloseWrite()
		if err == nil {
			close(ended)
		}
	}()
	n, err := io.Copy(out, conn)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) { // the client may have closed it without reading everything
		return fmt.Errorf("copy: %w", err)
	}
	select {
	case <-ended:
		return nil
	default:
	}
	if n == 0 {
		return errors.New("the client refused the connection: its session may have been closed, or has too many connections")
	}
	return nil
}

// halfConn is a connection whose halves can be closed separately.
type halfConn interface {
	net.Conn
	CloseWrite() error
}

// ReadToken reads the token that a relay sends first, and nothing after it.
func ReadToken(r io.Reader) (string, error) {
	var token []byte
	for next := make([]byte, 1); len(token) <= maxToken; {
		if _, err := io.ReadFull(r, next); err != nil {
			return "", err
		}
		if next[0] == '\n' {
			return string(token), nil
		}
		token = append(token, next[0])
	}
	return "", errors.New("the token is too long")
}

package relay

import (
	"errors"
	"time"

	"github.com/Microsoft/go-winio"
)

// dial connects to a named pipe.
func dial(path string) (halfConn, error) {
	timeout := 5 * time.Second
	conn, err := winio.DialPipe(path, &timeout)
	if err != nil {
		return nil, err
	}
	pipe, ok := conn.(halfConn) // a pipe in message mode, as the listener's are
	if !ok {
		conn.Close()
		return nil, errors.New("the pipe is not in message mode")
	}
	return pipe, nil
}

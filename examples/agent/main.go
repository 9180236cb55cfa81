// Agent is a small ACP agent on standard input and output. It has no model: the text of a prompt is the command
// that it runs, in a terminal of its client's. It shows the agent's side of terminal/*, in the order in which
// agents do things.
//
//	go run ./examples/client -prompt 'go version'   # with this as its agent
package main

import (
	"context"
	"errors"
	"os"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
)

func main() {
	conn := jsonrpc2.NewConn(context.Background(), acpterm.NewStream(stdio{}, nil), newAgent())
	<-conn.DisconnectNotify() // the client has closed our standard input, or is gone
}

// stdio joins standard input and output. Nothing else may write to the latter.
type stdio struct{}

func (stdio) Read(p []byte) (int, error)  { return os.Stdin.Read(p) }
func (stdio) Write(p []byte) (int, error) { return os.Stdout.Write(p) }
func (stdio) Close() error                { return errors.Join(os.Stdin.Close(), os.Stdout.Close()) }

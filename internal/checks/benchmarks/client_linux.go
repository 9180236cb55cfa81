package main

// The clients run as separate processes. Their implementations are in client_*.go.

import (
	"io"
	"os"
	"syscall"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
)

// client serves an agent's connection until ended is closed.
type client func(conn io.ReadWriteCloser) (ended <-chan struct{}, err error)

// goClients maps the names of subjects to the clients in this program.
func goClients() map[string]client {
	return map[string]client{
		bare:  serveWith(nil),
		large: serveWith(&acpterm.Options{MaxTerminals: 10000, MaxSessionTerminals: 10000, MaxReservedBytes: 1 << 40}),
		full:  serveFull,
		naive: serveNaive,
		goSDK: serveGoSDK,

		followedByTen: serveFollowed,
		displayed:     serveDisplayed,
		paged:         servePaged,
		onPTY:         serveWith(&acpterm.Options{Commands: acpterm.CommandOptions{PTY: &acpterm.PTYOptions{}}}),
		ofTheAgent:    serveAgentsOwn,
		remotely:      serveRemotely,
	}
}

// serveClient NAME: runs a Go client until its standard input ends
func serveClient(args []string) error {
	// Go's poller watches standard input and output, like the pipes to an agent in a real client.
	syscall.SetNonblock(0, true)
	syscall.SetNonblock(1, true)
	stdin, stdout := os.NewFile(0, "stdin"), os.NewFile(1, "stdout")
	ended, err := goClients()[args[0]](agentproc.JoinStdio(stdin, stdout))
	if err != nil {
		return err
	}
	<-ended
	return nil
}

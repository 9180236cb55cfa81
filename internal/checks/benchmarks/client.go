package main

// The clients run as separate processes. Their implementations are in client_*.go.

import (
	"io"
	"maps"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
)

// client serves an agent's connection until ended is closed.
type client func(conn io.ReadWriteCloser) (ended <-chan struct{}, err error)

// goClients maps the names of subjects to the clients in this program.
func goClients() map[string]client {
	clients := map[string]client{
		bare:  serveWith(nil),
		large: serveWith(&acpterm.Options{MaxTerminals: 10000, MaxSessionTerminals: 10000, MaxReservedBytes: 1 << 40}),
		full:  serveFull,
		naive: serveNaive,
		goSDK: serveGoSDK,
	}
	maps.Copy(clients, configurations())
	return clients
}

// serveClient NAME: runs a Go client until its standard input ends
func serveClient(args []string) error {
	stdin, stdout := pollableStdio()
	ended, err := goClients()[args[0]](agentproc.JoinStdio(stdin, stdout))
	if err != nil {
		return err
	}
	<-ended
	return nil
}

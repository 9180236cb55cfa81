package main

// The clients run as separate processes. Their implementations are in client_*.go.

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
)

// client serves an agent's connection until ended is closed.
type client func(conn io.ReadWriteCloser) (ended <-chan struct{}, err error)

// goClients maps the names of subjects to the clients in this program.
func goClients() map[string]client {
	clients := map[string]client{
		bare:        serveWith(nil),
		large:       serveWith(&acpterm.Options{MaxTerminals: 10000, MaxSessionTerminals: 10000, MaxReservedBytes: 1 << 40}),
		full:        serveFull,
		naive:       serveNaive(ownGroup()),
		naiveSetsid: serveNaive(ownSession()),
		goSDK:       serveGoSDK,
	}
	maps.Copy(clients, configurations())
	return clients
}

// serveClient NAME [PROFILES]: runs a Go client until its standard input ends. If PROFILES is a directory, it writes a
// CPU profile there.
func serveClient(args []string) error {
	if args[1] != "" {
		name := fmt.Sprintf("%s-%d.cpu", strings.Fields(args[0])[0], os.Getpid())
		file, err := os.Create(filepath.Join(args[1], name))
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	stdin, stdout := pollableStdio()
	ended, err := goClients()[args[0]](agentproc.JoinStdio(stdin, stdout))
	if err != nil {
		return err
	}
	<-ended
	return nil
}

package main

// The clients run as separate processes. Their implementations are in client_*.go.

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"

	"github.com/acpterm/acpterm/agentproc"
)

// goClients maps the names of subjects to the clients in this program.
func goClients() map[string]func(conn io.ReadWriteCloser) (ended <-chan struct{}, err error) {
	return map[string]func(io.ReadWriteCloser) (<-chan struct{}, error){
		bare:  serveBare,
		full:  serveFull,
		naive: serveNaive,
		goSDK: serveGoSDK,
	}
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

package main

// The clients as processes of their own. What each is made of is in client_*.go.

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"

	"github.com/acpterm/acpterm/agentproc"
)

// goClients are the clients that this program can be, by the names of subjects.
func goClients() map[string]func(conn io.ReadWriteCloser) (ended <-chan struct{}, err error) {
	return map[string]func(io.ReadWriteCloser) (<-chan struct{}, error){
		bare:  serveBare,
		full:  serveFull,
		naive: serveNaive,
		goSDK: serveGoSDK,
	}
}

// serveClient NAME [PROFILES]: one of the Go clients, until its standard input ends. With a directory it writes a CPU
// profile there.
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

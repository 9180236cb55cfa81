// Command acpterm-remote runs commands for a remote.Runner on the remote side of a connection. The Runner copies it
// there and starts it without arguments. It exchanges frames on its standard input and output. When its input ends, or
// on SIGTERM, SIGHUP or SIGINT, it ends everything it started and exits.
//
//	acpterm-remote -version    prints its version and that of the frames
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/acpterm/acpterm/remote/internal/frame"
	"github.com/acpterm/acpterm/remote/internal/server"
)

const usage = `usage: acpterm-remote [-version]

Runs commands for a remote.Runner, which copies this program to a remote system and starts it over a connection:

  acpterm -runner 'ssh host' -prompt 'go version' -- AGENT
  acpterm -runner 'docker exec -i NAME sh' -prompt 'go version' -- AGENT
  acpterm-remote -version
`

func main() {
	prints := flag.Bool("version", false, "print the versions of this program and of its frames")
	flag.Usage = func() { fmt.Fprint(flag.CommandLine.Output(), usage) }
	flag.Parse()
	switch {
	case flag.NArg() > 0:
		flag.Usage()
		os.Exit(2)
	case *prints:
		version := "(unknown)"
		if info, ok := debug.ReadBuildInfo(); ok {
			version = info.Main.Version
		}
		fmt.Printf("acpterm-remote %s, frames of version %d\n", version, frame.Version)
		return
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // writes to a broken pipe fail and do not kill the process
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	err := server.Serve(ctx, os.Stdin, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "acpterm-remote:", err)
		os.Exit(1)
	}
}

// Command acpterm-remote runs commands for a remote.Runner on the remote side of a connection. The Runner copies it
// there and starts it without arguments. It exchanges frames on its standard input and output. When its input ends, or
// on SIGTERM, SIGHUP or SIGINT, it ends everything it started and exits.
//
//	acpterm-remote -version    says which version of the frames it speaks, and its own
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/acpterm/acpterm/remote/internal/frame"
	"github.com/acpterm/acpterm/remote/internal/server"
)

func main() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "-version":
		version := "(unknown)"
		if info, ok := debug.ReadBuildInfo(); ok {
			version = info.Main.Version
		}
		fmt.Printf("acpterm-remote %s, frames of version %d\n", version, frame.Version)
		return
	case len(os.Args) > 1:
		fmt.Fprintln(os.Stderr, "usage: acpterm-remote [-version]")
		os.Exit(2)
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

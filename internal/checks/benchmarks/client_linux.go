package main

// The clients run as separate processes. Their implementations are in client_*.go, and that of the Node client, on the
// official TypeScript SDK, is testdata/node/client.mjs.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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

// nodeCommand returns the command line of the Node client. If it cannot run, the error gives the reason. The error only
// counts as a failure if the environment variable ACPTERM_REQUIRE_TYPESCRIPT is 1.
func nodeCommand() ([]string, error) {
	missing := func(what string) ([]string, error) {
		if os.Getenv("ACPTERM_REQUIRE_TYPESCRIPT") == "1" {
			return nil, errors.New(what)
		}
		return nil, fmt.Errorf("%w: %s", errMissing, what)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return missing("there is no node")
	}
	// The working directory is the root of the repository or this package's directory.
	for _, dir := range []string{"internal/checks/benchmarks/testdata/node", "testdata/node"} {
		script := filepath.Join(dir, "client.mjs")
		if _, err := os.Stat(script); err != nil {
			continue
		}
		sdk := filepath.Join(dir, "node_modules", "@agentclientprotocol", "sdk")
		if _, err := os.Stat(sdk); err != nil {
			return missing("npm ci --prefix " + dir + " has not been run")
		}
		return []string{node, script}, nil
	}
	return missing("testdata/node is not here; run it in the repository's root")
}

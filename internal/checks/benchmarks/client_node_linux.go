package main

// The Node client: testdata/node/client.mjs, on the official TypeScript SDK.

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

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

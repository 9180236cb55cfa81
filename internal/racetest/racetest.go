// Package racetest makes test binaries exit immediately, and has a buffer for concurrent use. Under the race detector a
// program sleeps for a second before it exits, which adds up to half a minute for all packages. Only tests import it.
package racetest

import (
	"os"
	"testing"
)

// Main runs a package's tests and exits. It is a TestMain.
func Main(m *testing.M) {
	Restart()
	os.Exit(m.Run())
}

// This setting disables the sleep. The race detector reads it when a process starts.
const setting, value = "GORACE", "atexit_sleep_ms=0"

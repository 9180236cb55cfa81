// Package racetest makes test binaries exit immediately, and has a buffer for concurrent use. Under the race detector a
// program sleeps for a second before it exits, which adds up to half a minute for all packages. Only tests import it.
package racetest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Main runs a package's tests and exits. It is a TestMain.
func Main(m *testing.M) {
	Restart()
	os.Exit(m.Run())
}

// MainWith is Main for tests that need the program of another package. It builds the program and sets path.
func MainWith(m *testing.M, program string, path *string) {
	Restart()
	dir, err := os.MkdirTemp("", "acpterm-test")
	if err == nil {
		*path = filepath.Join(dir, filepath.Base(program))
		err = exec.Command("go", "build", "-o", dir+string(filepath.Separator), program).Run()
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// This setting disables the sleep. The race detector reads it when a process starts.
const setting, value = "GORACE", "atexit_sleep_ms=0"

// Buffer is a bytes.Buffer for concurrent use.
type Buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

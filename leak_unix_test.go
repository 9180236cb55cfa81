//go:build unix

package acpterm_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// markedProcesses are the processes with a variable in their environment, and the zombies among this
// process's children, which have no environment any more.
func markedProcesses(mark string) (found []string) {
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, entry := range entries {
		environ, _ := os.ReadFile(entry + "/environ")
		stat, _ := os.ReadFile(entry + "/stat")
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		zombie := len(fields) > 1 && fields[0] == "Z" && fields[1] == fmt.Sprint(os.Getpid())
		if zombie || bytes.Contains(environ, []byte(mark+"\x00")) {
			found = append(found, string(stat))
		}
	}
	return found
}

func openDescriptors() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}

// canAsk reports whether a command can be asked to end.
func canAsk() bool { return true }

// needsAsking is for tests of commands that are asked to end.
func needsAsking(testing.TB) {}

// needsEndsInTheMiddle is for tests that end a process which is creating another one.
func needsEndsInTheMiddle(testing.TB) {}

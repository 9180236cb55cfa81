//go:build unix

package leaktest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Processes returns the processes with a variable in their environment, and the zombies among this process's children,
// which no longer have an environment.
func Processes(mark string) (found []string) {
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, entry := range entries {
		environ, _ := os.ReadFile(entry + "/environ")
		marked := bytes.Contains(environ, []byte(mark+"\x00"))
		if len(environ) > 0 && !marked {
			continue
		}
		stat, _ := os.ReadFile(entry + "/stat")
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		zombie := len(fields) > 1 && fields[0] == "Z" && fields[1] == fmt.Sprint(os.Getpid()) && os.Getpid() != 1
		if zombie || marked {
			found = append(found, string(stat))
		}
	}
	return found
}

// Running returns the stat of each process with a text in its environment, where /proc exists. A zombie has no
// environment, and a variable ends with "\x00".
func Running(text string) (found []string) {
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, entry := range entries {
		if environ, _ := os.ReadFile(entry + "/environ"); bytes.Contains(environ, []byte(text)) {
			stat, _ := os.ReadFile(entry + "/stat")
			found = append(found, string(stat))
		}
	}
	return found
}

// Descriptors counts the open descriptors of this process, with the two that Go opens for its first pipe.
func Descriptors() int {
	if r, w, err := os.Pipe(); err == nil {
		r.Close()
		w.Close()
	}
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}

// CanAsk reports whether a command can be asked to end.
func CanAsk() bool { return true }

// NeedsAsking is for tests that ask commands to end.
func NeedsAsking(testing.TB) {}

// NeedsEndsInTheMiddle is for tests that end a process while it creates another one.
func NeedsEndsInTheMiddle(testing.TB) {}

//go:build unix

package child

// Locks of files, signals and lines for a shell on Unix.

import (
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Signals reports that commands can end by a signal here.
const Signals = true

func tryLock(file *os.File) bool {
	return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

func endBySignal() {
	syscall.Kill(os.Getpid(), syscall.SIGTERM)
	time.Sleep(longest) // until it arrives
}

// shellWord quotes a word that the shell would otherwise interpret.
func shellWord(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n\"'\\$`*?[]();&|<>~#!%") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

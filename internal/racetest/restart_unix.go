//go:build unix && race

package racetest

import (
	"os"
	"syscall"
)

// Restart starts this program again, in the same process, unless it was started with the setting. The processes that
// tests start inherit the setting.
func Restart() {
	if os.Getenv(setting) != "" {
		return
	}
	os.Setenv(setting, value)
	if self, err := os.Executable(); err == nil {
		syscall.Exec(self, os.Args, os.Environ()) // if it fails, the tests run all the same
	}
}

//go:build unix && race

package racetest

import (
	"os"
	"syscall"
)

// Restart executes this program again, in the same process, unless it was started with the setting. Processes started
// by tests inherit the setting.
func Restart() {
	if os.Getenv(setting) != "" {
		return
	}
	os.Setenv(setting, value)
	if self, err := os.Executable(); err == nil {
		syscall.Exec(self, os.Args, os.Environ()) // if it fails, the tests run without the setting
	}
}

//go:build !unix || !race

package racetest

import "os"

// Restart makes the setting inheritable for processes started by tests.
func Restart() { os.Setenv(setting, value) }

//go:build !unix || !race

package racetest

import "os"

// Restart has the processes that tests start inherit the setting.
func Restart() { os.Setenv(setting, value) }

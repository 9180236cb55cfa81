//go:build !linux

package browsertest

import (
	"os/exec"
	"time"
)

// startWithTest starts a command.
func startWithTest(cmd *exec.Cmd) (wait func(), err error) {
	return func() { cmd.Wait() }, cmd.Start()
}

func processorTime() time.Duration { return 0 }

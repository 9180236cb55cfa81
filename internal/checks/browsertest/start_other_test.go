//go:build !linux

package browsertest

import "os/exec"

// startWithTest starts a command.
func startWithTest(cmd *exec.Cmd) (wait func(), err error) {
	return func() { cmd.Wait() }, cmd.Start()
}

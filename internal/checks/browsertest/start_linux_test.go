package browsertest

import (
	"os/exec"
	"runtime"
	"syscall"
)

// startWithTest starts a command. The kernel kills it when this process dies, for example when a test takes too long.
func startWithTest(cmd *exec.Cmd) (wait func(), err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // the kernel kills the command when the thread that started it ends
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
		}
	}()
	return func() { <-ended }, <-started
}

package main

// The floor of a command that ends with its host (PR_SET_PDEATHSIG): a thread that lives as long has to start it.

import (
	"bytes"
	"runtime"
)

// ownExecOnThread is runExec, but for that thread.
func ownExecOnThread(s *stage) runner {
	jobs := make(chan func())
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for job := range jobs {
			job()
		}
	}()
	s.after(func() error {
		close(jobs)
		return nil
	})
	return func(c command, _ int) (int64, error) {
		var out bytes.Buffer
		cmd := c.cmd()
		cmd.Stdout, cmd.Stderr = &out, &out
		started := make(chan error)
		jobs <- func() { started <- cmd.Start() }
		if err := <-started; err != nil {
			return 0, err
		}
		err := cmd.Wait()
		return int64(out.Len()), err
	}
}

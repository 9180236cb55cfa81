package main

// The agent's process: its standard input and output joined to a connection, and its end.

import (
	"context"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// patience is how long an agent has for each step of its end.
const patience = time.Second

// agentProcess is a running agent. It is the io.ReadWriteCloser of its connection; Close ends the agent's input,
// and what the agent still has to say can be read after it.
type agentProcess struct {
	io.Reader
	io.WriteCloser
	cmd    *exec.Cmd
	exited chan struct{}
}

// startAgent starts an agent in a group of its own, so that an interrupt at the keyboard is for the client
// alone, and so that the group can be ended. It runs in the client's directory; the session has its own.
func startAgent(command []string) (*agentProcess, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = ownGroup()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// cmd.StdoutPipe is closed by Wait, and with it goes what was not read yet.
	stdout, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	a := &agentProcess{Reader: stdout, WriteCloser: stdin, cmd: cmd, exited: make(chan struct{})}
	go func() {
		cmd.Wait()
		signalGroup(cmd.Process, syscall.SIGKILL) // what the agent leaves behind works for nobody
		close(a.exited)
	}()
	return a, nil
}

// awaitLastWord returns when an agent has exited and what it wrote must have been read. As a rule the connection
// has ended by itself then; not if something that left the group holds the agent's output.
func (a *agentProcess) awaitLastWord() {
	<-a.exited
	time.Sleep(patience)
}

// end returns when the agent has exited, which it should because its input has ended. If it does not it is asked
// to, and then made to; when ctx has ended, at once.
func (a *agentProcess) end(ctx context.Context) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-a.exited:
			return
		case <-time.After(patience):
		case <-ctx.Done():
		}
		signalGroup(a.cmd.Process, sig)
	}
	<-a.exited
}

// state says how the agent exited.
func (a *agentProcess) state() string { return a.cmd.ProcessState.String() }

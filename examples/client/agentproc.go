package main

// The agent's process: its standard input and output joined to a connection, its standard error, and its end.

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
	"unicode/utf8"
)

// stepTimeout is how long an agent has for each step of its end.
const stepTimeout = time.Second

// agentProcess is a running agent. It is the io.ReadWriteCloser of its connection; Close ends the agent's input,
// and what the agent still has to say can be read after it.
type agentProcess struct {
	io.Reader
	io.WriteCloser
	cmd    *exec.Cmd
	exited chan struct{}

	stderr *os.File
	said   chan struct{} // closed when standard error was read to its end
}

// startAgent starts an agent in a group of its own, so that an interrupt at the keyboard is for the client
// alone, and so that the group can be ended. It runs in the client's directory; the session has its own. What it
// writes to standard error is handed to print: on the person's terminal itself it could clear the screen, or read what
// is typed.
func startAgent(command []string, print func(string)) (*agentProcess, error) {
	cmd := exec.Command(command[0], command[1:]...)
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
	stderr, errors, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer errors.Close()
	cmd.Stdout, cmd.Stderr = w, errors
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	a := &agentProcess{
		Reader: stdout, WriteCloser: stdin, cmd: cmd, exited: make(chan struct{}),
		stderr: stderr, said: make(chan struct{}),
	}
	go func() {
		defer close(a.said)
		printAll(stderr, print)
	}()
	go func() {
		cmd.Wait()
		signalGroup(cmd.Process, syscall.SIGKILL) // what the agent leaves behind works for nobody
		close(a.exited)
	}()
	return a, nil
}

// printAll prints what is read, as soon as it can be read, in whole characters and line ends.
func printAll(r io.Reader, print func(string)) {
	buffer := make([]byte, 32<<10)
	begun := 0 // bytes of a character that is not complete
	for {
		n, err := r.Read(buffer[begun:])
		text := buffer[:begun+n]
		begun = 0
		if err == nil {
			begun = incomplete(text)
		}
		complete := text[:len(text)-begun]
		print(string(bytes.ReplaceAll(complete, []byte("\r\n"), []byte("\n"))))
		if err != nil {
			return
		}
		copy(buffer, text[len(complete):])
	}
}

// incomplete is how many bytes at the end of a text may be the beginning of a character, or of a line end.
func incomplete(text []byte) int {
	if bytes.HasSuffix(text, []byte("\r")) {
		return 1
	}
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// awaitLastWord returns when an agent has exited and what it wrote must have been read. As a rule the connection
// has ended by itself then; not if something that left the group holds the agent's output.
func (a *agentProcess) awaitLastWord() {
	<-a.exited
	time.Sleep(stepTimeout)
}

// end returns when the agent has exited, which it should because its input has ended. If it does not it is asked
// to, and then made to; when ctx has ended, at once. What it has written to standard error is printed then, unless
// something that left its group holds that open.
func (a *agentProcess) end(ctx context.Context) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if await(ctx, a.exited) {
			break
		}
		signalGroup(a.cmd.Process, sig)
	}
	<-a.exited
	await(ctx, a.said)
	a.stderr.Close()
}

// await waits until done is closed, for stepTimeout at most and until ctx ends, and reports whether done was
// closed.
func await(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
	}
	select {
	case <-done:
		return true
	case <-time.After(stepTimeout):
	case <-ctx.Done():
	}
	return false
}

// state says how the agent exited.
func (a *agentProcess) state() string { return a.cmd.ProcessState.String() }

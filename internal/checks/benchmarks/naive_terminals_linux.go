package main

// Terminals as written in an hour: os/exec, a trimmed buffer and a waiting goroutine. The naive client and the Go SDK
// client use them.

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"unicode/utf8"
)

type naiveTerminals struct {
	mu        sync.Mutex
	next      int
	terminals map[string]*naiveTerminal
}

func newNaiveTerminals() *naiveTerminals {
	return &naiveTerminals{terminals: make(map[string]*naiveTerminal)}
}

type naiveTerminal struct {
	cmd  *exec.Cmd
	out  trimBuffer
	done chan struct{} // closed when the command and all other holders of its output have ended
}

func (ts *naiveTerminals) create(command string, args, env []string, cwd string, limit int) (string, error) {
	cmd := exec.Command(command, args...)
	t := &naiveTerminal{cmd: cmd, out: trimBuffer{limit: limit}, done: make(chan struct{})}
	cmd.Dir = cwd
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &t.out, &t.out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	go func() {
		cmd.Wait()
		close(t.done)
	}()
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.next++
	id := fmt.Sprintf("term_%d", ts.next)
	ts.terminals[id] = t
	return id, nil
}

var errNoTerminal = errors.New("no such terminal")

func (ts *naiveTerminals) get(id string) (*naiveTerminal, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t := ts.terminals[id]; t != nil {
		return t, nil
	}
	return nil, errNoTerminal
}

// release kills the command if it is running, and removes the terminal.
func (ts *naiveTerminals) release(id string) error {
	t, err := ts.get(id)
	if err != nil {
		return err
	}
	ts.mu.Lock()
	delete(ts.terminals, id)
	ts.mu.Unlock()
	t.kill()
	return nil
}

func (t *naiveTerminal) ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// kill kills the command and waits for its end.
func (t *naiveTerminal) kill() {
	if !t.ended() {
		syscall.Kill(-t.cmd.Process.Pid, syscall.SIGKILL)
		<-t.done
	}
}

// status returns the exit code or the signal of an ended command.
func (t *naiveTerminal) status() (code *int, signal *string) {
	if n := t.cmd.ProcessState.ExitCode(); n >= 0 {
		return &n, nil
	}
	name := t.cmd.ProcessState.String()
	return nil, &name
}

// trimBuffer keeps the last limit bytes. It appends to a slice and cuts off its beginning. The cut-off bytes are freed
// when append next moves the rest.
type trimBuffer struct {
	limit int

	mu      sync.Mutex
	data    []byte
	trimmed bool
}

func (b *trimBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data = append(b.data, p...)
	if over := len(b.data) - b.limit; over > 0 {
		b.data, b.trimmed = b.data[over:], true
	}
	return len(p), nil
}

// text returns the kept bytes, starting with a whole character. It reports whether the beginning is missing.
func (b *trimBuffer) text() (string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	data := b.data
	for len(data) > 0 && !utf8.RuneStart(data[0]) {
		data = data[1:]
	}
	return string(data), b.trimmed
}

package main

// Ends: of a call, of a command and its tree, of the server.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

func endRows() []row {
	return []row{
		{"a background child holds the pipe: the call returns after", backgroundChild},
		{"kill of a tree with `setsid`: survivors of 6", killTree},
		{"kill of a shell whose child ignores signals", killIgnoring},
		{"a call is cancelled: still running of 6", cancelCall},
		{"SIGKILL to the server: survivors of 6", killServer},
	}
}

func backgroundChild(c *cellOf) (string, error) {
	r, err := c.open()
	if err != nil {
		return "", err
	}
	began := time.Now()
	a, err := r.run(c, c.marked(fmt.Sprintf("sleep %d & echo finished", c.Of(5, 20))))
	took := time.Since(began)
	if err != nil {
		return "", err
	}
	text := round(took)
	// While the child loads its program it has no variables, and so no mark.
	if _, runs := c.until(2*time.Second, func(n int) bool { return n > 0 }); !runs {
		text += ", when the child ends"
	}
	if !strings.Contains(a.text, "finished") {
		text += ", without the output"
	}
	return text, nil
}

// tree is a shell line that runs treeSize processes: the shell, a child, a second shell with a child, a child in
// another session, and an orphan in another session.
const (
	tree     = "sleep 300 & (sleep 300; :) & setsid sleep 300 & (setsid sleep 300 &) ; wait"
	treeSize = 6
)

// startTree starts the tree in the background, and waits until all of it runs.
func (c *cellOf) startTree(r *running) (id string, err error) {
	if id, err = r.start(c, c.marked(tree)); err != nil {
		return "", err
	}
	return id, c.treeRuns()
}

func (c *cellOf) treeRuns() error {
	if _, ok := c.until(10*time.Second, func(n int) bool { return n >= treeSize }); !ok {
		return fmt.Errorf("%d processes of the tree run, not %d", c.left(), treeSize)
	}
	time.Sleep(100 * time.Millisecond) // the last one calls setsid and exec
	return nil
}

// settle returns how long processes may take to end after a call has returned.
func (c *cellOf) settle() time.Duration { return time.Duration(c.Of(3000, 1500)) * time.Millisecond }

func killTree(c *cellOf) (string, error) {
	r, err := c.open()
	if err != nil {
		return "", err
	}
	id, err := c.startTree(r)
	if err != nil {
		return "", err
	}
	began := time.Now()
	if err := r.kill(c, id); err != nil {
		return "", err
	}
	took, atReply := time.Since(began), c.left()
	time.Sleep(c.settle())
	text := fmt.Sprintf("%d, the reply after %s", atReply, round(took))
	if later := c.left(); later != atReply {
		text += fmt.Sprintf("; %d after %s", later, round(c.settle()))
	}
	return text, nil
}

func killIgnoring(c *cellOf) (string, error) {
	r, err := c.open()
	if err != nil {
		return "", err
	}
	id, err := r.start(c, c.marked(`sh -c 'trap "" TERM INT HUP; while :; do sleep 0.2; done' & wait`))
	if err != nil {
		return "", err
	}
	if _, ok := c.until(10*time.Second, func(n int) bool { return n >= 3 }); !ok {
		return "", errors.New("the command does not start")
	}
	began := time.Now()
	if err := r.kill(c, id); err != nil {
		return "", err
	}
	reply := time.Since(began)
	const limit = 10 * time.Second
	if _, ok := c.until(limit, func(n int) bool { return n == 0 }); !ok {
		return fmt.Sprintf("the reply after %s; the child runs after %s", round(reply), round(limit)), nil
	}
	return fmt.Sprintf("the reply after %s; all gone after %s", round(reply), round(time.Since(began))), nil
}

// cancelled cancels the call of run while the tree runs, and returns how much of it is left.
func (c *cellOf) cancelled(t tools) (int, error) {
	ctx, cancel := context.WithCancel(c)
	defer cancel()
	returned := make(chan error, 1)
	go func() {
		_, err := t.run(ctx, c.marked(tree))
		returned <- err
	}()
	if err := c.treeRuns(); err != nil {
		return 0, err
	}
	cancel()
	if err := <-returned; !errors.Is(err, context.Canceled) {
		return 0, fmt.Errorf("a cancelled call returns %w", err)
	}
	time.Sleep(c.settle())
	return c.left(), nil
}

func cancelCall(c *cellOf) (string, error) {
	r, err := c.open()
	if err != nil {
		return "", err
	}
	left, err := c.cancelled(r)
	if err != nil {
		return "", err
	}
	text := fmt.Sprint(left)
	switch list, err := r.commands(c); {
	case errors.Is(err, errNoTool):
		text += ", no tool lists them"
	case err != nil:
		return "", err
	case strings.Contains(list, "sleep 300") || strings.Contains(list, "PID"):
		text += ", which can be continued or killed"
	}
	if t, ok := r.tools.(acptermTools); ok {
		if err := c.killMarked(); err != nil {
			return "", err
		}
		t.arguments = map[string]any{"kill_on_cancel": true}
		if left, err = c.cancelled(t); err != nil {
			return "", err
		}
		text += fmt.Sprintf("; with `kill_on_cancel` %d", left)
	}
	return text, nil
}

// killed kills the server while the tree runs, and returns how much of it is left.
func (c *cellOf) killed() (int, error) {
	r, err := c.open()
	if err != nil {
		return 0, err
	}
	if _, err := r.start(c, c.marked(tree)); errors.Is(err, errNoTool) {
		go r.run(c, c.marked(tree)) // fails when the server is killed
	} else if err != nil {
		return 0, err
	}
	if err := c.treeRuns(); err != nil {
		return 0, err
	}
	if err := r.process.Kill(); err != nil {
		return 0, err
	}
	time.Sleep(c.settle())
	return c.left(), nil
}

func killServer(c *cellOf) (string, error) {
	left, err := c.killed()
	if err != nil || c.server.name != acptermName {
		return fmt.Sprint(left), err
	}
	if _, err := c.open(); err != nil { // the next start, which reads the journal
		return "", err
	}
	return fmt.Sprintf("%d; %d after the next start", left, c.left()), nil
}

package main

// The rows of the first table, and their common parts: a server is started for each cell, and the processes that it
// leaves behind are found by a mark and killed.

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/acpterm/acpterm/internal/checks/benchmarks/bench"
)

// row is a behaviour to compare.
type row struct {
	name    string
	measure func(c *cellOf) (string, error)
}

func rows() []row { return slices.Concat(outputRows(), endRows(), loadRows()) }

// cellOf is the state of the measurement of a row for one server.
type cellOf struct {
	context.Context
	bench.Quick
	server server
	dir    string // temporary: the server's home and its working directory
	mark   string // in the commands of this cell and in their environment
	opened []*running
}

// callLimit is the longest time for a cell.
const callLimit = 4 * time.Minute

// of returns the text of a cell.
func (r row) of(ctx context.Context, quick bench.Quick, server server) (text string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	dir, err := os.MkdirTemp("", "acpterm-benchmark-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	c := &cellOf{Context: ctx, Quick: quick, server: server, dir: dir, mark: "ACPTERM_MARK_" + rand.Text()}
	defer func() { err = errors.Join(err, c.close()) }()
	text, err = r.measure(c)
	if errors.Is(err, errNoTool) {
		return "no tool", nil
	}
	return text, err
}

// open starts the server.
func (c *cellOf) open(more ...string) (*running, error) {
	r, err := c.server.start(c, c.dir, more...)
	if err != nil {
		return nil, err
	}
	c.opened = append(c.opened, r)
	return r, nil
}

// close ends the servers, and kills their remaining commands.
func (c *cellOf) close() error {
	for _, r := range c.opened {
		r.close()
	}
	return c.killMarked()
}

// marked returns a shell line that runs another one with the mark.
func (c *cellOf) marked(line string) string { return "export MARK=" + c.mark + "; " + line }

// left returns how many processes with the mark exist.
func (c *cellOf) left() int { return len(withMark(c.mark)) }

// killMarked kills the processes with the mark.
func (c *cellOf) killMarked() error {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		pids := withMark(c.mark)
		if len(pids) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the processes %v cannot be killed", pids)
		}
		for _, pid := range pids {
			killIfMarked(pid, c.mark)
		}
	}
}

// until waits until at least, or at most, n marked processes exist. It returns the time, or false after limit.
func (c *cellOf) until(limit time.Duration, enough func(n int) bool) (time.Duration, bool) {
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if enough(c.left()) {
			return time.Since(began), true
		}
		if time.Since(began) > limit {
			return limit, false
		}
	}
}

// round formats a duration with two or three digits.
func round(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1e3)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	default:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
}

// size formats a number of bytes.
func size(n int) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	default:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
}

// withMark returns the processes whose environment or arguments contain mark. Zombies have neither.
func withMark(mark string) (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && hasMark(pid, mark) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func hasMark(pid int, mark string) bool {
	for _, file := range []string{"environ", "cmdline"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
		if err == nil && bytes.Contains(text, []byte(mark)) {
			return true
		}
	}
	return false
}

// killIfMarked kills a process if it has the mark. Its number may have been reused before the look, but not between
// the look and the kill: os.Process refers to the process, not to the number.
func killIfMarked(pid int, mark string) {
	if p, err := os.FindProcess(pid); err == nil {
		if hasMark(pid, mark) {
			p.Kill()
		}
		p.Release()
	}
}

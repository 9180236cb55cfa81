package main

// The processes of this machine, from /proc.

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

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

package main

// The processes of this machine, from /proc.

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
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

// memory returns the resident memory of a process in bytes, now and at most so far.
func memory(pid int) (now, most int, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		switch n, _ := strconv.Atoi(fields[1]); fields[0] {
		case "VmRSS:":
			now = n << 10
		case "VmHWM:":
			most = n << 10
		}
	}
	return now, most, nil
}

package acptermtest

// The checks for processes and open files, which read /proc.

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
)

// processesOf returns the processes with one of the terminal ids in their environment, and the leaders that have not
// been reaped.
func processesOf(ids []acpterm.TerminalID, leaders []int) (found []string) {
	directories, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range directories {
		environ, _ := os.ReadFile(dir + "/environ")
		stat, _ := os.ReadFile(dir + "/stat")
		if hasMark(environ, ids) || isZombie(stat, leaders) {
			found = append(found, strings.TrimSpace(string(stat)))
		}
	}
	return found
}

// hasMark reports whether an environment names one of the ids, as the innermost terminal or as an outer one.
func hasMark(environ []byte, ids []acpterm.TerminalID) bool {
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(variable, []byte("ACPTERM_TERMINAL=")); ok {
			return slices.ContainsFunc(ids, func(id acpterm.TerminalID) bool {
				return bytes.Contains(value, []byte(id))
			})
		}
	}
	return false
}

// isZombie reports whether a process is both one of the leaders and a zombie child of this process.
func isZombie(stat []byte, leaders []int) bool {
	var pid, parent int
	var state string
	_, err1 := fmt.Sscan(string(stat), &pid)
	_, err2 := fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &parent)
	return err1 == nil && err2 == nil && state == "Z" && parent == os.Getpid() && slices.Contains(leaders, pid)
}

// files maps the open descriptors of this process to their targets.
type files map[string]string

func openFiles() files {
	open := make(files)
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, entry := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil {
			open[entry.Name()] = target // the descriptor of the directory itself is closed and has no target
		}
	}
	return open
}

// left returns the files opened since before, except those of the runtime's poller.
func (before files) left() (found []string) {
	for fd, target := range openFiles() {
		if before[fd] != target && target != "anon_inode:[eventpoll]" && target != "anon_inode:[eventfd]" {
			found = append(found, fd+" -> "+target)
		}
	}
	return found
}

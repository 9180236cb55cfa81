// Package cgroup creates a cgroup v2 for one tree of processes, limits its resources, lists its processes and kills
// them. It supports only Linux. It may import procfs. The caller removes each Cgroup that it has made or opened.
package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm/internal/procfs"
)

// A Cgroup is the cgroup of one process tree. Processes start in it, and the kernel kills all of them at once
// (cgroup.procs and cgroup.kill in Documentation/admin-guide/cgroup-v2.rst). A process can leave it only by writing to
// cgroup.procs of another cgroup below the same parent, if permitted.
//
// On a nil Cgroup, PIDs returns nothing, Limit returns fs.ErrNotExist, and the other methods do nothing. The methods
// may be called concurrently, but not during or after Remove.
type Cgroup struct {
	dir *os.File
}

// Make creates a cgroup in the directory parent. If parent is empty, it returns nil.
func Make(parent, name string) (*Cgroup, error) {
	if parent == "" {
		return nil, nil
	}
	path := filepath.Join(parent, name)
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, err
	}
	dir, err := os.Open(path)
	if err != nil {
		os.Remove(path)
		return nil, err
	}
	return &Cgroup{dir}, nil
}

// Open opens an existing cgroup. It returns nil if the path does not exist, and fails if it is not that of a cgroup.
func Open(path string) (*Cgroup, error) {
	dir, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var system unix.Statfs_t
	err = unix.Fstatfs(int(dir.Fd()), &system)
	if err == nil && system.Type != unix.CGROUP2_SUPER_MAGIC {
		err = errors.New(path + " is no cgroup")
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return &Cgroup{dir}, nil
}

// Limit limits the total use of the cgroup's processes: "Memory" in bytes, or the number of "Processes". The caller
// must call it before starting a process. It returns the value as adjusted by the kernel. It returns fs.ErrNotExist
// if the parent does not delegate the controller (cgroup.subtree_control), or for any other name.
func (c *Cgroup) Limit(name string, value uint64) (uint64, error) {
	file := map[string]string{"Memory": "memory.max", "Processes": "pids.max"}[name]
	if c == nil || file == "" {
		return value, fs.ErrNotExist
	}
	value, err := c.set(file, value)
	if err == nil && name == "Memory" {
		err = c.withoutSwap()
	}
	return value, err
}

// withoutSwap prevents swapping beyond the memory limit, and makes the kernel kill the whole tree when out of memory.
func (c *Cgroup) withoutSwap() error {
	for file, value := range map[string]uint64{"memory.swap.max": 0, "memory.oom.group": 1} {
		if _, err := c.set(file, value); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// set writes a number to a file of the cgroup, if the file exists, and returns the value as adjusted by the kernel.
func (c *Cgroup) set(file string, value uint64) (uint64, error) {
	path := filepath.Join(c.dir.Name(), file)
	if _, err := os.Stat(path); err != nil {
		return value, err
	}
	if err := os.WriteFile(path, strconv.AppendUint(nil, value, 10), 0); err != nil {
		return value, err
	}
	now, err := os.ReadFile(path)
	if err != nil {
		return value, err
	}
	if set, err := strconv.ParseUint(strings.TrimSpace(string(now)), 10, 64); err == nil {
		return set, nil
	}
	return value, nil // "max": the value is beyond the counter's range
}

// Prepare makes a new child process start in the cgroup.
func (c *Cgroup) Prepare(attr *syscall.SysProcAttr) {
	if c != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(c.dir.Fd())
	}
}

// PIDs returns the processes in the cgroup and in the cgroups that they created below it. If it cannot read some of
// them, it returns an error together with the others.
func (c *Cgroup) PIDs() (pids []int, err error) {
	c.walk(func(dir string, unreadable error) {
		procs, readErr := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for _, line := range strings.Fields(string(procs)) {
			if pid, err := strconv.Atoi(line); err == nil {
				pids = append(pids, pid)
			}
		}
		switch {
		case unreadable != nil:
			err = errors.Join(err, unreadable)
		case procfs.IsGone(readErr), errors.Is(readErr, syscall.ENODEV): // the directory was removed
		case errors.Is(readErr, syscall.EOPNOTSUPP): // it is threaded: a cgroup above it lists its processes
		default:
			err = errors.Join(err, readErr)
		}
	})
	if err != nil && !c.populated() {
		return nil, nil
	}
	return pids, err
}

// populated reports whether the cgroup, or a cgroup below it, has processes. It returns true if it cannot find out.
func (c *Cgroup) populated() bool {
	events, err := os.ReadFile(filepath.Join(c.dir.Name(), "cgroup.events"))
	return err != nil || !strings.Contains(string(events), "populated 0")
}

// Kill kills every process in the cgroup and below it, including processes being forked.
func (c *Cgroup) Kill() {
	if c == nil {
		return
	}
	path := filepath.Join(c.dir.Name(), "cgroup.kill")
	if err := os.WriteFile(path, []byte("1"), 0); err == nil {
		return
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		c.killEach()
	}
}

// killEach kills the processes one by one, before Linux 5.14. They are frozen during that, so that none starts another.
func (c *Cgroup) killEach() {
	c.set("cgroup.freeze", 1)
	defer c.set("cgroup.freeze", 0)
	var table procfs.Table
	for signalled := make(map[int]bool); ; {
		handles := make(map[int]procfs.Handle)
		pids, _ := c.PIDs()
		for _, pid := range pids {
			if signalled[pid] {
				continue
			}
			if handle, err := table.Open(pid); err == nil {
				handles[pid] = handle
			}
		}
		if len(handles) == 0 {
			return
		}
		pids, _ = c.PIDs() // what is still in the cgroup had its number when it was opened
		for pid, handle := range handles {
			if signalled[pid] = true; slices.Contains(pids, pid) {
				handle.Signal(syscall.SIGKILL)
			}
			handle.Close()
		}
	}
}

// Remove removes the cgroup's directory and the directories below it. It retries for a second, because a process holds
// its cgroup for a short time after its exit is visible.
func (c *Cgroup) Remove() {
	if c == nil {
		return
	}
	defer c.dir.Close()
	for range 1000 {
		var dirs []string
		c.walk(func(dir string, _ error) { dirs = append(dirs, dir) })
		var err error
		for _, dir := range slices.Backward(dirs) { // innermost first
			err = os.Remove(dir)
		}
		if !errors.Is(err, syscall.EBUSY) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// walk calls visit with the cgroup's directory and each directory below it. If it cannot list a directory, it calls
// visit again for that directory, with the error.
func (c *Cgroup) walk(visit func(dir string, unreadable error)) {
	if c == nil {
		return
	}
	filepath.WalkDir(c.dir.Name(), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // it was removed
		case err != nil:
			visit(path, err)
			return fs.SkipDir
		case entry.IsDir():
			visit(path, nil)
		}
		return nil
	})
}

// Package cgroup makes a cgroup v2 for one tree of processes, limits it, lists what is in it, and ends all of that. It
// is for Linux. It may import procfs. A caller removes each Cgroup that it has made or opened.
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

// Cgroup is a tree's own cgroup. Processes are started in it, and the kernel ends all of them at once (cgroup.procs and
// cgroup.kill in Documentation/admin-guide/cgroup-v2.rst). One leaves it only by writing to cgroup.procs of another
// cgroup below the same parent, if it may. A nil Cgroup is none: PIDs is empty, Limit returns fs.ErrNotExist, and
// the other methods do nothing. They may be called concurrently, but none with or after Remove.
type Cgroup struct {
	dir *os.File
}

// Make makes a cgroup in a parent directory; nil if no parent is given.
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

// Open opens a cgroup that is there already, such as another process's; nil if there is none with the path. It fails if
// the path is that of something else.
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

// Limit bounds what the cgroup's processes use together, before there are any: "Memory" in bytes, "Processes". It
// returns what the kernel made of the value, and fails with fs.ErrNotExist if the parent does not delegate the
// controller (cgroup.subtree_control) or nothing of a cgroup bounds this.
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

// withoutSwap has the limit of memory not be passed by swapping, and the whole tree end when there is too little.
func (c *Cgroup) withoutSwap() error {
	for file, value := range map[string]uint64{"memory.swap.max": 0, "memory.oom.group": 1} {
		if _, err := c.set(file, value); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// set writes a number to a file of the cgroup, if it has it, and returns what the kernel made of it.
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
	return value, nil // "max": beyond what it counts
}

// Prepare has a child born in the cgroup.
func (c *Cgroup) Prepare(attr *syscall.SysProcAttr) {
	if c != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(c.dir.Fd())
	}
}

// PIDs are the processes in the cgroup and in those that they made below it. It fails if some cannot be read, with
// those that can.
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
		case errors.Is(readErr, syscall.EOPNOTSUPP): // it is threaded: one above it lists its processes
		default:
			err = errors.Join(err, readErr)
		}
	})
	if err != nil && !c.populated() {
		return nil, nil
	}
	return pids, err
}

// populated reports whether there is a process in the cgroup or below it; true if that cannot be read.
func (c *Cgroup) populated() bool {
	events, err := os.ReadFile(filepath.Join(c.dir.Name(), "cgroup.events"))
	return err != nil || !strings.Contains(string(events), "populated 0")
}

// Kill ends every process in the cgroup and below it, processes that are being forked too.
func (c *Cgroup) Kill() {
	if c != nil {
		os.WriteFile(filepath.Join(c.dir.Name(), "cgroup.kill"), []byte("1"), 0)
	}
}

// Remove removes the directory and those below it. A process holds its cgroup for a short time after its exit was seen,
// so it tries again, for a second.
func (c *Cgroup) Remove() {
	if c == nil {
		return
	}
	defer c.dir.Close()
	for range 1000 {
		var dirs []string
		c.walk(func(dir string, _ error) { dirs = append(dirs, dir) })
		var err error
		for _, dir := range slices.Backward(dirs) { // the innermost first
			err = os.Remove(dir)
		}
		if !errors.Is(err, syscall.EBUSY) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// walk calls visit with the cgroup's directory and each one below it, and once more with the error if what is in one
// cannot be listed.
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

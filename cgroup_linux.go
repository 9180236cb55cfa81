package acpterm

// A cgroup of its own for each terminal, below a cgroup v2 directory that the embedder hands over
// (Options.Cgroup). Processes are born into it and cannot leave it, so what is in it is the tree, and the kernel
// ends all of it at once (Documentation/admin-guide/cgroup-v2.rst: cgroup.procs, cgroup.kill).

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
)

// cgroup is a terminal's directory. A nil cgroup is none: it has no processes, and its methods do nothing.
type cgroup struct {
	dir *os.File
}

// newCgroup makes the directory; nil where the embedder gave none to make it in.
func newCgroup(parent, name string) (*cgroup, error) {
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
	return &cgroup{dir}, nil
}

// cgroupLimits are the files that bound what all processes of a cgroup use together. They are there where the embedder's
// directory has the controllers delegated to those below it (cgroup.subtree_control).
var cgroupLimits = map[string]string{"Memory": "memory.max", "Processes": "pids.max"}

// limit bounds what its processes use, before there are any. What it cannot bound is the rest.
func (c *cgroup) limit(asked []EnforcedLimit) (enforced, rest []EnforcedLimit, err error) {
	for _, limit := range asked {
		file, ok := cgroupLimits[limit.Name]
		if c != nil && ok {
			limit.Value, err = c.set(file, limit.Value)
		}
		switch {
		case c == nil || !ok || errors.Is(err, fs.ErrNotExist):
			rest = append(rest, limit)
			continue
		case err == nil && limit.Name == "Memory":
			err = c.noWayAround()
		}
		if err != nil {
			return nil, nil, limitError(limit.Name, "cannot be enforced", err)
		}
		limit.By, limit.Tree = "cgroup", true
		enforced = append(enforced, limit)
	}
	return enforced, rest, nil
}

// noWayAround has memory be no more by swapping, and the whole tree end when there is too little.
func (c *cgroup) noWayAround() error {
	for file, value := range map[string]uint64{"memory.swap.max": 0, "memory.oom.group": 1} {
		if _, err := c.set(file, value); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// set writes a number to a file of the cgroup, if it has it, and returns what the kernel made of it.
func (c *cgroup) set(file string, value uint64) (uint64, error) {
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

// prepare has a child born in the cgroup.
func (c *cgroup) prepare(attr *syscall.SysProcAttr) {
	if c != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(c.dir.Fd())
	}
}

// pids are the processes in it and in the cgroups that they made below it.
func (c *cgroup) pids() (pids []int) {
	c.walk(func(dir string) {
		procs, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for _, line := range strings.Fields(string(procs)) {
			if pid, err := strconv.Atoi(line); err == nil {
				pids = append(pids, pid)
			}
		}
	})
	return pids
}

// kill ends every process in it and below it, those that are being forked too.
func (c *cgroup) kill() {
	if c != nil {
		os.WriteFile(filepath.Join(c.dir.Name(), "cgroup.kill"), []byte("1"), 0)
	}
}

// remove takes the directory away, and those below it. A process that was seen to exit holds its cgroup for a moment
// more, so it tries again for a while.
func (c *cgroup) remove() {
	if c == nil {
		return
	}
	defer c.dir.Close()
	for range 1000 {
		var dirs []string
		c.walk(func(dir string) { dirs = append(dirs, dir) })
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

// walk calls visit with the directory and each one below it.
func (c *cgroup) walk(visit func(dir string)) {
	if c == nil {
		return
	}
	filepath.WalkDir(c.dir.Name(), func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went meanwhile
		}
		if err == nil && entry.IsDir() {
			visit(path)
		}
		return err
	})
}

package proc

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

	"github.com/acpterm/acpterm/internal/procfs"
)

// cgroup is a tree's own cgroup, below the directory in Spec.Cgroup. Processes are born into it and cannot leave it,
// and the kernel ends all of them at once (cgroup.procs and cgroup.kill in Documentation/admin-guide/cgroup-v2.rst). A
// nil cgroup is none: it has no processes, and its methods do nothing.
type cgroup struct {
	dir *os.File
}

// newCgroup makes a cgroup; nil if no parent is given.
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

// cgroupLimits are the files that bound what all processes of a cgroup use together. They are there if the parent
// delegates the controllers (cgroup.subtree_control).
var cgroupLimits = map[string]string{"Memory": "memory.max", "Processes": "pids.max"}

// limit bounds what the cgroup's processes use, before there are any. The rest are limits that it cannot enforce.
func (c *cgroup) limit(asked []Limit) (enforced, rest []Limit, err error) {
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
			err = c.withoutSwap()
		}
		if err != nil {
			return nil, nil, &LimitError{limit.Name, "cannot be enforced", err}
		}
		limit.By, limit.Tree = "cgroup", true
		enforced = append(enforced, limit)
	}
	return enforced, rest, nil
}

// withoutSwap has the limit of memory not be passed by swapping, and the whole tree end when there is too little.
func (c *cgroup) withoutSwap() error {
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

// pids are the processes in the cgroup and in those that they made below it. It fails if some cannot be read, with
// those that can.
func (c *cgroup) pids() (pids []int, err error) {
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
func (c *cgroup) populated() bool {
	events, err := os.ReadFile(filepath.Join(c.dir.Name(), "cgroup.events"))
	return err != nil || !strings.Contains(string(events), "populated 0")
}

// kill ends every process in the cgroup and below it, processes that are being forked too.
func (c *cgroup) kill() {
	if c != nil {
		os.WriteFile(filepath.Join(c.dir.Name(), "cgroup.kill"), []byte("1"), 0)
	}
}

// remove removes the directory and those below it. A process holds its cgroup for a moment after its exit was seen, so
// it tries again, for a second.
func (c *cgroup) remove() {
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
func (c *cgroup) walk(visit func(dir string, unreadable error)) {
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

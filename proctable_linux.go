package acpterm

// What /proc tells of the machine's processes: who is whose child, in which group and session, since when,
// with which environment and open files. It only reads; what it says may have changed by the time it is read
// (procgroup_linux.go says how that harms nobody).

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// identity names a process for as long as the machine is up, but for numbers that come round within one tick.
type identity struct {
	pid     int
	started uint64 // clock ticks after the machine's start; 0 if it is known by its session alone (members_linux.go)
}

// process is one line of the table.
type process struct {
	identity
	parent  int
	group   int
	session int
	zombie  bool
}

// processes reads the lines of the table whose numbers are in the range and not to be skipped.
func processes(in pidRange, skip func(number int) bool) ([]process, error) {
	used, err := in.used(skip)
	table := make([]process, 0, len(used))
	for _, pid := range used {
		if p, ok := readProcess(pid); ok {
			table = append(table, p)
		}
	}
	return table, err
}

// pidRange is a range of process numbers, both ends in it. They are given out in order and come round, so that
// the first may be the higher one. The zero value is all numbers.
type pidRange struct{ first, last int }

func (n pidRange) contain(pid int) bool {
	switch {
	case n == pidRange{}:
		return true
	case n.first <= n.last:
		return n.first <= pid && pid <= n.last
	}
	return n.first <= pid || pid <= n.last
}

// union is a range that holds all of some: all numbers, if one of them does or comes round.
func union(ranges []pidRange) pidRange {
	all := ranges[0]
	for _, r := range ranges {
		if r == (pidRange{}) || r.first > r.last {
			return pidRange{}
		}
		all = pidRange{min(all.first, r.first), max(all.last, r.last)}
	}
	return all
}

const (
	veryFewNumbers = 16   // are so many that to read the line of each is quicker than to ask the kernel for it before
	fewNumbers     = 1000 // are so many that to ask the kernel for each is quicker than to list all processes
)

// used are the numbers in the range that processes have, or may have, but for those to be skipped.
func (n pidRange) used(skip func(number int) bool) (pids []int, err error) {
	candidates, all := n.unskipped(skip)
	if !all {
		return n.listed(skip)
	}
	if len(candidates) <= veryFewNumbers {
		return candidates, nil
	}
	for _, pid := range candidates {
		fd, err := unix.PidfdOpen(pid, 0) // not for the number of a thread
		if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
			return n.listed(skip)
		}
		if err == nil {
			unix.Close(fd)
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// unskipped are the numbers in the range that are not to be skipped, if they are few.
func (n pidRange) unskipped(skip func(number int) bool) (numbers []int, all bool) {
	if n.first <= 0 || n.last < n.first || n.last-n.first >= fewNumbers+recentLeaders {
		return nil, false
	}
	for number := n.first; number <= n.last; number++ {
		if skip(number) {
			continue
		}
		if numbers = append(numbers, number); len(numbers) > fewNumbers {
			return nil, false
		}
	}
	return numbers, true
}

// listed are the same, from a list of all.
func (n pidRange) listed(skip func(number int) bool) (pids []int, err error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && n.contain(pid) && !skip(pid) {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

// pidsSince is the range that a process and all that began after it have their numbers in: on a machine with
// many processes most need not be read. before is from before the process began. If the numbers may have come round to it
// since, it is all.
func (t *trees) pidsSince(pid int, before numbering) pidRange {
	last, err := t.load.lastPID()
	if err != nil || t.comeRound(before) {
		return pidRange{}
	}
	return pidRange{pid, last}
}

// noneSince reports whether no process has begun since a range was read. Of one that is all numbers it is not known, nor
// where the system does not say what number was last.
func (t *trees) noneSince(since pidRange) bool {
	last, err := t.load.lastPID()
	return err == nil && 0 < since.first && since.first <= since.last && last == since.last
}

// loadFile is /proc/loadavg, which says what number was given out last. It stays open, so that to read it takes one
// system call and not four. The zero value is ready; lastPID may be called concurrently, but not after close.
type loadFile struct {
	once sync.Once
	fd   int
	err  error
}

// lastPID is the number given out last in this pid namespace (man 5 proc_loadavg).
func (l *loadFile) lastPID() (int, error) {
	l.once.Do(func() { l.fd, l.err = openKernels("/proc/loadavg") })
	if l.err != nil {
		return 0, l.err
	}
	var line [128]byte
	n, err := retry(func() (int, error) { return unix.Pread(l.fd, line[:], 0) })
	if err != nil {
		return 0, err
	}
	text := bytes.TrimSpace(line[:n])
	return strconv.Atoi(string(text[bytes.LastIndexByte(text, ' ')+1:]))
}

// openKernels opens a file of /proc that is the kernel's own. In a container another one may be mounted over it, such as
// lxcfs's, which is up to five seconds old.
func openKernels(path string) (int, error) {
	fd, err := retry(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return -1, err
	}
	var system unix.Statfs_t
	_, err = retry(func() (int, error) { return 0, unix.Fstatfs(fd, &system) })
	if err == nil && system.Type != unix.PROC_SUPER_MAGIC {
		err = fmt.Errorf("%s is not the kernel's", path)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// close closes the file, if it is open.
func (l *loadFile) close() {
	l.once.Do(func() { l.err = os.ErrClosed })
	if l.err == nil {
		unix.Close(l.fd)
	}
}

// nobody is a skip that reads all.
func nobody(int) bool { return false }

// forks is how many processes and threads the machine has ever begun; 0 if it is not known.
func forks() uint64 {
	stat, _ := readProc("/proc/stat")
	if _, rest, found := bytes.Cut(stat, []byte("\nprocesses ")); found {
		text, _, _ := bytes.Cut(rest, []byte("\n"))
		n, _ := strconv.ParseUint(string(text), 10, 64)
		return n
	}
	return 0
}

// readProc reads a file of /proc, in four system calls; os.ReadFile, which offers every file to Go's poller, needs
// twice as many.
func readProc(path string) ([]byte, error) {
	fd, err := retry(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	data := make([]byte, 0, 4<<10)
	for {
		n, err := retry(func() (int, error) { return unix.Read(fd, data[len(data):cap(data)]) })
		if err != nil || n == 0 {
			return data, err
		}
		data = slices.Grow(data[:len(data)+n], 1<<9)
	}
}

// readLine reads one line of the table from the third field on, the state; nil if there is no such process. The kernel gives a
// line at once.
func readLine(pid int) (fields []string) {
	fd, err := retry(func() (int, error) {
		return unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var line [2 << 10]byte
	n, err := retry(func() (int, error) { return unix.Read(fd, line[:]) })
	if err != nil {
		return nil
	}
	stat := line[:n]
	// "pid (name) state parent group session …": the name may hold anything, ")" too (man 5 proc_pid_stat).
	fields = strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 36 {
		return nil
	}
	return fields
}

// isKernels reports whether a number is that of one of the kernel's own threads, which it starts now and then.
func isKernels(pid int) bool {
	const kernelThread = 0x200000 // PF_KTHREAD
	fields := readLine(pid)
	if fields == nil {
		return false
	}
	flags, _ := strconv.ParseUint(fields[6], 10, 64)
	return flags&kernelThread != 0
}

// readProcess reads one line of the table; false if there is no such process.
func readProcess(pid int) (process, bool) {
	fields := readLine(pid)
	if fields == nil || fields[35] == "-1" { // exit_signal: it is the number of a thread
		return process{}, false
	}
	var relations [3]int
	for i := range relations {
		relations[i], _ = strconv.Atoi(fields[1+i])
	}
	started, _ := strconv.ParseUint(fields[19], 10, 64)
	return process{
		identity: identity{pid, started},
		parent:   relations[0], group: relations[1], session: relations[2],
		zombie: fields[0] == "Z" || fields[0] == "X",
	}, true
}

// isStill reports whether the process is there and no zombie; of one that is known by its session, whether it is there.
func (p process) isStill() bool {
	if p.started == 0 && p.session != 0 {
		session, err := unix.Getsid(p.pid)
		return err == nil && session == p.session
	}
	now, ok := readProcess(p.pid)
	return ok && !now.zombie && now.started == p.started
}

// environ returns a variable of the environment that the process was started with, where we may see it.
func (p process) environ(name string) string {
	environ, _ := readProc("/proc/" + strconv.Itoa(p.pid) + "/environ")
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(variable, []byte(name+"=")); ok {
			return string(value)
		}
	}
	return ""
}

// canWriteTo reports whether the process has a pipe open for writing, where we may see it.
func (p process) canWriteTo(pipe uint64) bool {
	dir := fmt.Sprintf("/proc/%d/fd", p.pid)
	entries, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer entries.Close()
	names, _ := entries.Readdirnames(-1)
	target := fmt.Sprintf("pipe:[%d]", pipe)
	for _, name := range names {
		if link, err := os.Readlink(dir + "/" + name); err != nil || link != target {
			continue
		}
		if info, err := os.Lstat(dir + "/" + name); err == nil && info.Mode()&0o200 != 0 {
			return true
		}
	}
	return false
}

// executesSameAs reports whether two processes run the same file.
func (p process) executesSameAs(pid int) bool {
	mine, err := os.Stat(fmt.Sprintf("/proc/%d/exe", p.pid))
	if err != nil {
		return false
	}
	other, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
	return err == nil && os.SameFile(mine, other)
}

// pipeNumber is what /proc calls a pipe; 0 when the file is closed.
func pipeNumber(pipe *os.File) uint64 {
	info, err := pipe.Stat()
	if err != nil {
		return 0
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

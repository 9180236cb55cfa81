package procfs

// The process table in /proc, and handles to processes, on Linux.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Handle refers to one process, and never to a later process with the same number. It is a descriptor of the
// process's directory in /proc, which also works if a seccomp filter denies pidfd_open. Its methods may be called
// concurrently, but not during or after Close.
type Handle struct{ dir int }

// NoHandle returns a Handle without a process. Its methods fail.
func NoHandle() Handle { return Handle{dir: -1} }

// OpenPidfd returns a Handle that does not need /proc. Only Signal, Exited and Close work, and none before Linux 5.3.
// isThread means that the number is that of a thread other than a main thread, or that the process has ended.
func OpenPidfd(pid int) (h Handle, isThread bool) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return NoHandle(), err == unix.EINVAL || err == unix.ENOENT // the latter from Linux 6.16 on
	}
	return Handle{fd}, false
}

// Exited reports whether the process of a Handle from OpenPidfd has exited.
func (h Handle) Exited() bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(h.dir), Events: unix.POLLIN}}, 0)
	return n > 0 && err == nil
}

func (h Handle) Close() { unix.Close(h.dir) }

// WatchExit prepares to wait until the process, whose number is pid, has exited. The caller calls await once. It blocks
// no thread, and returns false if ctx is done first. WatchExit fails before Linux 5.3.
func (h Handle) WatchExit(pid int) (await func(ctx context.Context) (exited bool), err error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, os.NewSyscallError("pidfd_open", err)
	}
	// If the Handle's process still exists, it has had the number all the time.
	err = unix.PidfdSendSignal(h.dir, 0, nil, 0)
	if err == nil || err == unix.EPERM {
		err = unix.SetNonblock(fd, true) // for Go's poller
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	exit := os.NewFile(uintptr(fd), "exit")
	return func(ctx context.Context) (exited bool) {
		defer exit.Close()
		defer context.AfterFunc(ctx, func() { exit.SetReadDeadline(time.Unix(1, 0)) })()
		if raw, err := exit.SyscallConn(); err == nil {
			raw.Read(func(fd uintptr) bool {
				exited = Handle{int(fd)}.Exited()
				return exited
			})
		}
		return exited
	}, nil
}

// Signal sends a signal to the process, followed by SIGCONT, so that a stopped process also receives the signal.
// SIGKILL kills a stopped process without SIGCONT.
func (h Handle) Signal(sig syscall.Signal) error {
	err := unix.PidfdSendSignal(h.dir, sig, nil, 0)
	if err == nil && sig != syscall.SIGKILL && sig != syscall.SIGCONT {
		unix.PidfdSendSignal(h.dir, syscall.SIGCONT, nil, 0)
	}
	return os.NewSyscallError("pidfd_send_signal", err)
}

// Process returns the process's entry in the table. It fails if the process has been reaped, or if the Handle refers to
// a thread other than the main thread of a process.
func (h Handle) Process() (Process, error) {
	var line [2 << 10]byte // longer than any line; the kernel returns a line in one read
	n, err := h.read("stat", line[:])
	if err != nil {
		return Process{}, err
	}
	return parseStat(line[:n])
}

// A File identifies a pipe or a terminal that processes may have open.
type File struct {
	link     string // target of a pipe's link in /proc, or the end of a terminal's
	dev, ino uint64
	device   uint64 // the terminal's number
	pipe     bool
}

// FileOf returns the pipe or the terminal that a descriptor of this process refers to.
func FileOf(fd int) (File, error) {
	var status unix.Stat_t
	if err := unix.Fstat(fd, &status); err != nil {
		return File{}, os.NewSyscallError("fstat", err)
	}
	f := File{dev: uint64(status.Dev), ino: status.Ino, pipe: status.Mode&unix.S_IFMT == unix.S_IFIFO}
	if f.pipe {
		f.link = fmt.Sprintf("pipe:[%d]", f.ino)
		return f, nil
	}
	f.device = uint64(status.Rdev)
	f.link = fmt.Sprintf("/%d", unix.Minor(f.device))
	return f, nil
}

// IsPipe reports whether f is a pipe.
func (f File) IsPipe() bool { return f.pipe }

// isOpenAs reports whether an entry of a process's directory fd, with the given link, is the file. It calls stat only
// if the link may be the terminal's, because stat would block on a file from an unresponsive server.
func (f File) isOpenAs(dir int, name, link string) bool {
	if f.pipe {
		return link == f.link
	}
	var status unix.Stat_t
	return strings.HasSuffix(link, f.link) && unix.Fstatat(dir, name, &status, 0) == nil &&
		uint64(status.Dev) == f.dev && status.Ino == f.ino
}

// CanWriteTo reports whether the process has a file open for writing. It fails if its open files cannot be read.
func (h Handle) CanWriteTo(file File) (writes bool, err error) {
	err = h.openFiles(func(dir int, name, link string) (more bool) {
		writes = file.isOpenAs(dir, name, link) && mayAccess(dir, name, 0o200)
		return !writes
	})
	return writes, err
}

// mayAccess reports whether an entry of a process's directory fd has this permission of its owner.
func mayAccess(dir int, name string, permission uint32) bool {
	var status unix.Stat_t
	return unix.Fstatat(dir, name, &status, unix.AT_SYMLINK_NOFOLLOW) == nil && uint32(status.Mode)&permission != 0
}

// openFiles calls visit with each entry of the process's directory fd, until visit returns false. It fails if the
// directory cannot be read.
func (h Handle) openFiles(visit func(dir int, name, link string) (more bool)) error {
	fd, err := open(h.dir, "fd", unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	entries := os.NewFile(uintptr(fd), "fd")
	defer entries.Close()
	names, err := entries.Readdirnames(-1)
	var link [64]byte
	for _, name := range names {
		n, err := unix.Readlinkat(fd, name, link[:])
		if err == nil && !visit(fd, name, string(link[:n])) {
			return nil
		}
	}
	return err
}

// IsGone reports whether an error from Open, Read or a Handle's method means that the process no longer exists. With
// other errors it may exist: unreadable (fs.ErrPermission), or this process lacks descriptors or memory.
func IsGone(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) }

// Owner returns the user that the process runs as, or root if the process is not dumpable (man 5 proc).
func (h Handle) Owner() (uid int) {
	var status unix.Stat_t
	if unix.Fstat(h.dir, &status) != nil {
		return -1
	}
	return int(status.Uid)
}

// Executes returns the device and the inode of the process's executable file, or false if they are not readable.
func (h Handle) Executes() (file [2]uint64, ok bool) {
	var status unix.Stat_t
	err := unix.Fstatat(h.dir, "exe", &status, 0)
	return [2]uint64{uint64(status.Dev), status.Ino}, err == nil
}

func (h Handle) read(name string, p []byte) (int, error) {
	fd, err := open(h.dir, name, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	return retry(func() (int, error) { return unix.Read(fd, p) })
}

// A Table is the process table in /proc. The zero value is ready to use. The methods may be called concurrently, but
// not during or after Close. Open, Read and PIDs fail with ErrUnusable without /proc, and with that of another PID
// namespace, where each number belongs to another process. LastPID works with the latter.
type Table struct {
	checked   sync.Once
	unusable  error
	hides     bool
	mu        sync.Mutex
	opened    bool
	fd        int // /proc/loadavg, kept open so that LastPID needs one system call
	err       error
	ancestors []int
}

// ErrUnusable means that /proc is not mounted, or is that of another PID namespace.
var ErrUnusable = errors.New("/proc does not show the processes of this PID namespace")

// Usable returns ErrUnusable if numbers in /proc are not those of this process's PID namespace.
func (t *Table) Usable() error {
	t.checked.Do(func() {
		const initial = "pid:[4026531836]" // PROC_PID_INIT_INO in the kernel: it is in no other namespace
		self, _ := os.Readlink("/proc/self")
		namespace, _ := os.Readlink("/proc/self/ns/pid")
		if self != strconv.Itoa(os.Getpid()) || namespace != initial && len(namespaceIDs("self")) > 1 {
			t.unusable = ErrUnusable
		}
		mounts, _ := os.ReadFile("/proc/self/mounts")
		t.hides = bytes.Contains(mounts, []byte("hidepid="))
	})
	return t.unusable
}

// Hides reports whether PIDs may lack processes that exist, because /proc hides them (hidepid in man 5 proc). Neither
// Open nor Read finds them.
func (t *Table) Hides() bool { return t.Usable() == nil && t.hides }

// Open opens the process with the number pid; Handle.Process identifies it. It returns fs.ErrNotExist if the process
// does not exist. After an error, the methods of the Handle fail.
func (t *Table) Open(pid int) (Handle, error) {
	if err := t.Usable(); err != nil {
		return NoHandle(), err
	}
	dir, err := open(unix.AT_FDCWD, "/proc/"+strconv.Itoa(pid), unix.O_DIRECTORY)
	if err == unix.ESRCH {
		err = unix.ENOENT
	}
	return Handle{dir}, err
}

// Read returns the entry of a process. It returns fs.ErrNotExist or syscall.ESRCH if the process does not exist.
func (t *Table) Read(pid int) (Process, error) {
	h, err := t.Open(pid)
	if err != nil {
		return Process{}, err
	}
	defer h.Close()
	return h.Process()
}

// Indexes of the fields of a line, counted from the state, which follows the name.
const (
	fieldState      = 0
	fieldParent     = 1
	fieldGroup      = 2
	fieldSession    = 3
	fieldTerminal   = 4
	fieldForeground = 5
	fieldFlags      = 6
	fieldCPU        = 11 // of the process and of the children that it has waited for: four fields
	fieldThreads    = 17
	fieldStarted    = 19
	fieldResident   = 21
	fieldStartCode  = 23 // 0 until a new program's environment is complete; 1 if not readable
	fieldExitSignal = 35 // -1 for a thread other than the main thread
	fieldEnvStart   = 47
	fieldEnvEnd     = 48 // both are 0 if not readable
)

const forkNoExec, kernelThread = 0x40, 0x200000 // PF_FORKNOEXEC, PF_KTHREAD in the kernel's include/linux/sched.h

func parseStat(line []byte) (p Process, err error) {
	pid, fields, err := splitStat(line)
	if err != nil {
		return p, err
	}
	p.PID = pid
	p.Started, err = strconv.ParseUint(fields[fieldStarted], 10, 64)
	p.Parent, p.Group, p.Session = fields.number(fieldParent), fields.number(fieldGroup), fields.number(fieldSession)
	state := fields[fieldState]
	p.Kernel = fields.number(fieldFlags)&kernelThread != 0
	p.Forked = fields.number(fieldFlags)&forkNoExec != 0
	p.Exited = state == "X" || state == "Z" && fields.number(fieldThreads) <= 1
	p.Stopped = state == "T"
	p.MainExited = state == "Z" && !p.Exited
	p.Executing = fields[fieldStartCode] == "0" && !p.MainExited
	p.Environ = fields.number(fieldEnvEnd) - fields.number(fieldEnvStart)
	return p, err
}

type statFields []string

func (f statFields) number(field int) int {
	n, _ := strconv.Atoi(f[field])
	return n
}

// splitStat returns the number and the fields of a process. It fails for a thread other than a main thread.
func splitStat(line []byte) (pid int, fields statFields, err error) {
	// "pid (name) state parent …": the name may contain anything, including ")".
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 0 || end < 0 {
		return 0, nil, errors.New("procfs: a line of the process table has no name")
	}
	fields = strings.Fields(string(line[end+1:]))
	if len(fields) <= fieldEnvEnd {
		return 0, nil, errors.New("procfs: a line of the process table is too short")
	}
	if fields[fieldExitSignal] == "-1" {
		return 0, nil, unix.ESRCH
	}
	pid, _ = strconv.Atoi(string(bytes.TrimSpace(line[:open])))
	return pid, fields, nil
}

// Parent returns the ID of a process's parent faster than Read, or 0 if it is unknown, as before Linux 6.13.
func Parent(pid int) int {
	var info unix.PidfdInfo
	if pidfd, err := unix.PidfdOpen(pid, 0); err == nil {
		unix.IoctlPidfdInfo(pidfd, &info)
		unix.Close(pidfd)
	}
	return int(info.Ppid)
}

// ThreadChildren returns the unreaped child processes that a thread of a process has forked. A child may be missing if
// other children exit during the call.
func ThreadChildren(pid, thread int) (pids []int, err error) {
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, thread))
	for _, field := range strings.Fields(string(list)) {
		child, _ := strconv.Atoi(field)
		pids = append(pids, child)
	}
	return pids, err
}

// Children returns the children of all threads of a process, like ThreadChildren.
func Children(pid int) (pids []int) {
	threads, _ := numbersIn(fmt.Sprintf("/proc/%d/task", pid))
	for _, thread := range threads {
		children, _ := ThreadChildren(pid, thread)
		pids = append(pids, children...)
	}
	return pids
}

// SharesNamespace reports whether a process exists and certainly is in the PID namespace of this process.
func (t *Table) SharesNamespace(pid int) bool {
	return t.Usable() == nil && len(namespaceIDs(strconv.Itoa(pid))) == 1
}

// namespaceIDs returns the IDs of a process in its PID namespaces, beginning with that of /proc.
func namespaceIDs(process string) [][]byte {
	status, _ := os.ReadFile("/proc/" + process + "/status")
	_, ids, _ := bytes.Cut(status, []byte("\nNSpid:"))
	ids, _, _ = bytes.Cut(ids, []byte("\n"))
	return bytes.Fields(ids)
}

// SharesMemory reports whether a process certainly has the memory of this process, as a child has until its execve.
func SharesMemory(pid int) bool {
	const kcmpVM = 1 // man 2 kcmp
	differs, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(pid), kcmpVM, 0, 0, 0)
	return differs == 0 && errno == 0
}

// PIDs returns the numbers of all processes in increasing order. A process that starts during the call may be missing.
func (t *Table) PIDs() ([]int, error) {
	pids, err := numbersIn("/proc")
	if err = cmp.Or(err, t.Usable()); err == nil && !slices.Contains(pids, os.Getpid()) {
		err = ErrUnusable
	}
	return pids, err
}

// numbersIn returns the numeric names in a directory, in increasing order.
func numbersIn(path string) (numbers []int, err error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, err
}

// openLocked opens the table once. It fails for now, and not for good, if this process has no descriptors left.
func (t *Table) openLocked() {
	if t.opened {
		return
	}
	t.ancestors = []int{os.Getpid()}
	for pid := os.Getppid(); pid != 0 && t.ancestors != nil; {
		p, err := t.Read(pid)
		if t.ancestors, pid = append(t.ancestors, pid), p.Parent; err != nil {
			t.ancestors, t.err = nil, err
		}
	}
	if t.ancestors != nil || !lacks(t.err) {
		t.fd, t.err = open(unix.AT_FDCWD, "/proc/loadavg", 0)
	}
	var system unix.Statfs_t
	if t.err == nil && (unix.Fstatfs(t.fd, &system) != nil || system.Type != unix.PROC_SUPER_MAGIC) {
		unix.Close(t.fd) // a file of lxcfs in a container, with contents up to five seconds old
		t.err = errors.New("procfs: /proc/loadavg is not the kernel's")
	}
	t.opened = !lacks(t.err)
}

func lacks(err error) bool { return err == unix.EMFILE || err == unix.ENFILE || err == unix.ENOMEM }

// Ancestors returns this process and its ancestors in its PID namespace when a method was first called, or nil if some
// are unknown. Later ancestors are among them, because only ancestors adopt a process.
func (t *Table) Ancestors() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.openLocked()
	return t.ancestors
}

// LastPID returns the number last assigned to a process or thread (the last field in man 5 proc_loadavg).
func (t *Table) LastPID() (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.openLocked()
	if t.err != nil {
		return 0, t.err
	}
	var line [128]byte
	n, err := retry(func() (int, error) { return unix.Pread(t.fd, line[:], 0) })
	if err != nil {
		return 0, err
	}
	text := bytes.TrimSpace(line[:n])
	return strconv.Atoi(string(text[bytes.LastIndexByte(text, ' ')+1:]))
}

// Now returns the newest ID at this moment. The ID of any process that starts later is After it.
func (t *Table) Now() (newest ID) {
	var sinceBoot unix.Timespec
	unix.ClockGettime(unix.CLOCK_BOOTTIME, &sinceBoot)
	newest.Started = uint64(sinceBoot.Nano() / 1e7) // /proc counts 100 ticks per second (USER_HZ)
	newest.PID, _ = t.LastPID()
	return newest
}

func (t *Table) Close() {
	if t.opened && t.err == nil {
		unix.Close(t.fd)
	}
}

// Forks returns the number of processes and threads started since boot ("processes" in proc_stat(5)), or 0 if unknown.
func Forks() uint64 { return number("/proc/stat", "\nprocesses ") }

// Limit returns the highest process number that the system assigns, plus one, or 0 if it is unknown.
func Limit() uint64 { return number("/proc/sys/kernel/pid_max", "") }

func number(path, after string) uint64 {
	text, _ := os.ReadFile(path)
	_, rest, _ := strings.Cut(string(text), after)
	line, _, _ := strings.Cut(rest, "\n")
	n, _ := strconv.ParseUint(line, 10, 64)
	return n
}

func open(dir int, path string, flags int) (int, error) {
	return retry(func() (int, error) { return unix.Openat(dir, path, unix.O_RDONLY|unix.O_CLOEXEC|flags, 0) })
}

// retry repeats a system call while signals interrupt it.
func retry(call func() (int, error)) (n int, err error) {
	for n, err = call(); err == unix.EINTR; {
		n, err = call()
	}
	return n, err
}

package procfs

// Whether a process waits for input, on Linux: by the system calls that its threads are blocked in.

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// An Awaited says how a process waits for input.
type Awaited int

const (
	// NotAwaited means that no thread of the process waits for the input.
	NotAwaited Awaited = iota
	// Polled means that a thread waits for several files in epoll, poll or select, and the input is one of them.
	Polled
	// Read means that a thread is blocked in a read of the input.
	Read
)

// Awaits reports whether the process waits for input from a command's standard input, a terminal or a pipe. A process
// in the background of the terminal does not. Awaits fails if the process's files or system calls cannot be read
// (fs.ErrPermission), and with errors.ErrUnsupported if the kernel does not show them.
func (h Handle) Awaits(file File, u Usage) (Awaited, error) {
	if !file.pipe && u.terminal == file.terminal() && u.foreground != u.Group {
		return NotAwaited, nil
	}
	var inputs []int
	err := h.openFiles(func(dir int, name, link string) (more bool) {
		isInput := file.isOpenAs(dir, name, link) || file.isControlling(dir, name, link, u)
		if n, err := strconv.Atoi(name); err == nil && isInput && mayAccess(dir, name, 0o400) {
			inputs = append(inputs, n)
		}
		return true
	})
	if len(inputs) == 0 || err != nil {
		return NotAwaited, err
	}
	if !knowsSyscalls {
		return NotAwaited, errors.ErrUnsupported
	}
	fd, err := open(h.dir, "task", unix.O_DIRECTORY)
	if err != nil {
		return NotAwaited, err
	}
	threads := os.NewFile(uintptr(fd), "task")
	defer threads.Close()
	names, err := threads.Readdirnames(-1)
	how := NotAwaited
	for _, name := range names {
		awaits, threadErr := h.threadAwaits(name, inputs)
		switch {
		case threadErr == nil:
			how = max(how, awaits)
		case !IsGone(threadErr):
			err = threadErr
		}
	}
	if how != NotAwaited {
		err = nil
	}
	return how, err
}

// terminal returns the number of the terminal as the process table shows it.
func (f File) terminal() int {
	return int(unix.Minor(f.device)&0xff | unix.Major(f.device)<<8 | unix.Minor(f.device)&^0xff<<12)
}

// isControlling reports whether an entry of a process's directory fd is /dev/tty, which is the file in this process.
func (f File) isControlling(dir int, name, link string, u Usage) bool {
	if f.pipe || u.terminal != f.terminal() || !strings.HasSuffix(link, "/tty") {
		return false
	}
	var status unix.Stat_t
	return unix.Fstatat(dir, name, &status, 0) == nil && status.Mode&unix.S_IFMT == unix.S_IFCHR &&
		uint64(status.Rdev) == unix.Mkdev(5, 0)
}

// threadAwaits reports whether a thread waits for one of the process's descriptors.
func (h Handle) threadAwaits(thread string, inputs []int) (Awaited, error) {
	var line [256]byte
	n, err := h.read("task/"+thread+"/syscall", line[:])
	if errors.Is(err, unix.ENOENT) {
		if _, threadErr := h.read("task/"+thread+"/stat", line[:]); threadErr == nil {
			return NotAwaited, errors.ErrUnsupported // the kernel was built without it
		}
	}
	if err != nil {
		return NotAwaited, err
	}
	call, args, blocked := parseSyscall(string(line[:n]))
	if !blocked {
		return NotAwaited, nil
	}
	switch call {
	case unix.SYS_READ, unix.SYS_READV, unix.SYS_SPLICE:
		if contains(inputs, args[0]) {
			return Read, nil
		}
	}
	if polls, err := h.polls(call, args, inputs); !polls {
		return NotAwaited, err
	}
	return Polled, nil
}

// parseSyscall parses the number and the arguments of the system call that a thread is blocked in: "0 0x3 0x7f … …".
func parseSyscall(line string) (call uint64, args [6]uint64, blocked bool) {
	fields := strings.Fields(line)
	if len(fields) < 1+len(args) { // "running", or "-1 …" in a page fault
		return 0, args, false
	}
	call, err := strconv.ParseUint(fields[0], 10, 32)
	for i := range args {
		args[i], _ = strconv.ParseUint(strings.TrimPrefix(fields[1+i], "0x"), 16, 64)
	}
	return call, args, err == nil
}

func contains(descriptors []int, argument uint64) bool {
	return slices.Contains(descriptors, int(uint32(argument)))
}

// mostPolled limits how many descriptors of one call are read.
const mostPolled = 16 << 10

// polls reports whether a system call waits for input from one of the process's descriptors, among others.
func (h Handle) polls(call uint64, args [6]uint64, inputs []int) (bool, error) {
	switch {
	case call == unix.SYS_EPOLL_PWAIT, call == unix.SYS_EPOLL_PWAIT2, isOldEpoll(call):
		return h.epollHas(int(uint32(args[0])), inputs)
	case call == unix.SYS_PPOLL, isOldPoll(call):
		const size = 8 // struct pollfd: an int, and two shorts
		data, err := h.memory(args[0], size*min(args[1], mostPolled))
		for ; len(data) >= size; data = data[size:] {
			events := binary.NativeEndian.Uint16(data[4:])
			fd := binary.NativeEndian.Uint32(data)
			if events&(unix.POLLIN|unix.EPOLLRDNORM) != 0 && contains(inputs, uint64(fd)) {
				return true, nil
			}
		}
		return false, err
	case (call == unix.SYS_PSELECT6 || isOldSelect(call)) && args[1] != 0:
		const word = bits.UintSize / 8
		data, err := h.memory(args[1], (min(args[0], mostPolled)+bits.UintSize-1)/bits.UintSize*word)
		for _, fd := range inputs {
			if at := fd / bits.UintSize * word; uint64(fd) < args[0] && at+word <= len(data) &&
				nativeUint(data[at:])>>(fd%bits.UintSize)&1 != 0 {
				return true, nil
			}
		}
		return false, err
	}
	return false, nil
}

func nativeUint(data []byte) uint {
	if bits.UintSize == 32 {
		return uint(binary.NativeEndian.Uint32(data))
	}
	return uint(binary.NativeEndian.Uint64(data))
}

// epollHas reports whether an epoll file waits for input from one of the descriptors: "tfd: 19 events: 1 data: …".
func (h Handle) epollHas(epoll int, inputs []int) (bool, error) {
	targets, err := h.environ("fdinfo/" + strconv.Itoa(epoll))
	for line := range strings.Lines(string(targets)) {
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[0] != "tfd:" || fields[2] != "events:" {
			continue
		}
		fd, fdErr := strconv.ParseUint(fields[1], 10, 32)
		events, eventsErr := strconv.ParseUint(fields[3], 16, 32)
		if fdErr == nil && eventsErr == nil && events&(unix.EPOLLIN|unix.EPOLLRDNORM) != 0 && contains(inputs, fd) {
			return true, nil
		}
	}
	return false, err
}

// memory reads the memory of the process. It returns fewer bytes if the rest is not mapped.
func (h Handle) memory(address, size uint64) ([]byte, error) {
	fd, err := open(h.dir, "mem", 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	data := make([]byte, size)
	n, err := retry(func() (int, error) { return unix.Pread(fd, data, int64(address)) })
	if err == unix.EIO { // it has changed since
		err = nil
	}
	return data[:max(n, 0)], err
}

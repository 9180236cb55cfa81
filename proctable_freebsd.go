package acpterm

// The process table of FreeBSD: sysctl kern.proc, as ps reads it. x/sys does not know its lines, struct kinfo_proc in
// sys/user.h; their size is part of the kernel's interface and their fields do not move (see the comment there). It
// only reads; what it says may have changed by the time it is read (procgroup_kqueue.go says how that harms nobody).

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

// Where things are in a kinfo_proc of a 64-bit system.
const (
	kinfoSize   = 1088 // KINFO_PROC_SIZE, which is also what its first field, ki_structsize, says
	kinfoPid    = 72
	kinfoParent = 76
	kinfoGroup  = 80
	kinfoSid    = 88
	kinfoStart  = 336 // a timeval
	kinfoState  = 388 // a byte
)

// processes reads the whole table, zombies too. On 32-bit systems there is none.
func processes() ([]process, error) {
	for {
		lines, err := unix.SysctlRaw("kern.proc.all")
		if errors.Is(err, unix.ENOMEM) {
			continue // it has grown between the two calls that SysctlRaw makes
		}
		if err != nil {
			return nil, err
		}
		return parseTable(lines)
	}
}

// readProcess reads one line of the table; false if there is no such process.
func readProcess(pid int) (process, bool) {
	line, err := unix.SysctlRaw("kern.proc.pid", pid)
	if err != nil {
		return process{}, false
	}
	table, err := parseTable(line)
	if err != nil || len(table) == 0 {
		return process{}, false
	}
	return table[0], true
}

func parseTable(lines []byte) ([]process, error) {
	table := make([]process, 0, len(lines)/kinfoSize)
	for ; len(lines) >= kinfoSize; lines = lines[kinfoSize:] {
		number := func(at int) int { return int(int32(binary.NativeEndian.Uint32(lines[at:]))) }
		if number(0) != kinfoSize {
			return nil, errors.ErrUnsupported
		}
		seconds := int64(binary.NativeEndian.Uint64(lines[kinfoStart:]))
		microseconds := int64(binary.NativeEndian.Uint64(lines[kinfoStart+8:]))
		table = append(table, process{
			// It is the time since the machine's start, kept, and the time of that: it moves when the clock is set. A
			// process found before counts as another one then, and is found again or not.
			identity: identity{number(kinfoPid), seconds*1e6 + microseconds},
			parent:   number(kinfoParent), group: number(kinfoGroup), session: number(kinfoSid),
			zombie: lines[kinfoState] == szomb,
		})
	}
	if len(table) == 0 && len(lines) > 0 {
		return nil, errors.ErrUnsupported
	}
	return table, nil
}

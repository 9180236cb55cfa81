package procfs

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

// zombie is the state of a zombie (SZOMB in sys/proc.h).
const zombie = 5

// Where the fields are in struct kinfo_proc of a 64-bit system, which x/sys does not know (sys/user.h). Its size is
// part of the kernel's interface, and its fields do not move.
const (
	kinfoSize   = 1088 // KINFO_PROC_SIZE, which is also what its first field, ki_structsize, says
	kinfoPid    = 72
	kinfoParent = 76
	kinfoGroup  = 80
	kinfoSid    = 88
	kinfoStart  = 336 // a timeval
	kinfoState  = 388 // a byte
)

// List is the whole table, zombies too. It fails on 32-bit systems.
func List() ([]Process, error) {
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

// Read is the line of the process with a number; false if there is none.
func Read(pid int) (Process, bool) {
	line, err := unix.SysctlRaw("kern.proc.pid", pid)
	if err != nil {
		return Process{}, false
	}
	table, err := parseTable(line)
	if err != nil || len(table) == 0 {
		return Process{}, false
	}
	return table[0], true
}

func parseTable(lines []byte) ([]Process, error) {
	table := make([]Process, 0, len(lines)/kinfoSize)
	for ; len(lines) >= kinfoSize; lines = lines[kinfoSize:] {
		number := func(at int) int { return int(int32(binary.NativeEndian.Uint32(lines[at:]))) }
		if number(0) != kinfoSize {
			return nil, errors.ErrUnsupported
		}
		seconds := int64(binary.NativeEndian.Uint64(lines[kinfoStart:]))
		microseconds := int64(binary.NativeEndian.Uint64(lines[kinfoStart+8:]))
		table = append(table, Process{
			// It is the time of the machine's start and the time since: it moves when the clock is set. A
			// process found before counts as another one then, and is found again or not.
			ID:     ID{number(kinfoPid), uint64(seconds*1e6 + microseconds)},
			Parent: number(kinfoParent), Group: number(kinfoGroup), Session: number(kinfoSid),
			Exited: lines[kinfoState] == zombie,
		})
	}
	if len(table) == 0 && len(lines) > 0 {
		return nil, errors.ErrUnsupported
	}
	return table, nil
}

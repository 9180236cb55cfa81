package procfs

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

// zombie is the state of a zombie process (SZOMB in sys/proc.h).
const zombie = 5

// Offsets of the fields in struct kinfo_proc (sys/user.h) on 64-bit systems. x/sys does not define the structure. Its
// size is part of the kernel's interface, and its fields do not move.
const (
	kinfoSize   = 1088 // KINFO_PROC_SIZE, also the value of the first field, ki_structsize
	kinfoPid    = 72
	kinfoParent = 76
	kinfoGroup  = 80
	kinfoSid    = 88
	kinfoStart  = 336 // a timeval
	kinfoState  = 388 // a byte
)

// List returns the whole process table, including zombies. It fails on 32-bit systems.
func List() ([]Process, error) {
	for {
		lines, err := unix.SysctlRaw("kern.proc.all")
		if errors.Is(err, unix.ENOMEM) {
			continue // the table grew between the two system calls of SysctlRaw
		}
		if err != nil {
			return nil, err
		}
		return parseTable(lines)
	}
}

// Read returns the entry of a process, or false if the process does not exist.
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
			// The start time is the boot time plus the time since boot, so it changes when the clock is set. A process
			// found before the change then counts as a different process, and may or may not be found again.
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

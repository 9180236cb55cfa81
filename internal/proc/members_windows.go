package proc

// This file describes the processes of a job to an observer, on Windows.

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// maxCommand bounds Member.Command, in bytes.
const maxCommand = 4 << 10

// ListsMembers reports whether Members works on this system.
const ListsMembers = true

// Members returns the running processes of the job, in the order of their IDs. If something about a process cannot be
// read, Members returns the rest with an error. The error is errors.ErrUnsupported for a command with a PTY or a
// Spec.Stdin, because the system does not tell whether a process waits for input. After Close, Members returns none.
func (t *Tree) Members() (members []Member, err error) {
	t.mu.Lock()
	closed, pids := t.job == 0, t.membersLocked()
	t.mu.Unlock()
	if closed {
		return nil, nil
	}
	listeners, err := listeners()
	for _, pid := range pids {
		m, memberErr := describe(uint32(pid))
		switch {
		case memberErr != nil:
			if !errors.Is(memberErr, windows.ERROR_INVALID_PARAMETER) { // it has exited
				err = errors.Join(err, fmt.Errorf("process %d: %w", pid, memberErr))
			}
		case slices.Contains(t.members(), pid): // it had this ID when it was opened
			m.Listening = listeners[uint32(pid)]
			members = append(members, m)
		}
	}
	slices.SortFunc(members, func(a, b Member) int { return cmp.Compare(a.PID, b.PID) })
	if t.reads {
		err = errors.Join(err, fmt.Errorf("whether a process waits for input: %w", errors.ErrUnsupported))
	}
	return members, err
}

func describe(pid uint32) (m Member, err error) {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	if err != nil {
		return m, err
	}
	defer windows.CloseHandle(process)
	var basic windows.PROCESS_BASIC_INFORMATION
	var memory struct { // VM_COUNTERS
		peakVirtual, virtual   uintptr
		faults                 uint32
		peakResident, resident uintptr
		_                      [6]uintptr
	}
	var created, exited, kernel, user windows.Filetime
	err = cmp.Or(
		query(process, windows.ProcessBasicInformation, unsafe.Pointer(&basic), unsafe.Sizeof(basic)),
		query(process, windows.ProcessVmCounters, unsafe.Pointer(&memory), unsafe.Sizeof(memory)),
		windows.GetProcessTimes(process, &created, &exited, &kernel, &user),
	)
	const unit = 100 * time.Nanosecond
	ticks := func(f windows.Filetime) time.Duration {
		return time.Duration(uint64(f.HighDateTime)<<32|uint64(f.LowDateTime)) * unit
	}
	return Member{
		PID: int(pid), Parent: int(basic.InheritedFromUniqueProcessId), Command: commandOf(process),
		CPUTime: ticks(kernel) + ticks(user), Memory: int64(memory.resident),
	}, err
}

func query(process windows.Handle, what int32, result unsafe.Pointer, size uintptr) error {
	return windows.NtQueryInformationProcess(process, what, result, uint32(size), nil)
}

// commandOf returns the command line of a process, or else the path of its program.
func commandOf(process windows.Handle) string {
	const room = 64 << 10 // of the longest command line, and a header
	buffer := make([]uintptr, room/unsafe.Sizeof(uintptr(0)))
	text := ""
	err := query(process, windows.ProcessCommandLineInformation, unsafe.Pointer(&buffer[0]), room)
	if err == nil {
		text = (*windows.NTUnicodeString)(unsafe.Pointer(&buffer[0])).String()
	} else {
		path, size := make([]uint16, windows.MAX_LONG_PATH), uint32(windows.MAX_LONG_PATH)
		if windows.QueryFullProcessImageName(process, 0, &path[0], &size) == nil {
			text = windows.UTF16ToString(path[:size])
		}
	}
	return strings.ToValidUTF8(text[:min(len(text), maxCommand)], "")
}

var procGetExtendedTCPTable = windows.NewLazySystemDLL("iphlpapi.dll").NewProc("GetExtendedTcpTable")

// listeners returns the addresses of the TCP sockets that listen, by process.
func listeners() (map[uint32][]netip.AddrPort, error) {
	found := make(map[uint32][]netip.AddrPort)
	for _, family := range []struct {
		id                            uint32
		row, address, bits, port, pid int // the size of a MIB_TCPROW_OWNER_PID or MIB_TCP6ROW_OWNER_PID, and offsets
	}{
		{windows.AF_INET, 24, 4, 32, 8, 20}, {windows.AF_INET6, 56, 0, 128, 20, 52},
	} {
		table, err := tcpTable(family.id)
		if err != nil {
			return nil, err
		}
		count, rows := binary.NativeEndian.Uint32(table), table[4:]
		for ; count > 0 && len(rows) >= family.row; count, rows = count-1, rows[family.row:] {
			ip, _ := netip.AddrFromSlice(rows[family.address : family.address+family.bits/8])
			port := binary.BigEndian.Uint16(rows[family.port:])
			pid := binary.NativeEndian.Uint32(rows[family.pid:])
			found[pid] = append(found[pid], netip.AddrPortFrom(ip, port))
		}
	}
	return found, nil
}

// tcpTable returns the sockets of a family that listen: their number, in four bytes, and at least as many rows.
func tcpTable(family uint32) ([]byte, error) {
	const ownerPIDListener = 3 // TCP_TABLE_OWNER_PID_LISTENER
	for size := uint32(4 << 10); ; {
		table := make([]byte, size)
		status, _, _ := procGetExtendedTCPTable.Call(uintptr(unsafe.Pointer(&table[0])), uintptr(unsafe.Pointer(&size)),
			0, uintptr(family), ownerPIDListener, 0)
		switch windows.Errno(status) {
		case 0:
			return table, nil
		case windows.ERROR_INSUFFICIENT_BUFFER: // size is what it needs now
		default:
			return nil, os.NewSyscallError("GetExtendedTcpTable", windows.Errno(status))
		}
	}
}

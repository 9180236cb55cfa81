package bubblewrap

// The filter refuses system calls to resources that no namespace confines, and to parts of the kernel that few programs
// need and many attacks use. man 2 seccomp describes the format of the filter.

import (
	"encoding/binary"
	"errors"
	"runtime"

	"golang.org/x/sys/unix"
)

// syscallRule refuses system calls: always, or by the value of one argument if one of the last three fields is set. It
// compares the low 32 bits of the argument, since the kernel uses only those in these calls.
type syscallRule struct {
	calls    []uint32
	errno    unix.Errno // the error of refused calls
	argument uint32     // the argument's index, from 0
	allowed  []uint32   // all other values are refused
	refused  []uint32   // these values are refused
	flag     uint32     // values with this bit are refused
}

// syscallRules returns the rules. A kernel built without a feature returns ENOSYS, and programs expect it.
func syscallRules() []syscallRule {
	return []syscallRule{
		// AF_VSOCK reaches the hypervisor from every network namespace. The others are rarely used, like their code in
		// the kernel.
		{calls: []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR}, errno: unix.EAFNOSUPPORT,
			argument: 0, allowed: []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}},
		// The filter does not see operations of io_uring, such as IORING_OP_SOCKET.
		{calls: []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER},
			errno: unix.ENOSYS},
		// Keyrings belong to the user and the session outside. They hold passwords, tickets and keys of encrypted file
		// systems.
		{calls: []uint32{unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY}, errno: unix.ENOSYS},
		// A program has capabilities in a user namespace that it created, and many attacks on kernels start there. It
		// could not map user ids, as /proc is read-only. clone3 has its flags in memory, where a filter cannot see
		// them; programs fall back to clone.
		{calls: []uint32{unix.SYS_UNSHARE, unix.SYS_CLONE}, errno: unix.EPERM, argument: 0, flag: unix.CLONE_NEWUSER},
		{calls: []uint32{unix.SYS_CLONE3}, errno: unix.ENOSYS},
		// The kernel's log covers the whole machine.
		{calls: []uint32{unix.SYS_SYSLOG}, errno: unix.ENOSYS},
		// Few programs use these, and many attacks on kernels do.
		{calls: []uint32{unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD}, errno: unix.ENOSYS},
		// These put characters into a terminal's input, as if the user had typed or pasted them.
		{calls: []uint32{unix.SYS_IOCTL}, errno: unix.EPERM,
			argument: 1, refused: []uint32{unix.TIOCSTI, unix.TIOCLINUX}},
	}
}

// syscallFilter returns the filter in the form that bwrap reads. It returns errors.ErrUnsupported on architectures
// without a filter.
func syscallFilter() ([]byte, error) {
	var architecture uint32
	switch runtime.GOARCH {
	case "amd64":
		architecture = unix.AUDIT_ARCH_X86_64
	case "arm64":
		architecture = unix.AUDIT_ARCH_AARCH64
	default:
		reason := "no filter of system calls is known for " + runtime.GOARCH + ", see Options.NoSyscallFilter"
		return nil, internalError(reason, errors.ErrUnsupported)
	}
	return binary.Append(nil, binary.NativeEndian, syscallProgram(architecture))
}

// syscallProgram returns the filter as instructions.
func syscallProgram(architecture uint32) []unix.SockFilter {
	const (
		number, arch = 0, 4       // offsets in struct seccomp_data
		x32          = 0x40000000 // amd64 has a second set of numbers from here on
	)
	program := []unix.SockFilter{
		bpfLoad(arch), // a program on amd64 can make calls of i386, with other numbers
		bpfUnlessEqual(architecture, 1), bpfReturn(unix.SECCOMP_RET_KILL_PROCESS),
		bpfLoad(number),
		bpfIfAtLeast(x32, 1), bpfRefuse(unix.ENOSYS),
	}
	for _, rule := range syscallRules() {
		decision := rule.decision()
		for _, call := range rule.calls {
			program = append(program, bpfIfEqual(call, len(decision)))
			program = append(program, decision...)
		}
	}
	return append(program, bpfReturn(unix.SECCOMP_RET_ALLOW))
}

// decision returns the instructions that decide about a call of the rule.
func (r syscallRule) decision() []unix.SockFilter {
	const arguments = 16 // offset in struct seccomp_data; 8 bytes each, little-endian
	decision := []unix.SockFilter{bpfLoad(arguments + 8*r.argument)}
	for _, value := range r.allowed {
		decision = append(decision, bpfIfEqual(value, 1), bpfReturn(unix.SECCOMP_RET_ALLOW))
	}
	for _, value := range r.refused {
		decision = append(decision, bpfIfEqual(value, 1), bpfRefuse(r.errno))
	}
	if r.flag != 0 {
		decision = append(decision, bpfIfSet(r.flag, 1), bpfRefuse(r.errno))
	}
	if r.refused != nil || r.flag != 0 {
		return append(decision, bpfReturn(unix.SECCOMP_RET_ALLOW))
	}
	return append(decision, bpfRefuse(r.errno))
}

// bpfLoad loads 32 bits of struct seccomp_data.
func bpfLoad(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

// bpfIfEqual skips the next n instructions unless the loaded value equals value.
func bpfIfEqual(value uint32, n int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jf: uint8(n)}
}

// bpfIfAtLeast skips the next n instructions if the loaded value is less than value.
func bpfIfAtLeast(value uint32, n int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: value, Jf: uint8(n)}
}

// bpfUnlessEqual skips the next n instructions if the loaded value equals value.
func bpfUnlessEqual(value uint32, n int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jt: uint8(n)}
}

// bpfIfSet skips the next n instructions if the loaded value has no bit of flag.
func bpfIfSet(flag uint32, n int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: flag, Jf: uint8(n)}
}

// bpfReturn ends the filter with an action.
func bpfReturn(action uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
}

// bpfRefuse ends the filter and makes the call fail with errno.
func bpfRefuse(errno unix.Errno) unix.SockFilter {
	return bpfReturn(unix.SECCOMP_RET_ERRNO | uint32(errno))
}

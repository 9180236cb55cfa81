//go:build amd64 || arm64

package bubblewrap_test

// Tests of resources that no namespace confines and sandboxed commands cannot reach by system calls: the hypervisor,
// keys, io_uring.

import (
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm/bubblewrap"
)

// systemCall is an attempt to make a system call.
func systemCall(arguments ...uint64) attempt {
	return attempt{"call", strings.Trim(fmt.Sprint(arguments), "[]")}
}

const highBit = 1 << 32 // the kernel ignores it in int arguments

func TestSandboxRefusesSystemCalls(t *testing.T) {
	root := t.TempDir()
	try(t, newManager(t, bubblewrap.Options{}, root), root,
		expect(noSuchFamily,
			systemCall(unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM),
			systemCall(unix.SYS_SOCKET, unix.AF_VSOCK|highBit, unix.SOCK_STREAM),
			systemCall(unix.SYS_SOCKETPAIR, unix.AF_VSOCK, unix.SOCK_STREAM),
			systemCall(unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_RAW),
			systemCall(unix.SYS_SOCKET, unix.AF_ALG, unix.SOCK_SEQPACKET),
			systemCall(unix.SYS_SOCKET, 1<<31, unix.SOCK_STREAM)),
		expect(noSuchCall,
			systemCall(unix.SYS_IO_URING_SETUP, 1), systemCall(unix.SYS_IO_URING_ENTER, 0),
			systemCall(unix.SYS_IO_URING_REGISTER, 0), systemCall(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, 1<<64-4),
			systemCall(unix.SYS_ADD_KEY), systemCall(unix.SYS_REQUEST_KEY), systemCall(unix.SYS_SYSLOG, 10),
			systemCall(unix.SYS_BPF), systemCall(unix.SYS_PERF_EVENT_OPEN), systemCall(unix.SYS_USERFAULTFD, 1),
			systemCall(unix.SYS_CLONE3)),
		expect(forbidden,
			attempt{What: "user namespace"}, systemCall(unix.SYS_UNSHARE, unix.CLONE_NEWUSER),
			systemCall(unix.SYS_UNSHARE, unix.CLONE_NEWUSER|unix.CLONE_NEWNET),
			systemCall(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_FS), // else EINVAL
			systemCall(unix.SYS_IOCTL, 0, unix.TIOCSTI), systemCall(unix.SYS_IOCTL, 0, unix.TIOCSTI|highBit),
			systemCall(unix.SYS_IOCTL, 0, unix.TIOCLINUX)),
	)
}

// System calls that programs need have the same result inside and outside the sandbox.
func TestSandboxAllowsSystemCalls(t *testing.T) {
	attempts := []attempt{
		systemCall(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM),
		systemCall(unix.SYS_SOCKET, unix.AF_UNIX|highBit, unix.SOCK_STREAM),
		systemCall(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM),
		systemCall(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM),
		systemCall(unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_STREAM),
		systemCall(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW),
		systemCall(unix.SYS_CLONE, unix.CLONE_THREAD), // refused with EINVAL, as CLONE_VM is missing
		systemCall(unix.SYS_UNSHARE, 0),
		systemCall(unix.SYS_IOCTL, 0, unix.TCGETS),
		systemCall(unix.SYS_PTRACE, 1<<32),
	}
	root := t.TempDir()
	require.Equal(t, outside(t, attempts...), inside(t, newManager(t, bubblewrap.Options{}, root), root, attempts...))
}

func TestSandboxHidesKeys(t *testing.T) {
	name := fmt.Sprintf("acpterm-test-%d", os.Getpid())
	key, err := unix.AddKey("user", name, []byte("the key"), unix.KEY_SPEC_USER_KEYRING)
	if err != nil {
		t.Skip("keys cannot be made here: ", err)
	}
	t.Cleanup(func() { unix.KeyctlInt(unix.KEYCTL_UNLINK, key, unix.KEY_SPEC_USER_KEYRING, 0, 0) })
	inUser := attempt{"key", fmt.Sprint(unix.KEY_SPEC_USER_KEYRING, " ", name)}
	inSession := attempt{"key", fmt.Sprint(unix.KEY_SPEC_SESSION_KEYRING, " ", name)}
	require.Equal(t, "the key", inUser.result())

	root := t.TempDir()
	try(t, newManager(t, bubblewrap.Options{}, root), root,
		expect(noSuchCall, inUser, inSession), expect(denied, each("read", "/proc/keys", "/proc/key-users")...))
}

// A call with another architecture's number would pass a filter that knows only the numbers of this one.
func TestSandboxRefusesOtherArchitectures(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("programs of another architecture are only made for amd64 here")
	}
	const x32 = 0x40000000
	root := t.TempDir()
	m := newManager(t, bubblewrap.Options{}, root)
	try(t, m, root, expect(noSuchCall,
		systemCall(x32|unix.SYS_GETPID), systemCall(x32|unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM)))

	program := filepath.Join(root, "i386")
	file, err := hex.DecodeString(exitsOnI386)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(program, file, 0o700))
	outside := exec.Command(program)
	if err := outside.Run(); outside.ProcessState == nil || outside.ProcessState.ExitCode() != 42 {
		t.Skip("programs for i386 do not run here: ", err)
	}
	require.Equal(t, uint32(128+unix.SIGSYS), *run(t, m, request(program)).ExitStatus.ExitCode)
}

// exitsOnI386 is an executable file for i386 that exits with 42: two headers, which load everything, and instructions
// (mov eax, 1; mov ebx, 42; int 0x80).
const exitsOnI386 = "7f454c46010101000000000000000000" +
	"0200030001000000548004083400000000000000000000003400200001000000" + "00000000" +
	"0100000000000000008004080080040860000000600000000500000000100000" + "b801000000bb2a000000cd80"

// refuseFilters makes the kernel refuse further filters to this thread and the processes that it starts, like a kernel
// without seccomp.
func refuseFilters() error {
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		end   = unix.BPF_RET | unix.BPF_K
	)
	filter := []unix.SockFilter{
		{Code: load, K: 0}, // the number of the system call
		{Code: equal, K: unix.SYS_SECCOMP, Jt: 3},
		{Code: equal, K: unix.SYS_PRCTL, Jf: 3},
		{Code: load, K: 16}, // its first argument
		{Code: equal, K: unix.PR_SET_SECCOMP, Jf: 1},
		{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EINVAL)},
		{Code: end, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}

// Where the kernel refuses the filter, New fails unless NoSyscallFilter is set.
func TestBubblewrapNeedsTheSyscallFilter(t *testing.T) {
	needsBubblewrap(t)
	refused := make(chan error)
	var with, without error
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		err := refuseFilters()
		_, with = bubblewrap.New(nil)
		_, without = bubblewrap.New(&bubblewrap.Options{NoSyscallFilter: true})
		refused <- err
	}()
	require.NoError(t, <-refused)
	require.Regexp(t, "^acpterm: bubblewrap: bwrap does not work here: .*(?i)seccomp", with)
	require.NoError(t, without)
}

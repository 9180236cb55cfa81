//go:build amd64 || arm64

package acpterm_test

// What a sandboxed command cannot reach by system calls that no namespace confines: the hypervisor, keys, io_uring.

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/bubblewrap"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func init() {
	children["host-that-cannot-filter"] = hostThatCannotFilter
}

// systemCall is an attempt to make a system call.
func systemCall(arguments ...uint64) attempt {
	var words []string
	for _, a := range arguments {
		words = append(words, strconv.FormatUint(a, 10))
	}
	return attempt{"call", strings.Join(words, " ")}
}

const (
	noSuchCall   = "function not implemented"
	noSuchFamily = "address family not supported by protocol"
	highBit      = 1 << 32 // the kernel does not look at it where an argument is an int
)

func TestSandboxRefusesSystemCalls(t *testing.T) {
	tests := []struct {
		attempt
		want string
	}{
		{systemCall(unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM), noSuchFamily},
		{systemCall(unix.SYS_SOCKET, unix.AF_VSOCK|highBit, unix.SOCK_STREAM), noSuchFamily},
		{systemCall(unix.SYS_SOCKETPAIR, unix.AF_VSOCK, unix.SOCK_STREAM), noSuchFamily},
		{systemCall(unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_RAW), noSuchFamily},
		{systemCall(unix.SYS_SOCKET, unix.AF_ALG, unix.SOCK_SEQPACKET), noSuchFamily},
		{systemCall(unix.SYS_SOCKET, 1<<31, unix.SOCK_STREAM), noSuchFamily},
		{systemCall(unix.SYS_IO_URING_SETUP, 1), noSuchCall},
		{systemCall(unix.SYS_IO_URING_ENTER, 0), noSuchCall},
		{systemCall(unix.SYS_IO_URING_REGISTER, 0), noSuchCall},
		{systemCall(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, 1<<64-4), noSuchCall},
		{systemCall(unix.SYS_ADD_KEY), noSuchCall},
		{systemCall(unix.SYS_REQUEST_KEY), noSuchCall},
		{systemCall(unix.SYS_SYSLOG, 10), noSuchCall},
		{systemCall(unix.SYS_BPF), noSuchCall},
		{systemCall(unix.SYS_PERF_EVENT_OPEN), noSuchCall},
		{systemCall(unix.SYS_USERFAULTFD, 1), noSuchCall},
		{attempt{What: "user namespace"}, forbidden},
		{systemCall(unix.SYS_UNSHARE, unix.CLONE_NEWUSER), forbidden},
		{systemCall(unix.SYS_UNSHARE, unix.CLONE_NEWUSER|unix.CLONE_NEWNET), forbidden},
		{systemCall(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_FS), forbidden}, // which the kernel itself refuses with EINVAL
		{systemCall(unix.SYS_CLONE3), noSuchCall},
		{systemCall(unix.SYS_IOCTL, 0, unix.TIOCSTI), forbidden},
		{systemCall(unix.SYS_IOCTL, 0, unix.TIOCSTI|highBit), forbidden},
		{systemCall(unix.SYS_IOCTL, 0, unix.TIOCLINUX), forbidden},
	}
	var attempts []attempt
	for _, test := range tests {
		attempts = append(attempts, test.attempt)
	}
	root := t.TempDir()
	got := probe(t, sandboxManager(t, bubblewrap.Options{}, root), root, attempts...)
	for i, test := range tests {
		assert.Equal(t, test.want, got[i], "%v", test.attempt)
	}
}

// What programs need has the result in the sandbox that it has outside.
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
	var outside []string
	t.Run("outside", func(t *testing.T) {
		outside = probe(t, newManager(t, nil), root, attempts...)
	})
	require.Equal(t, outside, probe(t, sandboxManager(t, bubblewrap.Options{}, root), root, attempts...))
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
	m := sandboxManager(t, bubblewrap.Options{}, root)
	got := probe(t, m, root, inUser, inSession, attempt{"read", "/proc/keys"}, attempt{"read", "/proc/key-users"})
	require.Equal(t, []string{noSuchCall, noSuchCall, denied, denied}, got)
}

// A call by another architecture's numbers would pass a filter that only knows this one's.
func TestSandboxRefusesOtherArchitectures(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("programs of another architecture are only made for amd64 here")
	}
	root := t.TempDir()
	m := sandboxManager(t, bubblewrap.Options{}, root)
	const x32 = 0x40000000
	require.Equal(t, []string{noSuchCall, noSuchCall}, probe(t, m, root,
		systemCall(x32|unix.SYS_GETPID), systemCall(x32|unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM)))

	program := filepath.Join(root, "i386")
	require.NoError(t, os.WriteFile(program, exitsOnI386(42), 0o700))
	outside := exec.Command(program)
	if err := outside.Run(); outside.ProcessState == nil || outside.ProcessState.ExitCode() != 42 {
		t.Skip("programs for i386 do not run here: ", err)
	}
	out := run(t, m, acpterm.CreateTerminalRequest{SessionID: "s", Command: program})
	require.Equal(t, uint32(128+unix.SIGSYS), *out.ExitStatus.ExitCode)
}

// exitsOnI386 is the file of a program for i386 that exits with a code.
func exitsOnI386(code byte) []byte {
	const address = 0x08048000
	instructions := []byte{
		0xB8, 1, 0, 0, 0, // mov eax, 1: exit
		0xBB, code, 0, 0, 0, // mov ebx, code
		0xCD, 0x80, // int 0x80
	}
	file := append([]byte("\x7fELF\x01\x01\x01"), make([]byte, 9)...)
	file = binary.LittleEndian.AppendUint16(file, 2)           // an executable
	file = binary.LittleEndian.AppendUint16(file, 3)           // for i386
	for _, word := range []uint32{1, address + 84, 52, 0, 0} { // version, entry, program headers, section headers, flags
		file = binary.LittleEndian.AppendUint32(file, word)
	}
	for _, half := range []uint16{52, 32, 1, 0, 0, 0} { // sizes and numbers of headers
		file = binary.LittleEndian.AppendUint16(file, half)
	}
	size := uint32(84 + len(instructions))
	// Load all of it, to be read and executed.
	for _, word := range []uint32{1, 0, address, address, size, size, 5, 0x1000} {
		file = binary.LittleEndian.AppendUint32(file, word)
	}
	return append(file, instructions...)
}

func TestSandboxWithoutASyscallFilter(t *testing.T) {
	root := t.TempDir()
	m := sandboxManager(t, bubblewrap.Options{NoSyscallFilter: true}, root)
	packets := systemCall(unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_RAW)
	require.NotEqual(t, noSuchFamily, probe(t, m, root, packets)[0])
}

// hostThatCannotFilter is the child that may not load seccomp filters, and says what becomes of sandboxes then.
func hostThatCannotFilter([]string) {
	if err := refuseFilters(); err != nil {
		panic(err)
	}
	for _, options := range []bubblewrap.Options{{}, {NoSyscallFilter: true}} {
		_, err := bubblewrap.New(&options)
		fmt.Printf("%q\n", fmt.Sprint(err))
	}
}

// refuseFilters has the kernel refuse further filters to this process and what it starts, as one without seccomp does.
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
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}

// Where the kernel does not take the filter there is no sandbox, unless one without is asked for.
func TestBubblewrapNeedsTheSyscallFilter(t *testing.T) {
	needsBubblewrap(t)
	host := exec.Command(executable(), childMark, "host-that-cannot-filter")
	host.Stderr = os.Stderr
	output, err := host.Output()
	require.NoError(t, err)
	lines := strings.Split(string(output), "\n")
	require.Regexp(t, `^"acpterm: bubblewrap: bwrap does not work here: .*(?i)seccomp`, lines[0])
	require.Equal(t, `"<nil>"`, lines[1])
}

package acpterm_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"unsafe"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// refuse has the kernel refuse system calls to this process from now on, as containers do.
func refuse(errno syscall.Errno, numbers ...string) error {
	const (
		load = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		jump = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		end  = unix.BPF_RET | unix.BPF_K
	)
	filter := []unix.SockFilter{{Code: load, K: 0}} // seccomp_data.nr
	for _, n := range numbers {
		filter = append(filter, unix.SockFilter{Code: jump, Jf: 1, K: uint32(number(n))},
			unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(errno)})
	}
	filter = append(filter, unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ALLOW})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, failed := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if failed != 0 {
		return failed
	}
	return nil
}

// hostThatForks ERRNO NUMBER...: is refused the system calls, and says what its commands have.
func hostThatForks(args []string) {
	if len(args) > 0 {
		if err := refuse(syscall.Errno(number(args[0])), args[1:]...); err != nil {
			panic(err)
		}
	}
	if _, err := syscall.Dup(1); err != nil { // without close-on-exec, as C code would
		panic(err)
	}
	m := acpterm.NewManager(nil)
	defer m.Close()
	say := func(line string) {
		fmt.Print(runHosted(m, shellRequest(line), acpterm.Limits{}).Output().Output)
	}
	say("ulimit -Sn; ulimit -Hn")
	say("for i in 0 1 2 3 4 5 6 7 8 9 10; do if [ -e /dev/fd/$i ]; then echo -n $i; fi; done; echo")
	say("ulimit -Sn")
	_, err := m.Create(context.Background(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "/"})
	fmt.Println(errors.Is(err, acpterm.ErrNotExecutable))
	var own syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &own); err != nil {
		panic(err)
	}
	own.Cur = 400
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &own); err != nil {
		panic(err)
	}
	say("ulimit -Sn")
}

// However a command is forked, and where the kernel refuses one way, it has the limit of open files that its host was
// started with, which is not that of Go's processes, and its three descriptors.
func TestCommandsOfHostsThatAreRefusedThings(t *testing.T) {
	var own unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &own))
	text := func(numbers ...int) (args []string) {
		for _, n := range numbers {
			args = append(args, strconv.Itoa(n))
		}
		return args
	}
	for name, refused := range map[string][]string{
		"nothing":                 nil,
		"clone3, as by Docker":    text(int(unix.ENOSYS), unix.SYS_CLONE3),
		"close_range, as by 5.10": text(int(unix.ENOSYS), unix.SYS_CLOSE_RANGE),
		"ptrace":                  text(int(unix.EPERM), unix.SYS_PTRACE),
		"clone3 and ptrace":       text(int(unix.ENOSYS), unix.SYS_PTRACE, unix.SYS_CLONE3),
	} {
		for _, soft := range []uint64{500, own.Max} {
			args := append([]string{"-c", fmt.Sprintf(`ulimit -Sn %d && exec "$0" "$@"`, soft), executable(), childMark, "host-that-forks"}, refused...)
			host := exec.Command("/bin/sh", args...)
			host.Stderr = os.Stderr
			said, err := host.Output()
			require.NoError(t, err, "%s: %s", name, said)
			want := fmt.Sprintf("%d\n%d\n012\n%[1]d\ntrue\n400\n", soft, own.Max)
			require.Equal(t, want, string(said), "%s, soft limit %d", name, soft)
		}
	}
}

package main

// Kinds of host: other activities of the process that uses the library, and restrictions by the system.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// enteredVariable names the kind of host that this process already is.
const enteredVariable = "SOAK_HOST"

// hostKindOf is a kind of host. The zero value, except for keeps and reaps, is a process that does nothing else.
type hostKindOf struct {
	name, shows string
	keeps       bool // acpterm can keep its promises in it
	reaps       bool // no zombies but the library's own become its children

	// The program is started again after prepare has changed the command, or replaces itself after replace has changed
	// the process. Then inside changes the process that runs the scenarios. Each may be nil.
	prepare func(cmd *exec.Cmd) (undo func(), err error)
	replace func() error
	inside  func() (undo func(), err error)
}

func hostKinds() []hostKindOf {
	return []hostKindOf{
		{name: "busy", shows: "runs other commands by os/exec", keeps: true, reaps: true, inside: startOthers},
		{name: "notified", shows: "is notified of SIGCHLD", keeps: true, reaps: true, inside: notified},
		{name: "ignored", shows: "ignores SIGCHLD", inside: ignored},
		{name: "reaped", shows: "reaps all children by wait4(-1)", inside: reaped},
		{name: "init", shows: "is process 1 of a pid namespace", keeps: true, prepare: newNamespace, inside: mountProc},
		{name: "subreaper", shows: "is a subreaper", keeps: true, inside: subreaper},
		{name: "no-clone3", shows: "may not call clone3 (seccomp)", keeps: true, reaps: true,
			replace: func() error { return refuse(unix.SYS_CLONE3, unix.ENOSYS) }},
		{name: "no-pidfd_open", shows: "may not call pidfd_open (seccomp)", keeps: true, reaps: true,
			replace: func() error { return refuse(unix.SYS_PIDFD_OPEN, unix.EPERM) }},
		{name: "one-processor", shows: "has GOMAXPROCS=1", keeps: true, reaps: true, prepare: oneProcessor},
		{name: "user", shows: "is another user than root", keeps: true, reaps: true, prepare: anotherUser},
		{name: "race", shows: "is built with -race", keeps: true, reaps: true, prepare: built("-race")},
		{name: "cgo", shows: "is built with cgo", keeps: true, reaps: true, prepare: built("-tags", "soakcgo")},
	}
}

func hostKind(name string) (hostKindOf, error) {
	if name == "" {
		return hostKindOf{keeps: true, reaps: true}, nil
	}
	all := hostKinds()
	if i := slices.IndexFunc(all, func(k hostKindOf) bool { return k.name == name }); i >= 0 {
		return all[i], nil
	}
	return hostKindOf{}, fmt.Errorf("there is no kind of host %q", name)
}

// enter runs this program again as that kind of host, and reports whether it succeeded.
func (k hostKindOf) enter() (ok bool, err error) {
	os.Setenv(enteredVariable, k.name)
	if k.replace != nil {
		runtime.LockOSThread()
		if err := k.replace(); err != nil {
			return false, err
		}
		return false, syscall.Exec(executable(), os.Args, os.Environ())
	}
	cmd := exec.Command(executable(), os.Args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if k.prepare != nil {
		undo, err := k.prepare(cmd)
		if err != nil {
			return false, err
		}
		defer undo()
	}
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return false, nil
	}
	return err == nil, err
}

// become makes this process that kind of host.
func (k hostKindOf) become() (undo func(), err error) {
	if k.inside == nil {
		return func() {}, nil
	}
	return k.inside()
}

// startOthers keeps running the host's own commands.
func startOthers() (undo func(), err error) {
	over := make(chan struct{})
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				out, err := exec.Command("sh", "-c", "echo fine; exit 3").Output()
				exit, ok := errors.AsType[*exec.ExitError](err)
				if !ok || exit.ExitCode() != 3 || string(out) != "fine\n" {
					fmt.Fprintf(os.Stderr, "soak: a command of the host's own: %q, %v\n", out, err)
					os.Exit(2)
				}
			}
		})
	}
	return func() {
		close(over)
		workers.Wait()
	}, nil
}

func notified() (undo func(), err error) {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGCHLD)
	go func() {
		for range signals {
		}
	}()
	return func() { signal.Stop(signals); close(signals) }, nil
}

func ignored() (undo func(), err error) {
	signal.Ignore(syscall.SIGCHLD)
	return func() { signal.Reset(syscall.SIGCHLD) }, nil
}

func reaped() (undo func(), err error) {
	go func() {
		for {
			var status syscall.WaitStatus
			if _, err := syscall.Wait4(-1, &status, 0, nil); err == syscall.ECHILD {
				time.Sleep(100 * time.Microsecond)
			}
		}
	}()
	return func() {}, nil
}

func newNamespace(cmd *exec.Cmd) (undo func(), err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	return func() {}, nil
}

func mountProc() (undo func(), err error) {
	if os.Getpid() != 1 {
		return nil, errors.New("this is not process 1")
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return nil, err
	}
	return func() {}, syscall.Mount("proc", "/proc", "proc", 0, "")
}

func subreaper() (undo func(), err error) {
	return func() {}, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// refuse makes a system call fail in this thread, and in every process that it becomes or starts.
func refuse(call uint32, with syscall.Errno) error {
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		ret   = unix.BPF_RET | unix.BPF_K
	)
	filter := []unix.SockFilter{
		{Code: load, K: 0}, // seccomp_data.nr
		{Code: equal, K: call, Jf: 1},
		{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(with)},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}

func oneProcessor(cmd *exec.Cmd) (undo func(), err error) {
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	return func() {}, nil
}

// anotherUser starts a copy of this program as another user, in a directory owned by that user.
func anotherUser(cmd *exec.Cmd) (undo func(), err error) {
	const nobody = 65534
	dir, err := os.MkdirTemp("", "soak-user")
	if err != nil {
		return nil, err
	}
	undo = func() { os.RemoveAll(dir) }
	program, err := os.ReadFile(executable())
	if err == nil {
		cmd.Path = filepath.Join(dir, "soak")
		err = os.WriteFile(cmd.Path, program, 0o755)
	}
	if err == nil {
		err = os.Chown(dir, nobody, nobody)
	}
	if err != nil {
		undo()
		return nil, err
	}
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return undo, nil
}

// built starts this program built with other flags, and with cgo. It must run in the repository.
func built(flags ...string) func(cmd *exec.Cmd) (undo func(), err error) {
	return func(cmd *exec.Cmd) (undo func(), err error) {
		dir, err := os.MkdirTemp("", "soak-build")
		if err != nil {
			return nil, err
		}
		undo = func() { os.RemoveAll(dir) }
		cmd.Path = filepath.Join(dir, "soak")
		args := slices.Concat([]string{"build", "-o", cmd.Path}, flags, []string{"github.com/acpterm/acpterm/soak"})
		build := exec.Command("go", args...)
		build.Env = append(os.Environ(), "CGO_ENABLED=1")
		if out, err := build.CombinedOutput(); err != nil {
			undo()
			return nil, fmt.Errorf("%v: %w: %s", build.Args, err, out)
		}
		return undo, nil
	}
}

// kinds runs some scenarios in each kind of host, each in a separate process. Its count is the number of races in each.
func kinds(r *run) {
	r.zero("runs failed")
	for _, k := range hostKinds() {
		parts := map[string]int{"strangers": 10} // how many races there are for each
		if k.keeps {
			parts["races"], parts["bursts"], parts["reexecs"] = 1, 1, 20
		}
		for _, sc := range scenarios() {
			if parts[sc.name] == 0 {
				continue
			}
			args := []string{"-host", k.name, "-n", fmt.Sprint(max(1, r.count/parts[sc.name])),
				"-seed", fmt.Sprint(r.seed), "-seconds", fmt.Sprint(r.seconds), "-procs", fmt.Sprint(r.procs), sc.name}
			if err := runSoak(args, "  "+k.name+": "); err != nil {
				r.fail("runs failed", 1, "%s: %v", strings.Join(args, " "), err)
			}
			r.done.Add(1)
		}
	}
}

// runSoak runs this program with its lines indented.
func runSoak(args []string, prefix string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	cmd := exec.CommandContext(ctx, executable(), args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, enteredVariable+"=") })
	cmd.Stderr = os.Stderr
	var out bytes.Buffer
	cmd.Stdout = &out
	err := cmd.Run()
	for line := range strings.Lines(out.String()) {
		io.WriteString(os.Stdout, prefix+line)
	}
	return err
}

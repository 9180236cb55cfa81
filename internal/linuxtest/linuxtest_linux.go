// Package linuxtest provides a PID namespace, a cgroup and processes that do not end to tests on Linux. Tests that
// choose process numbers need the namespace, because they write to /proc/sys/kernel/ns_last_pid, and other tests'
// processes would get numbers out of order. Only tests import it.
package linuxtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

const (
	initMark        = "acpterm-test-init" // the first argument of the first process of a namespace
	insideVariable  = "ACPTERM_TEST_PID_NAMESPACE"
	cannotNamespace = 77 // the exit status of a first process that cannot set up its namespace
)

// Main is for TestMain. In the first process of a namespace made by InPIDNamespace, it starts the test, reaps the
// orphans inherited by that process, and exits as the test does. Elsewhere it does nothing.
func Main() {
	if len(os.Args) < 2 || os.Args[1] != initMark {
		return
	}
	if err := MountProc(); err != nil {
		fmt.Println(err)
		os.Exit(cannotNamespace)
	}
	files := []*os.File{os.Stdin, os.Stdout, os.Stderr}
	test, err := os.StartProcess("/proc/self/exe", append(os.Args[:1], os.Args[2:]...), &os.ProcAttr{Files: files})
	if err != nil {
		panic(err)
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err != nil && err != syscall.EINTR:
			panic(err)
		case pid == test.Pid && status.Exited():
			os.Exit(status.ExitStatus())
		case pid == test.Pid:
			panic(fmt.Sprint("the test ended by ", status.Signal()))
		}
	}
}

// MountProc mounts the /proc of this process's PID namespace, visible in its mount namespace only.
func MountProc() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	return syscall.Mount("proc", "/proc", "proc", 0, "")
}

// InPIDNamespace reports whether the process is in a PID namespace that it made. If not, it runs the whole test in one,
// in a separate process, and fails if that run fails. It skips the test if it cannot make a namespace, which requires
// root.
func InPIDNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(insideVariable) != "" {
		return true
	}
	name := regexp.MustCompile("^[^/]*").FindString(t.Name())
	again := exec.Command("/proc/self/exe", initMark, "-test.run=^"+regexp.QuoteMeta(name)+"$", "-test.v",
		fmt.Sprintf("-test.short=%t", testing.Short()))
	again.Env = append(os.Environ(), insideVariable+"=1")
	again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	out, err := again.CombinedOutput()
	if errors.Is(err, os.ErrPermission) ||
		again.ProcessState != nil && again.ProcessState.ExitCode() == cannotNamespace {
		t.Skipf("no PID namespace can be made here: %v %s", err, out)
	}
	if err != nil {
		t.Fatalf("in a PID namespace: %v\n%s", err, out)
	}
	return false
}

// CgroupDir makes a cgroup v2 directory for child cgroups, and removes it when the test ends. If it cannot make the
// directory, it skips the test.
func CgroupDir(t testing.TB) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if fields[2] != "cgroup2" {
			continue
		}
		dir, err := os.MkdirTemp(fields[1], "acpterm-test-")
		if err != nil {
			t.Skipf("no cgroup can be made here: %v", err)
		}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		})
		return dir
	}
	t.Skip("no cgroup v2 is mounted here")
	return ""
}

package acpterm_test

// Commands in bubblewrap, the real one: what they cannot do, each thing tried, and that they end as others do.

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/bubblewrap"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func init() {
	children["sandbox-probe"] = func(args []string) {
		var attempts []attempt
		if err := json.Unmarshal([]byte(args[0]), &attempts); err != nil {
			panic(err)
		}
		results := []string{}
		for _, a := range attempts {
			results = append(results, a.result())
		}
		json.NewEncoder(os.Stdout).Encode(results)
	}
	// argv0: writes what the program is called.
	children["argv0"] = func([]string) {
		line, _ := os.ReadFile("/proc/self/cmdline")
		fmt.Print(strings.SplitN(string(line), "\x00", 2)[0])
	}
	// descriptors: writes the numbers of what is open.
	children["descriptors"] = func([]string) {
		for fd := range 64 {
			if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
				if link, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); !strings.HasPrefix(link, "anon_inode:") {
					fmt.Println(fd, link)
				}
			}
		}
	}
	children["sandbox-unprivileged"] = sandboxUnprivileged
	children["sends-its-output"] = sendsItsOutput
	children["keeps-a-descriptor"] = keepsADescriptor
}

// attempt is something that a sandboxed command tries.
type attempt struct{ What, On string }

// result is "done", or what the system has against it.
func (a attempt) result() string {
	var err error
	switch a.What {
	case "write": // what is there too: as it is, without changing it
		var file *os.File
		if file, err = os.OpenFile(a.On, os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
			file.Close()
		}
	case "read":
		_, err = os.ReadFile(a.On)
	case "list":
		var entries []os.DirEntry
		if entries, err = os.ReadDir(a.On); err == nil {
			return fmt.Sprint(len(entries))
		}
	case "remount":
		err = unix.Mount("none", a.On, "", unix.MS_REMOUNT|unix.MS_BIND, "")
	case "unmount":
		err = unix.Unmount(a.On, unix.MNT_DETACH)
	case "mknod":
		err = unix.Mknod(a.On, unix.S_IFBLK|0o600, int(unix.Mkdev(254, 0)))
	case "load": // a module, from nonsense: without the right to, it is not looked at
		err = unix.InitModule([]byte("none"), "")
	case "signal":
		err = unix.Kill(number(a.On), 0)
	case "dial":
		network, address, _ := strings.Cut(a.On, " ")
		var c net.Conn
		if c, err = net.DialTimeout(network, address, 5*time.Second); err == nil {
			c.Close()
		}
	case "call": // the system call with these numbers
		err = callSystem(a.On)
	case "key": // of a keyring
		ring, name, _ := strings.Cut(a.On, " ")
		var content string
		if content, err = readKey(number(ring), name); err == nil {
			return content
		}
	case "user namespace":
		cmd := exec.Command("true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
		err = cmd.Run()
	case "shm":
		_, err = unix.SysvShmGet(number(a.On), 1, 0)
	case "processes": // their programs
		var found []string
		entries, _ := os.ReadDir("/proc")
		for _, entry := range entries {
			if _, err := strconv.Atoi(entry.Name()); err == nil {
				name, _ := os.ReadFile("/proc/" + entry.Name() + "/comm")
				found = append(found, strings.TrimSpace(string(name)))
			}
		}
		return strings.Join(found, " ")
	}
	if err != nil {
		return systemText(err)
	}
	return "done"
}

// callSystem makes the system call of such an attempt.
func callSystem(words string) error {
	var a [7]uintptr
	for i, word := range strings.Fields(words) {
		n, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			return err
		}
		a[i] = uintptr(n)
	}
	if _, _, errno := unix.RawSyscall6(a[0], a[1], a[2], a[3], a[4], a[5], a[6]); errno != 0 {
		return errno
	}
	return nil
}

// readKey searches a keyring for a key and returns what is in it.
func readKey(ring int, name string) (string, error) {
	key, err := unix.KeyctlSearch(ring, "user", name, 0)
	if err != nil {
		return "", err
	}
	content := make([]byte, 100)
	n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, key, content, 0)
	if err != nil {
		return "", err
	}
	return string(content[:n]), nil
}

func systemText(err error) string {
	for {
		unwrapped, ok := err.(interface{ Unwrap() error })
		if !ok || unwrapped.Unwrap() == nil {
			return err.Error()
		}
		err = unwrapped.Unwrap()
	}
}

// needsBubblewrap skips a test where bwrap is not installed and need not be.
func needsBubblewrap(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil && os.Getenv("ACPTERM_REQUIRE_BUBBLEWRAP") == "" {
		t.Skip("bwrap is not installed (ACPTERM_REQUIRE_BUBBLEWRAP makes this a failure)")
	}
}

// sandboxManager is a manager whose commands are sandboxed and can see the test's binary. Session "s" has the roots.
func sandboxManager(t testing.TB, o bubblewrap.Options, roots ...string) *acpterm.Manager {
	t.Helper()
	needsBubblewrap(t)
	o.ReadOnly = append(o.ReadOnly, filepath.Dir(executable()))
	w, err := bubblewrap.New(&o)
	require.NoError(t, err)
	m := newManager(t, &acpterm.Options{Wrap: w, Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: 2 * time.Second}}})
	if roots != nil {
		require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Roots: roots}))
	}
	return m
}

// probe has a sandboxed command try things, in a directory, and returns how it went.
func probe(t testing.TB, m *acpterm.Manager, dir string, attempts ...attempt) []string {
	t.Helper()
	text, err := json.Marshal(attempts)
	require.NoError(t, err)
	req := childRequest("sandbox-probe", string(text))
	req.Cwd = dir
	out := run(t, m, req)
	var results []string
	require.NoError(t, json.Unmarshal([]byte(out.Output), &results), "%s", out.Output)
	require.Len(t, results, len(attempts))
	return results
}

const (
	readOnlyFS = "read-only file system"
	forbidden  = "operation not permitted"
	denied     = "permission denied"
	missing    = "no such file or directory"
	done       = "done"
)

// outsideTmp is a directory that is not in /tmp, which is the sandbox's own.
func outsideTmp(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "acpterm-test-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestSandboxConfinesWriting(t *testing.T) {
	root, outside := t.TempDir(), outsideTmp(t)
	odd := filepath.Join(outside, "- an odd\nname=$(x)")
	require.NoError(t, os.Mkdir(odd, 0o700))
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	m := sandboxManager(t, bubblewrap.Options{}, root, odd)
	for _, test := range []struct {
		attempt
		want []string
	}{
		{attempt{"write", filepath.Join(root, "in")}, []string{done}},
		{attempt{"write", filepath.Join(odd, "in")}, []string{done}},
		{attempt{"write", "/tmp/own"}, []string{done}},
		{attempt{"write", "/dev/shm/own"}, []string{done}},
		{attempt{"write", filepath.Join(outside, "x")}, []string{readOnlyFS}},
		{attempt{"write", filepath.Join(home, "acpterm-test")}, []string{readOnlyFS, denied}},
		{attempt{"write", "/etc/hostname"}, []string{readOnlyFS, denied}},
		{attempt{"write", "/proc/1/root" + outside + "/x"}, []string{readOnlyFS, denied}},
		{attempt{"write", "/proc/self/root" + outside + "/x"}, []string{readOnlyFS}},
		{attempt{"write", "/proc/sys/kernel/core_pattern"}, []string{readOnlyFS, denied}},
		{attempt{"write", "/proc/sys/vm/overcommit_memory"}, []string{readOnlyFS, denied}},
		{attempt{"write", "/proc/sysrq-trigger"}, []string{readOnlyFS, denied, missing}},
		{attempt{"write", "/sys/power/state"}, []string{readOnlyFS, denied}},
		{attempt{"write", "/sys/kernel/uevent_helper"}, []string{readOnlyFS, denied}},
		{attempt{"write", "/dev/kmsg"}, []string{done, forbidden}}, // done: it is a new file, see below
		{attempt{"list", "/run"}, []string{"0"}},
		{attempt{"write", "/run/x"}, []string{readOnlyFS}},
		{attempt{"remount", "/"}, []string{forbidden}},
		{attempt{"remount", "/proc"}, []string{forbidden}},
		{attempt{"unmount", "/run"}, []string{forbidden}},
		{attempt{"unmount", "/tmp"}, []string{forbidden}},
		{attempt{"mknod", "/tmp/disk"}, []string{forbidden}},
		{attempt{"mknod", filepath.Join(root, "disk")}, []string{forbidden}},
		{attempt{"load", ""}, []string{forbidden, "function not implemented"}},
	} {
		require.Contains(t, test.want, probe(t, m, root, test.attempt)[0], "%q", test.attempt)
	}
	for _, path := range []string{"/tmp/own", "/dev/shm/own", filepath.Join(outside, "x"), filepath.Join(home, "acpterm-test")} {
		require.NoFileExists(t, path)
	}
	require.FileExists(t, filepath.Join(root, "in"))
	require.FileExists(t, filepath.Join(odd, "in"))

	req := childRequest("pwd")
	req.Cwd = odd
	require.Equal(t, odd+"\n", run(t, m, req).Output)
}

// Without roots nothing is writable but what is lost.
func TestSandboxWithoutRoots(t *testing.T) {
	dir := outsideTmp(t)
	m := sandboxManager(t, bubblewrap.Options{})
	require.Equal(t, []string{readOnlyFS, done}, probe(t, m, dir, attempt{"write", dir + "/x"}, attempt{"write", "/tmp/x"}))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("/etc", link))
	req := childRequest("environ")
	req.Cwd = link
	require.Contains(t, run(t, m, req).Output, "\nPWD="+link+"\n")
	req = childRequest("pwd")
	req.Cwd = fmt.Sprintf("/proc/%d", os.Getpid()) // which there is another /proc without
	out := run(t, m, req)
	require.False(t, out.ExitStatus.Success(), "it ran elsewhere: %s", out.Output)
	_, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "true", Cwd: t.TempDir()})
	require.ErrorIs(t, err, acpterm.ErrInvalidParams, "a directory that is not in the sandbox")
	_, err = m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "true", Cwd: "/run"})
	require.ErrorIs(t, err, acpterm.ErrInvalidParams)
	program := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700))
	_, err = m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: program, Cwd: "/"})
	require.ErrorIs(t, err, acpterm.ErrInvalidParams, "a program that is not in the sandbox")
}

func TestSandboxHidesProcesses(t *testing.T) {
	root := t.TempDir()
	other := exec.Command("sleep", "300")
	require.NoError(t, other.Start())
	t.Cleanup(func() { other.Process.Kill(); other.Wait() })
	segment, err := unix.SysvShmGet(0x61637074, 4096, unix.IPC_CREAT|0o666)
	require.NoError(t, err)
	t.Cleanup(func() { unix.SysvShmCtl(segment, unix.IPC_RMID, nil) })

	m := sandboxManager(t, bubblewrap.Options{}, root)
	got := probe(t, m, root, attempt{What: "processes"},
		attempt{"signal", strconv.Itoa(other.Process.Pid)}, attempt{"signal", strconv.Itoa(os.Getpid())},
		attempt{"read", fmt.Sprintf("/proc/%d/environ", os.Getpid())}, attempt{"shm", strconv.Itoa(0x61637074)})
	name := filepath.Base(executable())
	require.Equal(t, []string{"bwrap " + name[:min(len(name), 15)], "no such process", "no such process", missing, missing}, got)
}

func TestSandboxHasNoNetwork(t *testing.T) {
	root, outside := t.TempDir(), outsideTmp(t)
	listen := func(network, address string) net.Listener {
		l, err := net.Listen(network, address)
		require.NoError(t, err)
		t.Cleanup(func() { l.Close() })
		return l
	}
	tcp := "tcp " + listen("tcp", "127.0.0.1:0").Addr().String()
	abstract := fmt.Sprintf("@acpterm-test-%d", os.Getpid())
	listen("unix", abstract)
	listen("unix", outside+"/socket")
	attempts := []attempt{{"dial", tcp}, {"dial", "unix " + abstract}, {"dial", "unix " + outside + "/socket"}}
	t.Run("off", func(t *testing.T) {
		m := sandboxManager(t, bubblewrap.Options{}, root)
		got := probe(t, m, root, attempts...)
		require.Contains(t, []string{"network is unreachable", "connection refused"}, got[0])
		require.Equal(t, "connection refused", got[1])
		require.Equal(t, done, got[2], "should this ever fail, the documentation has good news to tell")
	})
	t.Run("on", func(t *testing.T) {
		m := sandboxManager(t, bubblewrap.Options{Network: true}, root)
		require.Equal(t, []string{done, done, done}, probe(t, m, root, attempts...))
		if _, err := os.Stat("/etc/resolv.conf"); err == nil {
			require.Equal(t, []string{done}, probe(t, m, root, attempt{"read", "/etc/resolv.conf"}))
		}
	})
	t.Run("hidden socket", func(t *testing.T) {
		m := sandboxManager(t, bubblewrap.Options{Hidden: []string{outside + "/socket"}}, root)
		require.Equal(t, "connection refused", probe(t, m, root, attempts[2])[0])
	})
}

func TestSandboxOptions(t *testing.T) {
	root, cache := outsideTmp(t), outsideTmp(t)
	for _, dir := range []string{"git", "secret/seen"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o700))
	}
	for _, file := range []string{"key", "git/config", "secret/x", "secret/seen/x"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, file), nil, 0o600))
	}
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(cache, link))
	m := sandboxManager(t, bubblewrap.Options{
		Writable: []string{link, filepath.Join(root, "git"), filepath.Join(root, "key")}, // the latter two in vain
		ReadOnly: []string{filepath.Join(root, "git"), filepath.Join(root, "secret/seen")},
		Hidden:   []string{filepath.Join(root, "key"), filepath.Join(root, "secret")},
	}, root)
	for _, test := range []struct {
		attempt
		want string
	}{
		{attempt{"write", cache + "/x"}, done},
		{attempt{"write", root + "/x"}, done},
		{attempt{"read", root + "/git/config"}, done},
		{attempt{"write", root + "/git/config"}, readOnlyFS},
		{attempt{"read", root + "/key"}, denied},
		{attempt{"read", root + "/secret/x"}, missing},
		{attempt{"write", root + "/secret/x"}, readOnlyFS},
		{attempt{"read", root + "/secret/seen/x"}, done},
		{attempt{"write", root + "/secret/seen/x"}, readOnlyFS},
	} {
		require.Equal(t, test.want, probe(t, m, root, test.attempt)[0], "%q", test.attempt)
	}

	// What is not what it was is not bound: a command might have put a link there.
	require.NoError(t, os.Rename(cache, cache+".away"))
	t.Cleanup(func() { os.RemoveAll(cache + ".away") })
	require.NoError(t, os.Symlink("/etc", cache))
	_, err := m.Create(t.Context(), childRequest("pwd"))
	require.ErrorIs(t, err, acpterm.ErrInternal)
}

// A root in another one needs no mount of its own, which a link in its place could lead astray.
func TestSandboxWithARootInAnother(t *testing.T) {
	outer, outside := t.TempDir(), outsideTmp(t)
	inner := filepath.Join(outer, "inner")
	require.NoError(t, os.Mkdir(inner, 0o700))
	m := sandboxManager(t, bubblewrap.Options{}, outer, inner)
	require.Equal(t, []string{done}, probe(t, m, inner, attempt{"write", inner + "/x"}))
	require.NoError(t, os.RemoveAll(inner))
	require.NoError(t, os.Symlink(outside, inner))
	require.Equal(t, []string{readOnlyFS}, probe(t, m, outer, attempt{"write", inner + "/x"}))
}

func TestSandboxRefusesWhatWouldUndoIt(t *testing.T) {
	needsBubblewrap(t)
	for _, options := range []bubblewrap.Options{
		{Writable: []string{"/"}}, {Writable: []string{"/proc/sys"}}, {Hidden: []string{"relative"}}, {ReadOnly: []string{"/missing"}},
		{Writable: []string{"/proc/self/root"}}, {ReadOnly: []string{"/dev"}}, {Writable: []string{"/sys"}},
	} {
		_, err := bubblewrap.New(&options)
		require.ErrorIs(t, err, acpterm.ErrInvalidParams, "%v", options)
	}
	m := sandboxManager(t, bubblewrap.Options{}, "/")
	_, err := m.Create(t.Context(), childRequest("pwd"))
	require.ErrorIs(t, err, acpterm.ErrInvalidParams)
}

// A bwrap that is missing or does not work is an error where it is asked for.
func TestBubblewrapMustWork(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	_, err := bubblewrap.New(nil)
	require.ErrorIs(t, err, acpterm.ErrInternal)
	require.ErrorIs(t, err, exec.ErrNotFound)

	script := "#!/bin/sh\necho 'No permissions to create new namespace' >&2\nexit 1\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bwrap"), []byte(script), 0o700))
	_, err = bubblewrap.New(nil)
	require.ErrorIs(t, err, acpterm.ErrInternal)
	require.ErrorContains(t, err, "No permissions to create new namespace")
}

// What runs outside of the sandbox must not be where commands can replace it.
func TestSandboxWhoseToolsCommandsCanReplace(t *testing.T) {
	needsBubblewrap(t)
	tools := outsideTmp(t)
	bwrap, err := exec.LookPath("bwrap")
	require.NoError(t, err)
	data, err := os.ReadFile(bwrap)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(tools, "bwrap"), data, 0o755))
	t.Setenv("PATH", tools+":"+os.Getenv("PATH"))
	m := sandboxManager(t, bubblewrap.Options{}, tools)
	req := childRequest("print", "x")
	req.Cwd = tools
	_, err = m.Create(t.Context(), req)
	require.ErrorIs(t, err, acpterm.ErrInternal)
	require.ErrorContains(t, err, "runs outside of the sandbox")
}

// The command's environment is its own and not bwrap's, which runs outside; nor can others see it.
func TestSandboxEnvironment(t *testing.T) {
	root := t.TempDir()
	m := sandboxManager(t, bubblewrap.Options{}, root)
	req := childRequest("environ")
	req.Env = []acpterm.EnvVariable{{Name: "TOKEN", Value: "s3cr3t\n=x"}, {Name: "EMPTY"}, {Name: "LD_PRELOAD", Value: root + "/evil.so"}}
	term := create(t, m, req)
	_, err := term.Wait(t.Context())
	require.NoError(t, err)
	output := term.Output().Output
	require.Contains(t, output, "TOKEN=s3cr3t\n=x\n")
	require.Contains(t, output, "EMPTY=\n")
	require.Contains(t, output, "\nPWD="+root+"\n")
	require.Contains(t, output, "LD_PRELOAD="+root+"/evil.so\n")
	require.Contains(t, output, "ACPTERM_TERMINAL="+os.Getenv("ACPTERM_TERMINAL")+string(term.ID())+"\n")
	require.Equal(t, executable(), term.Command().Path)
	require.Equal(t, 1, strings.Count(output, markVariable))

	sleep := childRequest("sleep")
	sleep.Env = req.Env
	term = create(t, m, sleep)
	awaitOutput(t, term, "ready")
	seen := false
	for _, pid := range sandboxTree(t, string(term.ID())) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		require.NoError(t, err)
		require.NotContains(t, string(line), "s3cr3t")
		if environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); strings.Contains(string(line), "bwrap") {
			require.Equal(t, "ACPTERM_TERMINAL="+string(term.ID())+"\x00", string(environ))
			seen = true
		}
	}
	require.True(t, seen)

}

// A library that a command has put into its root is loaded by nothing that runs outside of the sandbox.
func TestSandboxIsNotPreloaded(t *testing.T) {
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler")
	}
	root, outside := t.TempDir(), outsideTmp(t)
	source := filepath.Join(root, "evil.c")
	require.NoError(t, os.WriteFile(source, []byte(fmt.Sprintf(`
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void evil(void) {
	open("%s/evil", O_CREAT|O_WRONLY, 0600);
	write(1, "loaded\n", 7);
}`, outside)), 0o600))
	output, err := exec.Command(compiler, "-shared", "-fPIC", "-w", "-o", root+"/evil.so", source).CombinedOutput()
	require.NoError(t, err, "%s", output)
	m := sandboxManager(t, bubblewrap.Options{}, root)
	out := run(t, m, acpterm.CreateTerminalRequest{SessionID: "s", Command: "/bin/true",
		Env: []acpterm.EnvVariable{{Name: "LD_PRELOAD", Value: root + "/evil.so"}}})
	require.Contains(t, out.Output, "loaded\n", "in the sandbox it is")
	require.NoFileExists(t, outside+"/evil")
}

// sandboxTree are the processes with a mark in their environment.
func sandboxTree(t testing.TB, mark string) (pids []int) {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, path := range entries {
		if environ, _ := os.ReadFile(path); strings.Contains(string(environ), mark) {
			pids = append(pids, number(strings.Split(path, "/")[2]))
		}
	}
	return pids
}

func TestSandboxExits(t *testing.T) {
	root := t.TempDir()
	m := sandboxManager(t, bubblewrap.Options{}, root)
	for _, code := range []uint32{0, 1, 7, 255} {
		require.Equal(t, code, *run(t, m, childRequest("exit", fmt.Sprint(code))).ExitStatus.ExitCode)
	}
	killed := run(t, m, acpterm.CreateTerminalRequest{SessionID: "s", Command: "sh", Args: []string{"-c", "kill -9 $$"}})
	require.Equal(t, uint32(137), *killed.ExitStatus.ExitCode)
	require.Equal(t, "0 /dev/null\n", strings.SplitAfter(run(t, m, childRequest("descriptors")).Output, "\n")[0])
	require.NotContains(t, run(t, m, childRequest("descriptors")).Output, "memfd")

	many := make([]string, 8000)
	for i := range many {
		many[i] = "x"
	}
	require.Equal(t, strings.Repeat("x", 8000), run(t, m, childRequest("print", many...)).Output)
	_, err := m.Create(t.Context(), childRequest("print", append(many, many...)...))
	require.ErrorIs(t, err, acpterm.ErrInvalidParams)
}

// Programs that have several uses go by the last part of their name.
func TestSandboxKeepsNames(t *testing.T) {
	root := t.TempDir()
	m := sandboxManager(t, bubblewrap.Options{}, root)
	for _, name := range []string{"called", "a=b"} {
		link := filepath.Join(root, name)
		require.NoError(t, os.Symlink(executable(), link))
		out := run(t, m, acpterm.CreateTerminalRequest{SessionID: "s", Command: link, Args: []string{childMark, "argv0"}}).Output
		require.Equal(t, strings.ReplaceAll(name, "=", "_"), strings.ReplaceAll(filepath.Base(out), "=", "_"))
	}
}

func TestSandboxKills(t *testing.T) {
	root := t.TempDir()
	m := sandboxManager(t, bubblewrap.Options{}, root)
	polite := create(t, m, childRequest("polite"))
	awaitOutput(t, polite, "ready")
	tree := sandboxTree(t, string(polite.ID()))
	require.GreaterOrEqual(t, len(tree), 3, "two of bwrap and the command")
	require.NoError(t, polite.Kill(t.Context()))
	require.Equal(t, "ready\nbye\n", polite.Output().Output)
	require.Equal(t, uint32(7), *polite.Output().ExitStatus.ExitCode)
	require.Empty(t, sandboxTree(t, string(polite.ID())))

	sleep := create(t, m, childRequest("sleep"))
	awaitOutput(t, sleep, "ready")
	require.NoError(t, sleep.Kill(t.Context()))
	require.Equal(t, uint32(143), *sleep.Output().ExitStatus.ExitCode)

	// One that heeds how signals were handled when it was started, unlike Go's programs.
	plain := create(t, m, acpterm.CreateTerminalRequest{SessionID: "s", Command: "sh", Args: []string{"-c", "echo ready; exec sleep 300"}})
	awaitOutput(t, plain, "ready")
	require.NoError(t, plain.Kill(t.Context()))
	require.Equal(t, uint32(143), *plain.Output().ExitStatus.ExitCode)

	for _, child := range append([]string{"stubborn", "vanished"}, nasty...) {
		if child == "holds-the-output" {
			continue // what it leaves is gone before it can be seen
		}
		term := create(t, m, childRequest(child), acpterm.WithEscalation(quickly...))
		awaitOutput(t, term, "ready\n")
		require.NoError(t, term.Kill(t.Context()), child)
		require.Empty(t, sandboxTree(t, string(term.ID())), child)
	}
}

// What a command leaves running ends with it, though it has left everything that it could be found by.
func TestSandboxEndsWhatTheCommandLeft(t *testing.T) {
	root := t.TempDir()
	m := sandboxManager(t, bubblewrap.Options{}, root)
	for _, child := range []string{"vanished", "daemon"} { // they begin a "quiet" one
		before := processesOf(t)
		term := create(t, m, childRequest(child))
		_, err := term.Wait(t.Context())
		require.NoError(t, err)
		require.Eventually(t, func() bool { return processesOf(t) <= before }, 5*time.Second, 5*time.Millisecond, child)
	}
}

// processesOf is how many processes run the "quiet" child.
func processesOf(t testing.TB) (n int) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, path := range paths {
		if line, _ := os.ReadFile(path); strings.HasSuffix(string(line), "\x00quiet\x00") {
			n++
		}
	}
	return n
}

// sendsItsOutput is the child that sends its standard output's descriptor over a Unix socket, PATH, once that is there.
func sendsItsOutput(args []string) {
	awaitFile(args[0])
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: args[0], Net: "unix"})
	if err != nil {
		panic(err)
	}
	if _, _, err := c.WriteMsgUnix([]byte("x"), unix.UnixRights(1), nil); err != nil {
		panic(err)
	}
	fmt.Println("ready")
	time.Sleep(soLong)
}

// keepsADescriptor is the child that receives a descriptor over a Unix socket, PATH, keeps it open, and repeats each line of
// its input until that ends.
func keepsADescriptor(args []string) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: args[0] + ".new", Net: "unix"})
	if err != nil {
		panic(err)
	}
	if err := os.Rename(args[0]+".new", args[0]); err != nil { // now that it can be connected to
		panic(err)
	}
	c, err := l.AcceptUnix()
	if err != nil {
		panic(err)
	}
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := c.ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		panic(err)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil {
		panic(err)
	}
	kept, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		panic(err)
	}
	fmt.Println("keeping", len(kept))
	io.Copy(os.Stdout, os.Stdin)
}

// A process outside of the sandbox is no part of the command's tree, though it holds the command's output.
func TestSandboxEndsNothingOutside(t *testing.T) {
	for name, end := range map[string]func(m *acpterm.Manager, term *acpterm.Terminal) error{
		"kill":    func(_ *acpterm.Manager, term *acpterm.Terminal) error { return term.Kill(t.Context()) },
		"release": func(m *acpterm.Manager, term *acpterm.Terminal) error { return m.Release(t.Context(), "s", term.ID()) },
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			socket := filepath.Join(root, "socket")
			m := sandboxManager(t, bubblewrap.Options{}, root)
			term := create(t, m, childRequest("sends-its-output", socket))

			// It is younger than the command and no child of the manager's process.
			outside := exec.Command("sh", "-c", `"$0" "$@"; exit`, executable(), childMark, "keeps-a-descriptor", socket)
			outside.Stderr = os.Stderr
			input, err := outside.StdinPipe()
			require.NoError(t, err)
			output, err := outside.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, outside.Start())
			t.Cleanup(func() {
				input.Close()
				outside.Wait()
			})
			lines := bufio.NewReader(output)
			line := func() string {
				text, err := lines.ReadString('\n')
				require.NoError(t, err, "the process outside has ended")
				return text
			}
			require.Equal(t, "keeping 1\n", line())
			awaitOutput(t, term, "ready")
			require.NoError(t, end(m, term))
			require.Empty(t, sandboxTree(t, string(term.ID())))
			_, err = fmt.Fprintln(input, "running")
			require.NoError(t, err, "the process outside has ended")
			require.Equal(t, "running\n", line())
		})
	}
}

// sandboxUnprivileged is the child that hosts a sandboxed command without being root: ROOT OUTSIDE.
func sandboxUnprivileged(args []string) {
	root, outside := args[0], args[1]
	w, err := bubblewrap.New(&bubblewrap.Options{ReadOnly: []string{filepath.Dir(executable())}})
	if err != nil {
		fmt.Println("cannot:", err)
		return
	}
	m := acpterm.NewManager(&acpterm.Options{Wrap: w})
	defer m.Close()
	ctx := context.Background()
	if err := m.OpenSession("s", &acpterm.SessionOptions{Roots: []string{root}}); err != nil {
		panic(err)
	}
	text, _ := json.Marshal([]attempt{
		{"write", root + "/x"}, {"write", outside + "/x"}, {"remount", "/"}, {"unmount", "/run"}, {"mknod", "/tmp/x"},
		{"signal", strconv.Itoa(os.Getpid())}, {"dial", "tcp 127.0.0.1:1"}, {"write", "/proc/sys/kernel/core_pattern"}, {What: "processes"},
	})
	term, err := m.Create(ctx, childRequest("sandbox-probe", string(text)))
	if err != nil {
		panic(err)
	}
	term.Wait(ctx)
	fmt.Print(term.Output().Output)
	polite, err := m.Create(ctx, childRequest("polite"))
	if err != nil {
		panic(err)
	}
	for chunk := range polite.Follow(ctx, 0) {
		if strings.Contains(chunk.Text, "ready") {
			break
		}
	}
	if err := polite.Kill(ctx); err != nil {
		panic(err)
	}
	fmt.Print(polite.Output().Output)
}

func TestSandboxWithoutRoot(t *testing.T) {
	needsBubblewrap(t)
	if os.Getuid() != 0 {
		t.Skip("all of these tests are without root")
	}
	dir := outsideTmp(t)
	require.NoError(t, os.Chmod(dir, 0o755))
	for _, name := range []string{"root", "outside"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		require.NoError(t, os.Chown(filepath.Join(dir, name), 65534, 65534))
	}
	program, err := os.ReadFile(executable())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "program"), program, 0o755))
	host := exec.Command(filepath.Join(dir, "program"), childMark, "sandbox-unprivileged", dir+"/root", dir+"/outside")
	host.Dir, host.Stderr = dir, os.Stderr
	host.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	output, err := host.Output()
	require.NoError(t, err)
	if strings.HasPrefix(string(output), "cannot:") && os.Getenv("ACPTERM_REQUIRE_BUBBLEWRAP") == "" {
		t.Skip("other users than root cannot make sandboxes here: " + string(output))
	}
	line, rest, _ := strings.Cut(string(output), "\n")
	var results []string
	require.NoError(t, json.Unmarshal([]byte(line), &results), "%s", output)
	require.Contains(t, []string{"network is unreachable", "connection refused"}, results[6])
	results[6] = ""
	require.Contains(t, []string{denied, readOnlyFS}, results[7])
	results[7] = ""
	require.Equal(t, []string{done, readOnlyFS, forbidden, forbidden, forbidden, "no such process", "", "", "bwrap program"}, results)
	require.Equal(t, "ready\nbye\n", rest)
}

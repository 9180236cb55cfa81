package bubblewrap_test

// Tests of the resources that commands in the real bubblewrap can reach, and of the errors of New and Wrap.

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/bubblewrap"
)

const isRequired = "ACPTERM_REQUIRE_BUBBLEWRAP"

// needsBubblewrap skips a test where bwrap is neither installed nor required.
func needsBubblewrap(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil && os.Getenv(isRequired) == "" {
		t.Skip("bwrap is not installed (" + isRequired + " makes this a failure)")
	}
}

// newManager returns a manager whose commands are sandboxed and can see the test binary. Session "s" has the roots.
func newManager(t testing.TB, o bubblewrap.Options, roots ...string) *acpterm.Manager {
	t.Helper()
	needsBubblewrap(t)
	o.ReadOnly = append(o.ReadOnly, filepath.Dir(executable()))
	sandbox, err := bubblewrap.New(&o)
	require.NoError(t, err)
	m := acptermtest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Sandbox: sandbox}})
	if roots != nil {
		require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Roots: roots}))
	}
	return m
}

// request asks for a command in session "s".
func request(command string, args ...string) acpterm.CreateTerminalRequest {
	return acpterm.CreateTerminalRequest{SessionID: "s", Command: command, Args: args}
}

// shell asks for a shell line.
func shell(line string, args ...string) acpterm.CreateTerminalRequest {
	return request("sh", append([]string{"-c", line, "sh"}, args...)...)
}

// run runs a command and returns its output and exit status.
func run(t testing.TB, m *acpterm.Manager, r acpterm.CreateTerminalRequest) acpterm.TerminalOutputResponse {
	t.Helper()
	term, err := m.Create(t.Context(), r, nil)
	require.NoError(t, err)
	_, err = term.Wait(t.Context())
	require.NoError(t, err)
	return term.Output()
}

// refusal returns the error of a command that cannot be created.
func refusal(t testing.TB, m *acpterm.Manager, r acpterm.CreateTerminalRequest) error {
	t.Helper()
	_, err := m.Create(t.Context(), r, nil)
	require.Error(t, err)
	return err
}

// outsideTmp returns a directory outside of /tmp, since the sandbox has its own /tmp.
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
	root, other := t.TempDir(), outsideTmp(t)
	odd := filepath.Join(other, "- an odd\nname=$(x)")
	require.NoError(t, os.Mkdir(odd, 0o700))
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	m := newManager(t, bubblewrap.Options{}, root, odd)
	const (
		refused  = readOnlyFS + "|" + denied
		noModule = forbidden + "|" + noSuchCall
	)
	try(t, m, root,
		expect(done, each("write", root+"/in", odd+"/in", "/tmp/own", "/dev/shm/own")...),
		expect(readOnlyFS, each("write", other+"/x", "/proc/self/root"+other+"/x", "/run/x")...),
		expect(refused, each("write", home+"/acpterm-test", "/etc/hostname", "/proc/1/root"+other+"/x",
			"/proc/sys/kernel/core_pattern", "/proc/sys/vm/overcommit_memory", "/sys/power/state",
			"/sys/kernel/uevent_helper")...),
		expect(refused+"|"+missing, attempt{"write", "/proc/sysrq-trigger"}),
		expect(done+"|"+forbidden, attempt{"write", "/dev/kmsg"}), // done: it creates a file
		expect("0", attempt{"count", "/run"}),
		expect(forbidden, each("remount", "/", "/proc")...),
		expect(forbidden, each("unmount", "/run", "/tmp")...),
		expect(forbidden, each("mknod", "/tmp/disk", root+"/disk")...),
		expect(noModule, attempt{What: "load a module"}),
	)
	for _, path := range []string{"/tmp/own", "/dev/shm/own", other + "/x", home + "/acpterm-test"} {
		require.NoFileExists(t, path)
	}
	require.FileExists(t, root+"/in")
	require.FileExists(t, odd+"/in")
	r := request("pwd")
	r.Cwd = odd
	require.Equal(t, odd+"\n", run(t, m, r).Output)
}

// Without roots only temporary files are writable.
func TestSandboxWithoutRoots(t *testing.T) {
	dir := outsideTmp(t)
	m := newManager(t, bubblewrap.Options{})
	try(t, m, dir, expect(readOnlyFS, attempt{"write", dir + "/x"}), expect(done, attempt{"write", "/tmp/x"}))
	link, program := filepath.Join(dir, "link"), filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.Symlink("/etc", link))
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700))

	in := func(dir, command string, args ...string) acpterm.CreateTerminalRequest {
		r := request(command, args...)
		r.Cwd = dir
		return r
	}
	require.Equal(t, link+"\n", run(t, m, in(link, "printenv", "PWD")).Output)
	ended := run(t, m, in(fmt.Sprintf("/proc/%d", os.Getpid()), "pwd")) // missing in the sandbox's /proc
	require.False(t, ended.ExitStatus.Success(), "it ran elsewhere: %s", ended.Output)
	for _, r := range []acpterm.CreateTerminalRequest{in(t.TempDir(), "true"), in("/run", "true"), in("/", program)} {
		require.ErrorIs(t, refusal(t, m, r), acpterm.ErrInvalidParams, "%v is not in the sandbox", r)
	}
}

func TestSandboxHidesProcesses(t *testing.T) {
	const key = 0x61637074
	segment, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|0o666)
	require.NoError(t, err)
	t.Cleanup(func() { unix.SysvShmCtl(segment, unix.IPC_RMID, nil) })
	name := filepath.Base(executable())
	root := t.TempDir()
	try(t, newManager(t, bubblewrap.Options{}, root), root,
		expect("bwrap "+name[:min(len(name), 15)], attempt{What: "processes"}),
		expect(noProcess, attempt{"signal", strconv.Itoa(os.Getpid())}),
		expect(missing, attempt{"read", fmt.Sprintf("/proc/%d/environ", os.Getpid())},
			attempt{"shared memory", strconv.Itoa(key)}))
}

func TestSandboxHasNoNetwork(t *testing.T) {
	root, other := t.TempDir(), outsideTmp(t)
	listen := func(network, address string) attempt {
		l, err := net.Listen(network, address)
		require.NoError(t, err)
		t.Cleanup(func() { l.Close() })
		return attempt{"dial", network + " " + l.Addr().String()}
	}
	tcp := listen("tcp", "127.0.0.1:0")
	abstract := listen("unix", fmt.Sprintf("@acpterm-test-%d", os.Getpid()))
	file := listen("unix", other+"/socket")
	resolver := attempt{"read", "/etc/resolv.conf"}
	for name, test := range map[string]struct {
		options  bubblewrap.Options
		expected []expectation
	}{
		// If the socket file is ever refused, docs/security.md can promise more.
		"off": {bubblewrap.Options{}, []expectation{
			expect("network is unreachable|"+refused, tcp), expect(refused, abstract), expect(done, file)}},
		"on": {bubblewrap.Options{Network: true}, []expectation{
			expect(done, tcp, abstract, file), expect(outside(t, resolver)[0], resolver)}},
		"hidden socket": {bubblewrap.Options{Hidden: []string{other + "/socket"}}, []expectation{
			expect(refused, file)}},
	} {
		t.Run(name, func(t *testing.T) { try(t, newManager(t, test.options, root), root, test.expected...) })
	}
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
	m := newManager(t, bubblewrap.Options{
		Writable: []string{link, root + "/git", root + "/key"}, // the last two stay read-only
		ReadOnly: []string{root + "/git", root + "/secret/seen"},
		Hidden:   []string{root + "/key", root + "/secret"},
	}, root)
	try(t, m, root,
		expect(done, each("write", cache+"/x", root+"/x")...),
		expect(done, each("read", root+"/git/config", root+"/secret/seen/x")...),
		expect(readOnlyFS, each("write", root+"/git/config", root+"/secret/x", root+"/secret/seen/x")...),
		expect(denied, attempt{"read", root + "/key"}),
		expect(missing, attempt{"read", root + "/secret/x"}))

	// A replaced path is not mounted: a command might have put a symbolic link there.
	require.NoError(t, os.Rename(cache, cache+".away"))
	t.Cleanup(func() { os.RemoveAll(cache + ".away") })
	require.NoError(t, os.Symlink("/etc", cache))
	require.ErrorIs(t, refusal(t, m, request("pwd")), acpterm.ErrInternal)
}

// A root inside another one gets no separate mount: a symbolic link in its place could redirect the mount.
func TestSandboxWithARootInAnother(t *testing.T) {
	outer, other := t.TempDir(), outsideTmp(t)
	inner := filepath.Join(outer, "inner")
	require.NoError(t, os.Mkdir(inner, 0o700))
	m := newManager(t, bubblewrap.Options{}, outer, inner)
	try(t, m, inner, expect(done, attempt{"write", inner + "/x"}))
	require.NoError(t, os.RemoveAll(inner))
	require.NoError(t, os.Symlink(other, inner))
	try(t, m, outer, expect(readOnlyFS, attempt{"write", inner + "/x"}))
}

func TestSandboxRefusesWhatWouldUndoIt(t *testing.T) {
	needsBubblewrap(t)
	for _, options := range []bubblewrap.Options{
		{Writable: []string{"/"}}, {Writable: []string{"/proc/sys"}}, {Writable: []string{"/proc/self/root"}},
		{Writable: []string{"/sys"}}, {ReadOnly: []string{"/dev"}}, {ReadOnly: []string{"/missing"}},
		{Hidden: []string{"relative"}},
	} {
		_, err := bubblewrap.New(&options)
		require.ErrorIs(t, err, acpterm.ErrInvalidParams, "%v", options)
	}
	m := newManager(t, bubblewrap.Options{}, "/")
	require.ErrorIs(t, refusal(t, m, request("pwd")), acpterm.ErrInvalidParams)
}

// New fails if bwrap is missing or does not work, as for ordinary users where Debian's kernel is set so.
func TestBubblewrapMustWork(t *testing.T) {
	if allowed, err := os.ReadFile("/proc/sys/kernel/unprivileged_userns_clone"); err == nil && os.Getuid() != 0 {
		_, err := bubblewrap.New(nil)
		require.Equal(t, string(allowed) == "0\n", errors.Is(err, acpterm.ErrInternal), "%v", err)
	}
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

// Programs that run outside the sandbox must not be where commands can replace them.
func TestSandboxWhoseToolsCommandsCanReplace(t *testing.T) {
	needsBubblewrap(t)
	tools := outsideTmp(t)
	bwrap, err := exec.LookPath("bwrap")
	require.NoError(t, err)
	data, err := os.ReadFile(bwrap)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(tools, "bwrap"), data, 0o755))
	t.Setenv("PATH", tools+":"+os.Getenv("PATH"))
	err = refusal(t, newManager(t, bubblewrap.Options{}, tools), request("pwd"))
	require.ErrorIs(t, err, acpterm.ErrInternal)
	require.ErrorContains(t, err, "runs outside of the sandbox")
}

// The command's environment is not bwrap's, which runs outside, and other users cannot see it.
func TestSandboxEnvironment(t *testing.T) {
	root := t.TempDir()
	m := newManager(t, bubblewrap.Options{}, root)
	r := shell("printenv; echo ready; exec sleep 300")
	r.Env = []acpterm.EnvVariable{
		{Name: "TOKEN", Value: "s3cr3t\n=x"}, {Name: "EMPTY"}, {Name: "LD_PRELOAD", Value: root + "/evil.so"}}
	term := start(t, m, r, nil)
	output := term.Output().Output
	mark := `ACPTERM_TERMINAL=(\S+:)?` + string(term.ID())
	for _, variable := range []string{
		"TOKEN=s3cr3t\n=x", "EMPTY=", "PWD=" + regexp.QuoteMeta(root),
		"LD_PRELOAD=" + regexp.QuoteMeta(root) + "/evil.so", mark,
	} {
		require.Regexp(t, "(?m)^"+variable+"$", output)
	}
	require.Equal(t, 1, strings.Count(output, "ACPTERMTEST="), "an inherited variable is there once")
	sh, err := filepath.EvalSymlinks("/bin/sh")
	require.NoError(t, err)
	require.Equal(t, sh, term.Command().Path)

	seen := 0
	for _, pid := range marked(term.ID()) {
		line, err := os.ReadFile("/proc/" + pid + "/cmdline")
		require.NoError(t, err)
		require.NotContains(t, string(line), "s3cr3t")
		if strings.Contains(string(line), "bwrap") {
			environ, err := os.ReadFile("/proc/" + pid + "/environ")
			require.NoError(t, err)
			require.Regexp(t, "^"+mark+"\x00$", string(environ))
			seen++
		}
	}
	require.Positive(t, seen)
}

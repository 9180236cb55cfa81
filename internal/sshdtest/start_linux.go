package sshdtest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// otherUser and otherID are the account that sshd sees in addition to the system's.
const (
	otherUser = "acpterm-other"
	otherID   = 64741
)

// inNamespace runs sshd in its own mount namespace, with the accounts from the directory $1 and an empty /run, where
// sshd needs a directory.
const inNamespace = `mount --bind "$1/passwd" /etc/passwd && mount --bind "$1/shadow" /etc/shadow &&
mount -t tmpfs -o mode=755 tmpfs /run && mkdir -m 755 /run/sshd && shift && exec "$@"`

// Start starts sshd with the given lines of sshd_config before its own. sshd uses the first value of a keyword. The
// server listens when Start returns.
func Start(t testing.TB, config ...string) *Server {
	t.Helper()
	sshd := "/usr/sbin/sshd" // not in the PATH of most users
	for _, program := range []string{sshd, "ssh", "ssh-keygen"} {
		if _, err := exec.LookPath(program); err != nil {
			skip(t, program+" is not installed")
		}
	}
	s := newServer(t)
	for attempt := 0; ; attempt++ {
		s.Address = freeAddress(t)
		line := []string{sshd, "-D", "-e", "-f", s.configure(t, config)}
		refusal := s.start(t, line)
		if refusal == "" {
			break
		}
		if attempt == 10 || !strings.Contains(s.Log(), "Address already in use") {
			skip(t, "sshd does not start: "+refusal)
		}
	}
	s.writeKnownHosts(t)
	return s
}

// newServer makes the directory with everything that does not depend on the port.
func newServer(t testing.TB) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "sshd-")
	check(t, err)
	t.Cleanup(func() { check(t, os.RemoveAll(dir)) })
	check(t, os.Chmod(dir, 0o755)) // sshd looks into it as the user logging in
	current, err := user.Current()
	check(t, err)
	s := &Server{User: current.Username, Dir: dir, KeyFile: filepath.Join(dir, "id"), HostKeys: map[string]string{}}
	s.KnownHosts = filepath.Join(dir, "known_hosts")
	makeKey(t, "ed25519", s.KeyFile)
	for _, kind := range []string{"ed25519", "ecdsa"} {
		makeKey(t, kind, filepath.Join(dir, "host_"+kind))
		s.HostKeys[kind] = filepath.Join(dir, "host_"+kind+".pub")
	}
	public, err := os.ReadFile(s.KeyFile + ".pub")
	check(t, err)
	check(t, os.WriteFile(filepath.Join(dir, "authorized_keys"), public, 0o644))
	check(t, os.Mkdir(s.home(), 0o700))
	if os.Getuid() == 0 {
		s.writeAccounts(t, current)
	}
	return s
}

// home returns the home directory for User. Start-up files in the user's real home may print something or be slow.
func (s *Server) home() string { return filepath.Join(s.Dir, "users-home") }

// writeAccounts writes a list of accounts with the other user added and with a different home for root, and a list of
// passwords that locks neither of them: sshd refuses a locked account.
func (s *Server) writeAccounts(t testing.TB, root *user.User) {
	t.Helper()
	home := filepath.Join(s.Dir, "home")
	check(t, os.Mkdir(home, 0o700))
	check(t, os.Chown(home, otherID, otherID))
	text, err := os.ReadFile("/etc/passwd")
	check(t, err)
	var accounts []byte
	for line := range strings.Lines(string(text)) {
		if fields := strings.Split(line, ":"); len(fields) == 7 && fields[0] == root.Username {
			fields[5] = s.home()
			line = strings.Join(fields, ":")
		}
		accounts = append(accounts, line...)
	}
	accounts = fmt.Appendf(accounts, "%s:x:%d:%[2]d::%s:/bin/sh\n", otherUser, otherID, home)
	check(t, os.WriteFile(filepath.Join(s.Dir, "passwd"), accounts, 0o644))
	passwords := fmt.Sprintf("root:*:19000::::::\n%s:*:19000::::::\n", otherUser)
	check(t, os.WriteFile(filepath.Join(s.Dir, "shadow"), []byte(passwords), 0o600))
	s.OtherUser = otherUser
}

// configure writes the configuration and returns its file.
func (s *Server) configure(t testing.TB, lines []string) string {
	t.Helper()
	_, port, _ := net.SplitHostPort(s.Address)
	text := strings.Join(lines, "\n") + `
ListenAddress 127.0.0.1
Port ` + port + `
HostKey ` + s.Dir + `/host_ecdsa
HostKey ` + s.Dir + `/host_ed25519
AuthorizedKeysFile ` + s.Dir + `/authorized_keys
AuthenticationMethods publickey
PermitRootLogin prohibit-password
PidFile none
PrintLastLog no
PrintMotd no
StrictModes no
UseDNS no
UsePAM no
PermitUserRC no
MaxStartups 100
LoginGraceTime 0
`
	if s.OtherUser == "" { // the list of accounts is the system's
		text += "SetEnv HOME=" + s.home() + "\n"
	}
	file := filepath.Join(s.Dir, "sshd_config")
	check(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

// start starts the command line and returns when sshd listens. If sshd ends before that, start returns its log.
func (s *Server) start(t testing.TB, line []string) (refusal string) {
	t.Helper()
	attributes := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if s.OtherUser != "" {
		attributes.Unshareflags = syscall.CLONE_NEWNS
		line = append([]string{"sh", "-c", inNamespace, "sh", s.Dir}, line...)
	}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.SysProcAttr = attributes
	stderr, writer, err := os.Pipe()
	check(t, err)
	cmd.Stderr = writer
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // Pdeathsig is about the thread
		err := cmd.Start()
		_ = writer.Close()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		_ = stderr.Close()
		return err.Error()
	}
	s.kill = func() { killConnections(cmd.Process.Pid) }
	listens, logged := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(logged)
		s.readLog(stderr, listens)
	}()
	stop := func() {
		_ = cmd.Process.Kill()
		<-ended
		_ = stderr.Close()
		<-logged
	}
	select {
	case <-listens:
		t.Cleanup(func() {
			s.KillConnections()
			stop()
		})
		return ""
	case <-logged:
		stop()
		return s.Log()
	}
}

// readLog keeps sshd's log, and closes listens when sshd reports that it listens.
func (s *Server) readLog(stderr io.Reader, listens chan<- struct{}) {
	lines := bufio.NewScanner(stderr)
	for said := false; lines.Scan(); {
		_, _ = fmt.Fprintln(&s.log, lines.Text())
		if !said && strings.HasPrefix(lines.Text(), "Server listening on ") {
			said = true
			close(listens)
		}
	}
	if err := lines.Err(); err != nil {
		_, _ = fmt.Fprintln(&s.log, err)
	}
}

// killConnections kills the processes of the connections to an sshd.
func killConnections(sshd int) {
	name := processName(sshd)
	for _, connection := range children(sshd) {
		for _, pid := range append(children(connection), connection) { // a non-root user's process is a child
			if processName(pid) == name {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

// children returns the processes with the given parent.
func children(parent int) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		stat, _ := os.ReadFile(file)
		_, fields, _ := strings.Cut(string(stat), ") ") // after the name: state, parent
		if f := strings.Fields(fields); len(f) > 1 && f[1] == strconv.Itoa(parent) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// processName returns the name of a process, or "" if it is gone.
func processName(pid int) string {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return string(name)
}

// freeAddress returns the address of a port that was free.
func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// makeKey makes a key pair without a passphrase.
func makeKey(t testing.TB, kind, file string) {
	t.Helper()
	out, err := exec.Command("ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "", "-f", file).CombinedOutput()
	if err != nil {
		t.Fatalf("ssh-keygen: %v: %s", err, out)
	}
}

// writeKnownHosts writes the file with the server's keys, now that the port is known.
func (s *Server) writeKnownHosts(t testing.TB) {
	t.Helper()
	host, port, _ := net.SplitHostPort(s.Address)
	var lines []byte
	for _, file := range s.HostKeys {
		key, err := os.ReadFile(file)
		check(t, err)
		lines = fmt.Appendf(lines, "[%s]:%s %s", host, port, key)
	}
	check(t, os.WriteFile(s.KnownHosts, lines, 0o644))
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

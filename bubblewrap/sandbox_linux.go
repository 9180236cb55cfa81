package bubblewrap

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/lookup"
)

// A Sandbox is an acpterm.Sandbox that runs commands in bubblewrap. It is created by New and is safe for concurrent use
// by multiple goroutines.
type Sandbox struct {
	program string // bwrap
	network bool
	mounts  []mount
	filter  []byte // of system calls, or nil
	env     string // GNU env, which can ignore signals, or empty
	argv0   bool   // env can set a program's name
}

// mount says how a path appears in the sandbox.
type mount struct {
	path string // absolute, without symbolic links
	kind mountKind
}

type mountKind int

const (
	private mountKind = iota // an empty directory, removed at the end
	writable
	readOnly
	hidden
)

// passedOver lists the signals that ask a program to end. bwrap itself must survive them: otherwise it would kill the
// command before the command could respond.
const passedOver = "HUP,INT,QUIT,USR1,USR2,ALRM,TERM"

// maxArgs is the number of arguments that bwrap accepts, including the command's.
const maxArgs = 9000

// newSandbox finds bwrap and tries the sandbox of commands, which runs bwrap several times.
func newSandbox(o Options) (*Sandbox, error) {
	program, err := exec.LookPath("bwrap")
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return nil, internalError("bwrap cannot be found", err)
	}
	b := &Sandbox{program: program, network: o.Network}
	if !o.NoSyscallFilter {
		if b.filter, err = syscallFilter(); err != nil {
			return nil, err
		}
	}
	for _, path := range []string{
		"/run", "/var/run", // the sockets of services that act for a command outside of its sandbox
		"/proc/keys", "/proc/key-users",
	} {
		b.add(hidden, path)
	}
	b.add(private, "/tmp")
	if o.Network {
		b.add(readOnly, "/etc/resolv.conf") // often a link to /run
	}
	for _, list := range []struct {
		field string
		kind  mountKind
		paths []string
	}{
		{"Writable", writable, o.Writable},
		{"ReadOnly", readOnly, o.ReadOnly},
		{"Hidden", hidden, o.Hidden},
	} {
		for i, path := range list.paths {
			if err := b.addOption(list.kind, path); err != nil {
				return nil, fieldError(fmt.Sprintf("%s[%d]", list.field, i), lookup.Reason(err))
			}
		}
	}
	if err := b.findEnv(); err != nil {
		return nil, err
	}
	return b, b.try()
}

// add adds a path, if it exists.
func (b *Sandbox) add(kind mountKind, path string) {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		b.mounts = append(b.mounts, mount{resolved, kind})
	}
}

func (b *Sandbox) addOption(kind mountKind, path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("must be an absolute path")
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	b.mounts = append(b.mounts, mount{resolved, kind})
	return checkMount(resolved)
}

// checkMount refuses paths that would undo the sandbox.
func checkMount(path string) error {
	if path == "/" || path == "/dev" || lookup.Within(path, "/proc") || lookup.Within(path, "/sys") {
		return fmt.Errorf("%q cannot be made part of a sandbox", path)
	}
	return nil
}

// findEnv looks for an env that commands can run and that supports the needed options.
func (b *Sandbox) findEnv() error {
	mounts, err := b.mountsFor(nil)
	if err != nil {
		return err
	}
	env, err := exec.LookPath("env")
	works := func(option string) bool {
		cmd := exec.Command(env, option, env) // the second env prints its environment, which is empty
		cmd.Env = []string{}
		return cmd.Run() == nil
	}
	if err == nil && visible(env, mounts) &&
		works("--ignore-signal="+passedOver) && works("--default-signal="+passedOver) {
		b.env, b.argv0 = env, works("--argv0=env")
	}
	return nil
}

// try runs bwrap --version in the sandbox of commands.
func (b *Sandbox) try() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	trial := *b
	trial.mounts = append(slices.Clone(b.mounts), mount{filepath.Dir(b.program), readOnly})
	wrapped, err := trial.wrap(acpterm.Proposal{
		Name:    filepath.Base(b.program),
		Command: acpterm.Command{Path: b.program, Args: []string{b.program, "--version"}, Dir: "/"},
	})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, wrapped.Command.Path)
	cmd.Args, cmd.Dir, cmd.Env, cmd.ExtraFiles = wrapped.Command.Args, "/", []string{}, wrapped.Files
	output, err := cmd.CombinedOutput()
	for _, file := range wrapped.Files {
		file.Close()
	}
	if err != nil {
		said := strings.TrimSpace(strings.ToValidUTF8(string(output), "\uFFFD"))
		return internalError("bwrap does not work here: "+said, err)
	}
	return nil
}

// wrap returns the bwrap command that runs the command of p.
func (b *Sandbox) wrap(p acpterm.Proposal) (wrapped acpterm.Wrapped, err error) {
	c := p.Command
	mounts, err := b.mountsFor(p.Roots)
	if err != nil {
		return wrapped, err
	}
	if !visible(c.Dir, mounts) {
		return wrapped, fieldError("cwd", "is not in the sandbox")
	}
	if !visible(c.Path, mounts) {
		return wrapped, fieldError("command", "is not in the sandbox")
	}
	for _, outside := range []string{b.program, b.env} {
		resolved, err := filepath.EvalSymlinks(outside)
		if outside != "" && (err != nil || innermost(resolved, mounts).kind == writable) {
			return wrapped, internalError(outside+" runs outside of the sandbox, and commands may replace it", err)
		}
	}
	options := b.options(mounts)
	// bwrap runs a path. If env cannot set argv[0] (GNU coreutils before 9.5), a symbolic link has the program's name.
	path, name := c.Path, cmp.Or(p.Name, filepath.Base(c.Path))
	if strings.Contains(path, "=") || !b.argv0 && filepath.Base(path) != name {
		path = "/dev/acpterm/" + strings.ReplaceAll(name, "=", "_") // env would take a name with "=" for a variable
		options = append(options, "--symlink", c.Path, path)
	}
	options = append(options, "--chdir", c.Dir)
	if b.filter != nil {
		options = append(options, "--seccomp", "4")
	}
	// bwrap runs outside and must not use the command's environment, since that may contain LD_PRELOAD.
	var outside []string
	for _, variable := range c.Env {
		switch name, value, _ := strings.Cut(variable, "="); name {
		case lookup.TerminalVariable: // the manager adds to it
			outside = append(outside, variable)
		case "": // setenv refuses it
		default:
			options = append(options, "--setenv", name, value)
		}
	}

	args := []string{b.program, "--args", "3", "--"}
	if b.env != "" {
		args = append([]string{b.env, "--ignore-signal=" + passedOver}, args...)
		args = append(args, b.env, "--default-signal="+passedOver)
		if b.argv0 {
			args = append(args, "--argv0="+c.Args[0])
		}
	}
	args = append(append(args, path), c.Args[1:]...)
	if len(args)+len(options) > maxArgs {
		return wrapped, fieldError("args", "are more than bwrap takes")
	}
	files, err := b.files(options)
	if err != nil {
		return wrapped, internalError("", err)
	}
	command := acpterm.Command{Path: args[0], Args: args, Dir: c.Dir, Env: outside}
	return acpterm.Wrapped{Command: command, Files: files, PIDNamespace: true}, nil
}

// mountsFor returns the sandbox's mounts for a session with these roots: the outer ones first, and one for each path.
func (b *Sandbox) mountsFor(roots []string) ([]mount, error) {
	all := slices.Clone(b.mounts)
	for i, root := range roots {
		if err := checkMount(root); err != nil {
			return nil, fieldError(fmt.Sprintf("roots[%d]", i), err.Error())
		}
		all = append(all, mount{root, writable})
	}
	slices.SortStableFunc(all, func(x, y mount) int {
		return cmp.Or(strings.Compare(x.path, y.path), cmp.Compare(y.kind, x.kind))
	})
	all = slices.CompactFunc(all, func(x, y mount) bool { return x.path == y.path })
	// A writable path inside a writable path needs no mount.
	var mounts []mount
	for _, m := range all {
		if m.kind == writable && innermost(m.path, mounts).kind == writable {
			continue
		}
		// A command may have put a symbolic link there, in a directory that it may write to. Another command would get
		// the link's target.
		if resolved, err := filepath.EvalSymlinks(m.path); err != nil || resolved != m.path {
			return nil, internalError(fmt.Sprintf("%q is not what it was when the sandbox was made", m.path), err)
		}
		mounts = append(mounts, m)
	}
	return mounts, nil
}

// innermost returns the mount that contains a path. Paths outside of all mounts are read-only.
func innermost(path string, mounts []mount) mount {
	for _, m := range slices.Backward(mounts) {
		if lookup.Within(path, m.path) {
			return m
		}
	}
	return mount{"/", readOnly}
}

// visible reports whether an existing path and its target also exist in the sandbox.
func visible(path string, mounts []mount) bool {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	for _, p := range []string{path, resolved} {
		switch m := innermost(p, mounts); m.kind {
		case hidden:
			return false
		case private:
			if p != m.path {
				return false
			}
		}
	}
	return true
}

// options returns bwrap's options for these mounts. The order counts: later options cover earlier ones.
func (b *Sandbox) options(mounts []mount) []string {
	options := []string{
		"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--die-with-parent", "--cap-drop", "ALL", // no --new-session: the manager has created one
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
	}
	if !b.network {
		options = append(options, "--unshare-net")
	}
	readOnlyAtLast := []string{"/proc"} // root, even without capabilities, may write to /proc/sys
	for _, m := range mounts {
		switch info, err := os.Stat(m.path); {
		case m.kind == writable:
			options = append(options, "--bind", m.path, m.path)
		case m.kind == readOnly:
			options = append(options, "--ro-bind", m.path, m.path)
		case m.kind == hidden && err == nil && !info.IsDir():
			options = append(options, "--ro-bind", os.DevNull, m.path) // a device, which cannot be opened there
		default:
			options = append(options, "--tmpfs", m.path)
			if m.kind == hidden {
				readOnlyAtLast = append(readOnlyAtLast, m.path)
			}
		}
	}
	for _, path := range readOnlyAtLast { // after the mounts inside them exist
		options = append(options, "--remount-ro", path)
	}
	return options
}

// files returns the files that bwrap inherits. Descriptor 3 has its options, since they contain secrets and every user
// can see the arguments of a process. Descriptor 4 has the filter.
func (b *Sandbox) files(options []string) ([]*os.File, error) {
	var text bytes.Buffer
	for _, option := range options {
		text.WriteString(option)
		text.WriteByte(0)
	}
	arguments, err := memoryFile("bwrap's options", text.Bytes())
	if err != nil || b.filter == nil {
		return []*os.File{arguments}, err
	}
	filter, err := memoryFile("bwrap's filter", b.filter)
	if err != nil {
		arguments.Close()
		return nil, err
	}
	return []*os.File{arguments, filter}, nil
}

// memoryFile returns an anonymous file with the content, positioned at its beginning.
func memoryFile(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("acpterm", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	file := os.NewFile(uintptr(fd), name)
	if _, err = file.WriteAt(content, 0); err != nil { // does not move the position
		file.Close()
		return nil, err
	}
	return file, nil
}

// fieldError returns an error for an unusable field of a request or of Options.
func fieldError(field, reason string) *acpterm.Error {
	return &acpterm.Error{Kind: acpterm.ErrInvalidParams, Field: field, Reason: reason}
}

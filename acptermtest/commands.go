package acptermtest

// Commands is a Runner that starts functions.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"path"
	"strings"

	"github.com/acpterm/acpterm"
)

// Commands maps commands to scripts. It implements acpterm.Runner without starting any processes.
//
// Each key is one of the following:
//
//   - a command, in the form returned by the String method of acpterm.Command, such as "go test ./..."; the key also
//     matches a shell line with the same text;
//   - a program, such as "go", which matches all commands of the program that do not have their own key;
//   - "*", which matches all other commands.
//
// A program is found only if it is mentioned in some key. If a program is found but its command does not have a script,
// the command cannot be started, and the create request fails with acpterm.ErrInternal.
//
// All directories are assumed to exist, and all programs are assumed to be in /usr/bin. Relative paths are resolved
// relative to the command's directory, or relative to / if the command does not have a directory. Limits are reported
// as enforced; a Script exceeds one by calling Process.Raise. CommandOptions.IdleTimeout ends a command whose Scripts
// are silent and wait in Block, Process.Sleep or Process.Await for so long. A Machine also scripts Base, unenforceable
// limits, and commands that fail to start.
//
// Commands is safe for concurrent use as long as the map is not modified.
type Commands map[string]Script

// A Script is a function that runs in a goroutine instead of a process and returns the exit code. The command exits
// when the Script returns. Once the process has received a fatal signal, calling any method of Process other than
// Command or Context exits the goroutine after running its deferred calls. Since signals do not otherwise interrupt a
// running Script, a Script that might block should also watch Process.Context.
type Script func(p *Process) int

// Print returns a Script that writes output and then exits with the given code.
func Print(output string, code int) Script {
	return func(p *Process) int {
		fmt.Fprint(p, output)
		return code
	}
}

// Block is a Script that runs until it is terminated by a signal.
func Block(p *Process) int {
	p.await(nil, nil)
	return 0
}

// Base returns the zero Base. As a result, commands have neither a default directory nor a PATH.
func (c Commands) Base(context.Context) (dir string, env []string, err error) { return "", nil, nil }

// RealDir returns dir after cleaning it. There are never any symbolic links to resolve.
func (c Commands) RealDir(_ context.Context, dir string) (string, error) { return path.Clean(dir), nil }

// LookPath returns the path of a program, or acpterm.ErrCommandNotFound if the program is not mentioned in any key.
func (c Commands) LookPath(_ context.Context, command acpterm.Command) (acpterm.Found, error) {
	found := acpterm.Found{Path: command.Args[0]}
	if command.Dir != "" {
		found.Dir = path.Clean(command.Dir)
	}
	if command.ShellLine == "" && !c.has(found.Path) {
		err := errors.New("acptermtest: it is in no key of Commands")
		return acpterm.Found{}, &acpterm.Error{Kind: acpterm.ErrCommandNotFound, Command: found.Path, Err: err}
	}
	switch {
	case path.IsAbs(found.Path):
	case strings.Contains(found.Path, "/"):
		found.Path = path.Join(cmp.Or(command.Dir, "/"), found.Path)
	default:
		found.Path = "/usr/bin/" + found.Path
	}
	return found, nil
}

// has reports whether a key contains a program's name or path.
func (c Commands) has(program string) bool {
	for key := range c {
		first, _, _ := strings.Cut(key, " ")
		if first == program || first == path.Base(program) || key == "*" && !strings.Contains(program, " ") {
			return true
		}
	}
	return false
}

// Start runs the Script for a command in a new goroutine.
func (c Commands) Start(_ context.Context, l acpterm.StartRequest) (acpterm.Process, error) {
	for _, key := range keysFor(l.Command) {
		if script, ok := c[key]; ok {
			pid := 1<<30 | int(crc32.ChecksumIEEE([]byte(l.TerminalID))>>2) // larger than the process ids of any system
			t := &tree{launch: l, pid: pid, gone: make(chan struct{}), lost: make(chan struct{})}
			t.spawn(script)
			return t, nil
		}
	}
	return nil, fmt.Errorf("acptermtest: no key of Commands is %q", l.Command.String())
}

// keysFor returns the keys that match a command, the most specific one first.
func keysFor(c acpterm.Command) []string {
	return []string{c.String(), c.Args[0], path.Base(c.Args[0]), "*"}
}

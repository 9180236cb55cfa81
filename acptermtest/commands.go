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

// Commands maps commands to scripts. It is an acpterm.Runner that starts no processes.
//
// Each key is one of:
//
//   - a command as returned by acpterm.Command's String method, such as "go test ./..."; it also matches that shell
//     line;
//   - a program, such as "go", for all of its commands that do not have a key;
//   - "*", for all other commands.
//
// A program not mentioned in any key is not found. If a program is found but its command has no script, the command
// cannot be started, and the create request fails with acpterm.ErrInternal.
//
// Every directory exists, and programs are in /usr/bin. Relative paths are relative to the command's directory, or to /
// if it has none. Limits are accepted but not enforced.
//
// Commands is safe for concurrent use as long as the map is not modified.
type Commands map[string]Script

// A Script runs in a goroutine instead of a process, and returns the exit code. The command exits when the Script does.
// After a fatal signal, any method of Process except Command and Context exits the goroutine, running deferred calls.
// Signals interrupt nothing else, so a Script that might block should watch Process.Context.
type Script func(p *Process) int

// Print returns a Script that writes output and then exits with the given code.
func Print(output string, code int) Script {
	return func(p *Process) int {
		fmt.Fprint(p, output)
		return code
	}
}

// Block is a Script that runs until terminated by a signal.
func Block(p *Process) int {
	p.await(nil, nil)
	return 0
}

// Base returns the zero Base, so commands have neither a default directory nor a PATH.
func (c Commands) Base(context.Context) (acpterm.Base, error) {
	return acpterm.Base{}, nil
}

// RealDir returns dir, cleaned. There are no symbolic links to resolve.
func (c Commands) RealDir(_ context.Context, dir string) (string, error) { return path.Clean(dir), nil }

// LookPath returns the path of a program, or acpterm.ErrCommandNotFound if no key refers to it.
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

// Start runs a command's Script in a new goroutine.
func (c Commands) Start(_ context.Context, l acpterm.StartRequest) (acpterm.Process, error) {
	command := l.Command
	for _, key := range []string{command.String(), command.Args[0], path.Base(command.Args[0]), "*"} {
		if script, ok := c[key]; ok {
			pid := 1<<30 | int(crc32.ChecksumIEEE([]byte(l.TerminalID))>>2) // larger than the process ids of any system
			t := &tree{launch: l, pid: pid, gone: make(chan struct{}), lost: make(chan struct{})}
			t.spawn(script)
			return t, nil
		}
	}
	return nil, fmt.Errorf("acptermtest: no key of Commands is %q", command.String())
}

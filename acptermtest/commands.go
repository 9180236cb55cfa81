package acptermtest

// Commands: a Runner that starts functions.

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

// Commands are the scripts of a test's commands: an acpterm.Runner that starts no process.
//
// A key is a command as acpterm.Command's String returns it, such as "go test ./...", which also matches that shell
// line; or a program, such as "go", for its commands that have no key of their own; or "*", for all others. A program
// that is in no key is not found. A command of a program that is found, but without a script, cannot be started: its
// create fails with acpterm.ErrInternal.
//
// Every directory exists. Programs are in /usr/bin; a relative path is relative to the command's directory, or to / if
// it has none. Limits are accepted and not applied.
//
// It is safe for concurrent use as long as the map is not changed.
type Commands map[string]Script

// Script runs in place of a process, in a goroutine of its own; it returns the exit code. The command has ended when
// the function has returned. After a signal that ends it, the next call of a method of its Process does not return
// (deferred calls run). A script that blocks on anything else has to watch Process.Context, or no signal ends it.
type Script func(p *Process) int

// Print is a command that prints a text and exits with a code.
func Print(output string, code int) Script {
	return func(p *Process) int {
		fmt.Fprint(p, output)
		return code
	}
}

// Block is a command that runs until a signal ends it.
func Block(p *Process) int {
	p.await(nil, nil)
	return 0
}

// Base returns the zero Base: commands have no directory and no PATH of their own.
func (c Commands) Base(context.Context) (acpterm.Base, error) {
	return acpterm.Base{}, nil
}

// RealDir returns the directory: there are no links.
func (c Commands) RealDir(_ context.Context, dir string) (string, error) { return path.Clean(dir), nil }

// LookPath returns the path of a program that is in a key.
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

// has reports whether a program's name or path is in a key.
func (c Commands) has(program string) bool {
	for key := range c {
		first, _, _ := strings.Cut(key, " ")
		if first == program || first == path.Base(program) || key == "*" && !strings.Contains(program, " ") {
			return true
		}
	}
	return false
}

// Start starts the script of a command.
func (c Commands) Start(_ context.Context, l acpterm.StartRequest) (acpterm.Process, error) {
	command := l.Command
	for _, key := range []string{command.String(), command.Args[0], path.Base(command.Args[0]), "*"} {
		if script, ok := c[key]; ok {
			pid := 1<<30 | int(crc32.ChecksumIEEE([]byte(l.TerminalID))>>2) // larger than any system's
			t := &tree{launch: l, pid: pid, gone: make(chan struct{}), lost: make(chan struct{})}
			t.spawn(script)
			return t, nil
		}
	}
	return nil, fmt.Errorf("acptermtest: no key of Commands is %q", command.String())
}

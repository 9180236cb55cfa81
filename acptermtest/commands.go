package acptermtest

// Made-up commands: a Runner that starts functions.

import (
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"path"
	"strings"

	"github.com/acpterm/acpterm"
)

// Commands are the commands that there are, and what each does: an acpterm.Runner that starts no process.
//
// A key is a command as acpterm.Command's String has it, such as "go test ./...", which is also that shell line; or a
// program, such as "go", for all its commands that have no key of their own; or "*", for all others. A program that is
// in no key does not exist. A command that no key is for cannot be started: its create fails with acpterm.ErrInternal.
//
// Directories exist, whatever they are called, and programs are in /usr/bin; one that is named by a relative path is in
// the command's directory, or in / if that is not set. Limits are taken as kept.
//
// It is safe for concurrent use as long as the map is not changed.
type Commands map[string]Script

// Script is what a command does, in a goroutine of its own; what it returns is the command's exit code. The command has
// ended when the function has returned. A signal that ends it does so at the next call of a method of its Process,
// which then does not return (deferred calls run): a script that waits for anything else has to watch Process.Context,
// or nothing can end it.
type Script func(p *Process) int

// Print is a command that prints something and exits with a code.
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

// Look finds a program that is in a key.
func (c Commands) Look(_ context.Context, command acpterm.Command) (string, error) {
	name := command.Args[0]
	if command.ShellLine == "" && !c.has(name) {
		return "", &acpterm.Error{Kind: acpterm.ErrCommandNotFound, Command: name}
	}
	switch {
	case path.IsAbs(name):
		return name, nil
	case strings.Contains(name, "/"):
		return path.Join(cmp.Or(command.Dir, "/"), name), nil
	}
	return "/usr/bin/" + name, nil
}

// has reports whether a program is in a key, by its name or by its path.
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
func (c Commands) Start(_ context.Context, l acpterm.Launch) (acpterm.Process, error) {
	command := l.Command
	for _, key := range []string{command.String(), command.Args[0], path.Base(command.Args[0]), "*"} {
		if script, ok := c[key]; ok {
			t := newTree(l, 1<<30|int(crc32.ChecksumIEEE([]byte(l.TerminalID))>>2))
			t.leader = t.spawn(script)
			return t, nil
		}
	}
	return nil, fmt.Errorf("acptermtest: no script is for %q", command.String())
}

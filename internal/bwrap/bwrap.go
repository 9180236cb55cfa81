// Package bwrap has the command line of bubblewrap (man 1 bwrap): it runs commands in namespaces of their own, where the
// machine's files are read-only, other processes are not seen, and no process has capabilities; with a filter of system
// calls. It imports the standard library and x/sys, and knows nothing of terminals and policies.
package bwrap

import (
	"os"
	"strings"
)

// Options are acpterm.BubblewrapOptions.
type Options struct {
	Network         bool
	Writable        []string
	ReadOnly        []string
	Hidden          []string
	NoSyscallFilter bool
}

// Command is what runs in the sandbox.
type Command struct {
	Path    string // absolute
	Name    string // the program's name for itself; empty: the last part of Path
	Args    []string
	Dir     string
	Env     []string
	Roots   []string // what is writable
	Outside string   // the variable of Env that bwrap itself gets, and the command does not
}

// Wrapped is what to start instead. Its first process in the sandbox ends when bwrap does (--unshare-pid and
// --die-with-parent).
type Wrapped struct {
	Args  []string   // Args[0] is the program's path
	Env   []string   // nothing of the command's that a program heeds
	Files []*os.File // descriptors 3 and on, which the caller closes
}

// Error says which field of a command or of options cannot be used, or why bwrap cannot be.
type Error struct {
	Field  string // "cwd", "Writable[0]"; empty if it is about bwrap itself
	Reason string // may be empty if Err is set
	Err    error
}

func (e *Error) Error() string {
	text := strings.TrimPrefix(e.Field+": "+e.Reason, ": ")
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return "bwrap: " + text
}

func (e *Error) Unwrap() error { return e.Err }

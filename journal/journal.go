// Package journal keeps records of the commands that may be running, as files in a directory, and ends the processes
// that a dead host left running. A host sets a Dir as acpterm.Options.Journal, and calls Recover when it starts:
//
//	recovered, err := journal.Recover(ctx, path)
//	// … tell the user
//	manager, err := acpterm.NewManager(&acpterm.Options{Journal: journal.Dir(path)})
//
// Callers must restrict the
// directory to the host's user and to one machine, and not share it between containers: those who can write to it can
// choose which processes Recover ends, and records identify processes by their numbers.
package journal

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/acpterm/acpterm"
)

// Dir is an acpterm.Journal: the absolute path of a directory, created when needed, with a file for each command. Only
// the host's user has access. A file contains the command's arguments, but not its environment. Managers and programs
// may share a directory. The methods are safe for concurrent use, also in several processes. Their errors name the
// file; they are those of package os, such as syscall.ENOSPC.
//
// A file is written under a temporary name and renamed, so that a reader sees all of it or nothing, whenever the host
// dies. Later, the command's process is appended to the file. Writing the file again would cost milliseconds, since
// file systems flush a file that replaces another. Nothing else is flushed to disk: a crash of the machine ends all
// processes.
type Dir string

// Begin writes a command's file.
func (d Dir) Begin(begun acpterm.TerminalInfo) error {
	r, err := newRecord(begun)
	if err != nil {
		return err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	temporary := d.path(temporaryName(r.Terminal, r.Host))
	err = os.WriteFile(temporary, append(data, '\n'), 0o600)
	if err == nil {
		err = os.Rename(temporary, d.path(recordName(r.Terminal)))
	}
	if err != nil {
		os.Remove(temporary)
	}
	return err
}

// Started adds the command's process to its file: the one with the number pid, if unreaped reports true after the
// process was read. A process that the host has reaped is not recorded, since its number may belong to another process.
func (d Dir) Started(id acpterm.TerminalID, pid int, unreaped func() bool) error {
	leader, err := newProcess(pid)
	if errors.Is(err, fs.ErrNotExist) || !unreaped() {
		return nil
	}
	if err != nil {
		return err
	}
	data, err := json.Marshal(leader)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(d.path(recordName(id)), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// End removes a command's file, if it exists.
func (d Dir) End(id acpterm.TerminalID) error { return d.remove(recordName(id)) }

// remove removes a file. It succeeds if another process has removed the file.
func (d Dir) remove(name string) error {
	if err := os.Remove(d.path(name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (d Dir) path(name string) string { return filepath.Join(string(d), name) }

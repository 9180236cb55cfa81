// Package journal keeps, as files in a directory, records of the commands that may still be running, and ends what a
// host that died left running. A host sets a Dir as acpterm.Options.Journal, and calls Recover when it starts:
//
//	recovered, err := journal.Recover(ctx, path)
//	// … tell the user
//	manager, err := acpterm.NewManager(&acpterm.Options{Journal: journal.Dir(path)})
//
// It imports acpterm, internal/lookup, internal/procfs, internal/cgroup, ulid and x/sys. Its callers keep the directory
// to the host's user and on one machine, and do not share it between containers: who can write to it can choose what
// Recover ends, and records name processes by their numbers.
package journal

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/acpterm/acpterm"
)

// Dir is an acpterm.Journal: the absolute path of a directory, made when it is needed, with a file for each command,
// which is for the host's user alone. A file has the command's arguments and nothing of its environment. Managers and
// programs may share a directory. The methods may be called concurrently, in several processes too. Their errors name
// the file; they are those of package os, such as syscall.ENOSPC.
//
// A file is written under a temporary name and renamed, so that a reader sees all of it or nothing, whenever the host
// dies. The command's process is added at the file's end when it is known; to write the file again would take
// milliseconds, since file systems flush what replaces another file. Nothing else is flushed to the disk: a crash of
// the machine ends what runs.
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

// Started adds to a command's file which process it is: the one with the number pid, if it is still the command's when
// the process has been read, which unreaped reports. A process that the host has reaped is not recorded, since its
// number may be another's.
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

// End removes a command's file, if there is one.
func (d Dir) End(id acpterm.TerminalID) error { return d.remove(recordName(id)) }

// remove is no error when another process did it.
func (d Dir) remove(name string) error {
	if err := os.Remove(d.path(name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (d Dir) path(name string) string { return filepath.Join(string(d), name) }

// Package journal records the commands that may be running, as files in a directory, so that processes left running by
// a dead host can be ended. A host should set a Dir as acpterm.Options.Journal, and call Recover when it starts:
//
//	recovered, err := journal.Recover(ctx, path)
//	// … tell the user
//	manager, err := acpterm.NewManager(&acpterm.Options{Journal: journal.Dir(path)})
//
// The directory must be restricted to the host's user and to a single machine, and must not be shared between
// containers, because records identify processes by number, and anyone able to write to it can choose which processes
// Recover ends.
package journal

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/acpterm/acpterm"
)

// Dir is an acpterm.Journal that keeps a file for each command in a directory. It is the directory's absolute path. The
// directory is created when needed, with access for the host's user only. Files contain a command's arguments, but not
// its environment. Managers and programs may share a directory, and all methods are safe for concurrent use, even by
// several processes. Their errors name the file, and are those of package os, such as syscall.ENOSPC.
//
// Each file is written under a temporary name and then renamed, so that readers see all of it or nothing, even if the
// host dies. The command's process is appended later, because replacing the file would take milliseconds, since file
// systems flush a file that replaces another. Nothing else is flushed to disk, because all processes end if the machine
// crashes.
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

// Started adds the command's process to its file. The process is read first and recorded only if unreaped then returns
// true, because once the host has reaped it, the number pid may belong to another process.
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

// End removes a command's file. A missing file is not an error.
func (d Dir) End(id acpterm.TerminalID) error { return d.remove(recordName(id)) }

// remove removes a file. It succeeds if another process has removed the file.
func (d Dir) remove(name string) error {
	if err := os.Remove(d.path(name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (d Dir) path(name string) string { return filepath.Join(string(d), name) }

// Package journal stores records of running commands in a directory. If a host dies, the records make it possible to
// find and terminate any processes that it left behind. To use a journal, set acpterm.Options.Journal to a Dir, and
// call Recover when the host starts:
//
//	recovered, err := journal.Recover(ctx, path)
//	// … tell the user
//	manager, err := acpterm.NewManager(&acpterm.Options{Journal: journal.Dir(path)})
//
// Only the host's user should have access to the directory, because anyone who can write to it can choose which
// processes Recover terminates. The directory must not be shared between machines or containers, because records
// identify processes by number.
package journal

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/acpterm/acpterm"
)

// A Dir is the absolute path of a directory that contains one file for each command. It implements acpterm.Journal. The
// directory is created when needed, and is then only accessible to the host's user. Each file contains the arguments of
// a command, but not its environment. All methods are safe for concurrent use, even by multiple processes, so a
// directory may be shared by several managers and programs. A file belongs to the host process, and remains until a
// release (or kill, or timeout) has ended the tree. Therefore, after a crash, also during a release, Recover returns
// terminals of all managers of the process. If a command ends by itself, its file remains too. Errors returned by the
// methods come from package os, may wrap errors such as syscall.ENOSPC, and include the name of the file.
//
// Each file is first written under a temporary name and then renamed, so a reader will see either the complete file or
// no file at all, even if the host dies. The command's process is appended to the file later. Replacing the file at
// that point would take milliseconds, because file systems flush a file when it replaces another one. The files are not
// explicitly flushed to disk either, since no process would survive a crash of the machine.
type Dir string

// Begin implements acpterm.Journal by writing the command's file.
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

// Started adds the command's process to its file. To do so, it examines the process and then calls unreaped. If
// unreaped returns false, Started does not record anything, because the host has already reaped the process, and pid
// may have been reused for another one.
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

// End removes the command's file. It is not an error if the file does not exist.
func (d Dir) End(id acpterm.TerminalID) error { return d.remove(recordName(id)) }

// remove removes a file. It succeeds if another process has removed the file.
func (d Dir) remove(name string) error {
	if err := os.Remove(d.path(name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (d Dir) path(name string) string { return filepath.Join(string(d), name) }

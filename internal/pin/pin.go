// Package pin holds on to the program and the directory that a decision was about, so that nothing else runs in their
// place: a File notices when its path leads elsewhere or the file was written to, a Dir is this very directory whatever
// its path leads to later (on Linux), and a Verifier compares the contents of a program and its interpreters. It
// imports the standard library and x/sys, and knows nothing of commands or policies. Callers pass paths without
// symbolic links.
package pin

import (
	"os"
	"path/filepath"
)

// File is a file or directory as it was when Stat looked at it. The zero value is of nothing.
type File struct {
	path string
	info os.FileInfo // nil: nothing was there
}

// Stat looks at a file by its path, which must have no symbolic links.
func Stat(path string) (File, error) {
	info, err := os.Stat(path)
	return File{path, info}, err
}

// Unchanged reports whether the path still leads to the same file: no link on the way, the same inode, not written to.
func (f File) Unchanged() bool {
	resolved, err := filepath.EvalSymlinks(f.path)
	if err != nil || resolved != f.path {
		return false
	}
	info, err := os.Stat(f.path)
	return err == nil && sameFile(f.info, info)
}

// sameFile reports whether two looks at a path saw the same file, not written to in between, or both saw none (nil).
func sameFile(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && (a.IsDir() ||
		a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && changeTime(a) == changeTime(b))
}

// Dir is a directory that is held open where the system can start a command in an open directory, which is Linux.
type Dir struct {
	file File
	open dirHandle
}

// OpenDir pins a directory by its path, which must have no symbolic links. Close frees it.
func OpenDir(path string) (*Dir, error) {
	open, err := openDir(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(open.path(path))
	if err != nil {
		open.close()
		return nil, err
	}
	return &Dir{File{path, info}, open}, nil
}

// Unchanged reports whether the path still leads to this directory.
func (d *Dir) Unchanged() bool { return d.file.Unchanged() }

// Path is a name for the directory that works in this process, and in its child until that executes its program.
func (d *Dir) Path() string { return d.open.path(d.file.path) }

// Close frees what the Dir holds.
func (d *Dir) Close() { d.open.close() }

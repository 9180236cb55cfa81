// Package pin pins the program and the directory of a decision, so that no other program or directory is used instead.
// A File detects that its path leads to another file, or that a process wrote to the file. A Dir stays the same
// directory even if its path later leads elsewhere (on Linux). A Verifier compares the contents of a program and its
// interpreters. Callers pass paths without symbolic links.
package pin

import (
	"os"
	"path/filepath"
)

// A File is the state of a file or directory at the time of Stat. The zero value does not refer to a file.
type File struct {
	path string
	info os.FileInfo // nil if the file did not exist
}

// Stat returns the File at a path. The path must not contain symbolic links.
func Stat(path string) (File, error) {
	info, err := os.Stat(path)
	return File{path, info}, err
}

// Unchanged reports whether the path still leads to the same unmodified file: the path does not contain symbolic links,
// and the inode, size and times are the same. For a directory, only the inode counts.
func (f File) Unchanged() bool {
	resolved, err := filepath.EvalSymlinks(f.path)
	if err != nil || resolved != f.path {
		return false
	}
	info, err := os.Stat(f.path)
	return err == nil && sameFile(f.info, info)
}

// sameFile reports whether a and b describe the same file, unmodified in between, or are both nil.
func sameFile(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && (a.IsDir() ||
		a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && changeTime(a) == changeTime(b))
}

// A Dir is a pinned directory. On Linux it is held open, because Linux can start a command in an open directory.
type Dir struct {
	File
	open dirHandle
}

// OpenDir pins the directory at a path. The path must not contain symbolic links. The caller must call Close.
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

// Path returns a path of the directory, valid in this process and in a child until it executes its program.
func (d *Dir) Path() string { return d.open.path(d.File.path) }

// Close closes the directory.
func (d *Dir) Close() { d.open.close() }

// Pinned is a program and the directory that it will run in. A nil Pinned pins neither.
type Pinned struct {
	program File
	dir     *Dir
}

// Open pins the directory at a path for a program. The path must not contain symbolic links. The caller must call
// Close.
func Open(program File, dir string) (*Pinned, error) {
	opened, err := OpenDir(dir)
	if err != nil {
		return nil, err
	}
	return &Pinned{program, opened}, nil
}

// Unchanged reports whether both are unchanged.
func (p *Pinned) Unchanged() bool { return p == nil || p.program.Unchanged() && p.dir.Unchanged() }

// Path returns Dir.Path if dir is the path of the directory, and dir otherwise.
func (p *Pinned) Path(dir string) string {
	if p == nil || dir != p.dir.File.path {
		return dir
	}
	return p.dir.Path()
}

// Close closes the directory.
func (p *Pinned) Close() {
	if p != nil {
		p.dir.Close()
	}
}

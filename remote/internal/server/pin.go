package server

// Pins: which file a program is, and which directory, as a text.

import "fmt"

// newPin is the pin of a program and a directory, both without symbolic links in their paths.
func newPin(program, dir string) (string, error) {
	file, err := identify(program)
	if err != nil {
		return "", fieldError("command", err)
	}
	in, err := identify(dir)
	if err != nil {
		return "", fieldError("cwd", err)
	}
	return pinOf(file, in), nil
}

// pinOf has nothing of a directory that changes with what is in it.
func pinOf(file, dir identity) string {
	return fmt.Sprintf("%s %d %s %s; %s %s", file.inode, file.size, file.modified, file.changed, dir.inode, dir.born)
}

// identity is what tells a file from others, and from itself before it was written to. What the system does not tell is
// empty.
type identity struct {
	inode    string // with the device
	size     int64
	modified string // when its contents changed, as far as the file says so
	changed  string // when its contents or inode changed, which no process can set
	born     string
}

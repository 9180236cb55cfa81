package server

// Pins: texts that identify a program file and a directory.

import "fmt"

// newPin returns the pin of a program and a directory. Neither path may contain symbolic links.
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

// pinOf returns a pin. It ignores properties of the directory that change with its contents.
func pinOf(file, dir identity) string {
	return fmt.Sprintf("%s %d %s %s; %s %s", file.inode, file.size, file.modified, file.changed, dir.inode, dir.born)
}

// identity distinguishes a file from others, and from itself before a write. A value is empty if the system does not
// report it.
type identity struct {
	inode    string // includes the device
	size     int64
	modified string // when its contents changed; processes can set this time
	changed  string // when its contents or inode changed; no process can set this time
	born     string
}

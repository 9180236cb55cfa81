package main

// The place of files that commands must not write.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// outside fails if a path of this program's own files is one of dirs or below one, before or after links are resolved:
// commands that write to a journal could choose which processes the next start ends, or answer questions for the user.
// The path is absolute, and may be missing.
func outside(path string, dirs []string) error {
	resolved, err := resolve(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, dir := range dirs {
		wanted, err := os.Stat(dir)
		if err != nil {
			return err
		}
		for _, name := range []string{path, resolved} { // commands can change a link in a root
			inside, err := isInside(name, wanted)
			if err != nil {
				return err
			}
			if inside {
				return fmt.Errorf("%s is in %s, where commands may write: choose another directory", name, dir)
			}
		}
	}
	return nil
}

// resolve resolves the links in a path, whose last elements may be missing.
func resolve(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if _, statErr := os.Lstat(path); statErr == nil {
		return "", err // a link to a missing file
	}
	dir, err := resolve(filepath.Dir(path))
	return filepath.Join(dir, filepath.Base(path)), err
}

// isInside reports whether path is dir or below it, by any name of dir.
func isInside(path string, dir fs.FileInfo) (bool, error) {
	for at := path; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return false, err
		case err == nil && os.SameFile(info, dir):
			return true, nil
		case at == filepath.Dir(at):
			return false, nil
		}
	}
}

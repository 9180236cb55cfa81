//go:build !linux

package pin

import "os"

// dirHandle is empty: a command starts in the directory's path, and the caller checks Unchanged right before.
type dirHandle struct{}

func openDir(string) (dirHandle, error) { return dirHandle{}, nil }

func (dirHandle) path(name string) string { return name }

func (dirHandle) close() {}

// changeTime always returns 0: these systems do not compare it.
func changeTime(os.FileInfo) int { return 0 }

// onlyRootWrites always returns false: on these systems every file counts as writable.
func onlyRootWrites(os.FileInfo) bool { return false }

//go:build !linux

package pin

import "os"

// dirHandle holds nothing: a command starts in the directory's path, and Unchanged is the check right before.
type dirHandle struct{}

func openDir(string) (dirHandle, error) { return dirHandle{}, nil }

func (dirHandle) path(name string) string { return name }

func (dirHandle) close() {}

// changeTime is not compared on these systems.
func changeTime(os.FileInfo) int { return 0 }

// onlyRootWrites is not looked at on these systems, so every file counts as writable.
func onlyRootWrites(os.FileInfo) bool { return false }

package server

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each difference changes the pin. A new directory can have the inode of a removed one, so its birth time also counts.
func TestPinOfEachDifference(t *testing.T) {
	program := identity{inode: "1:2", size: 3, modified: "4", changed: "5", born: "6"}
	dir := identity{inode: "1:7", size: 8, modified: "9", changed: "10", born: "11"}
	for name, change := range map[string]func(program, dir *identity){
		"another program":     func(program, _ *identity) { program.inode = "0" },
		"its size":            func(program, _ *identity) { program.size = 0 },
		"its time":            func(program, _ *identity) { program.modified = "0" },
		"a change of it":      func(program, _ *identity) { program.changed = "0" },
		"another directory":   func(_, dir *identity) { dir.inode = "0" },
		"another of its name": func(_, dir *identity) { dir.born = "0" },
	} {
		otherProgram, otherDir := program, dir
		change(&otherProgram, &otherDir)
		require.NotEqual(t, pinOf(program, dir), pinOf(otherProgram, otherDir), name)
	}
}

// New entries in a directory do not change its pin.
func TestPinOfTheSameDirectory(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	before, err := newPin(program, dir)
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(dir+"/new", 0o700))
	require.NoError(t, os.Chtimes(dir, time.Time{}, time.Now().Add(time.Hour)))
	after, err := newPin(program, dir)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

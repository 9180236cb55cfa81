package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const assets = "../../../../view/assets"

// If this fails, run go generate in view.
func TestBundleIsOfTheseSources(t *testing.T) {
	files, err := build(assets)
	require.NoError(t, err)
	entries, err := os.ReadDir(filepath.Join(assets, "bundle"))
	require.NoError(t, err)
	require.Len(t, entries, len(files))
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(assets, "bundle", name))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "%s: run go generate in view", name)
	}
}

// The bundle keeps the copyright notices of what it contains.
func TestBundleKeepsNotices(t *testing.T) {
	files, err := build(assets)
	require.NoError(t, err)
	require.Contains(t, string(files["acp-terminal.js"]), "The xterm.js authors")
	require.Contains(t, string(files["later.js"]), "Permission is hereby granted")
}

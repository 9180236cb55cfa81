package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/stretchr/testify/require"
)

const assets = "../../../../view/assets"

// If this fails, run go generate in view.
func TestBundleIsOfTheseSources(t *testing.T) {
	files, err := build(assets)
	require.NoError(t, err)
	entries, err := os.ReadDir(filepath.Join(assets, "bundle"))
	require.NoError(t, err)
	require.Len(t, entries, 2*len(files))
	for name, want := range files {
		zipped, err := os.ReadFile(filepath.Join(assets, "bundle", name+".gz"))
		require.NoError(t, err)
		plain, err := gzip.NewReader(bytes.NewReader(zipped))
		require.NoError(t, err)
		got, err := io.ReadAll(plain)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "%s.gz: run go generate in view", name)
		squeezed, err := os.ReadFile(filepath.Join(assets, "bundle", name+".br"))
		require.NoError(t, err)
		got, err = io.ReadAll(brotli.NewReader(bytes.NewReader(squeezed)))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "%s.br: run go generate in view", name)
	}
}

// The bundle keeps the copyright notices of what it contains.
func TestBundleKeepsNotices(t *testing.T) {
	files, err := build(assets)
	require.NoError(t, err)
	require.Contains(t, string(files["acp-terminal.js"]), "The xterm.js authors")
}

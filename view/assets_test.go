package view

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// vendoredFile is a row of assets/xterm/README.md.
type vendoredFile struct{ name, pack, path, sum string }

func vendoredFiles(t *testing.T) (files []vendoredFile) {
	readme, err := assets.ReadFile("assets/xterm/README.md")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile("(?m)^\\| `(.+?)` \\| `(.+?)` \\| `(.+?)` \\| `([0-9a-f]{64})` \\|$").FindAllSubmatch(readme, -1) {
		files = append(files, vendoredFile{string(m[1]), string(m[2]), string(m[3]), string(m[4])})
	}
	return files
}

func sum(content []byte) string {
	digest := sha256.Sum256(content)
	return hex.EncodeToString(digest[:])
}

func TestVendoredFilesAreWhatTheirReadmeSays(t *testing.T) {
	named := map[string]string{"README.md": "", "xterm.d.mts": "", "addon-unicode11.d.mts": ""}
	for _, f := range vendoredFiles(t) {
		named[f.name] = f.sum
	}
	entries, err := fs.ReadDir(assets, "assets/xterm")
	require.NoError(t, err)
	require.Len(t, entries, len(named))
	for _, entry := range entries {
		want, known := named[entry.Name()]
		require.True(t, known, entry.Name())
		content, err := assets.ReadFile("assets/xterm/" + entry.Name())
		require.NoError(t, err)
		if want != "" {
			require.Equal(t, want, sum(content), entry.Name())
		}
	}
}

func TestVendoredFilesAreThoseOfNPM(t *testing.T) {
	if os.Getenv("VIEW_CHECK_NPM") == "" {
		t.Skip("VIEW_CHECK_NPM is not set")
	}
	packages := make(map[string]map[string]string) // sums by package and file
	for _, f := range vendoredFiles(t) {
		if packages[f.pack] == nil {
			packages[f.pack] = packed(t, f.pack)
		}
		require.Equal(t, f.sum, packages[f.pack]["package/"+f.path], f.name)
	}
	require.NotEmpty(t, packages)
}

// packed returns the sums of a package's files.
func packed(t *testing.T, pack string) map[string]string {
	dir := t.TempDir()
	npm := exec.CommandContext(t.Context(), "npm", "pack", "--silent", pack)
	npm.Dir = dir
	out, err := npm.CombinedOutput()
	require.NoError(t, err, string(out))
	archives, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	require.NoError(t, err)
	require.Len(t, archives, 1)
	archive, err := os.ReadFile(archives[0])
	require.NoError(t, err)
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	require.NoError(t, err)
	sums := make(map[string]string)
	for files := tar.NewReader(unzipped); ; {
		header, err := files.Next()
		if err == io.EOF {
			return sums
		}
		require.NoError(t, err)
		content, err := io.ReadAll(files)
		require.NoError(t, err)
		sums[header.Name] = sum(content)
	}
}

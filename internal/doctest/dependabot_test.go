package doctest

// Dependabot's configuration names each directory with dependencies: of Go, and of npm.

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/doctest/pages"
)

func TestDependabot(t *testing.T) {
	pages.AtRoot(t)
	t.Parallel()
	var want []string
	require.NoError(t, filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.Name() == "node_modules":
			return fs.SkipDir
		case entry.Name() == "go.mod" || entry.Name() == "package-lock.json":
			want = append(want, path.Join("/", filepath.ToSlash(filepath.Dir(name))))
		}
		return nil
	}))
	config, err := os.ReadFile(filepath.FromSlash(".github/dependabot.yml"))
	require.NoError(t, err)
	var named []string
	for _, m := range regexp.MustCompile(`(?m)^      - (/\S*)$`).FindAllStringSubmatch(string(config), -1) {
		named = append(named, m[1])
	}
	require.ElementsMatch(t, want, named, "directories of .github/dependabot.yml")
}

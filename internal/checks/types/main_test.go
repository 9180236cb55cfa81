package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Errors in the bodies of functions are found, for the given system only: in code, in a package's tests and in those
// outside it.
func TestErrorsOfOneSystem(t *testing.T) {
	dir := t.TempDir()
	for name, source := range map[string]string{
		"go.mod":            "module example.com/m\n\ngo 1.26\n",
		"m.go":              "package m\n\nimport \"net/http\"\n\nvar X = http.MethodGet\n",
		"m_darwin.go":       "package m\n\nvar y int = \"in code\"\n",
		"in_darwin_test.go": "package m\n\nfunc f() { inTest() }\n",
		"x_darwin_test.go":  "package m_test\n\nimport \"example.com/m\"\n\nfunc f() { m.Outside() }\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(source), 0o600))
	}
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
	t.Setenv("GOARCH", "arm64")
	checkFor := func(system string) error {
		t.Setenv("GOOS", system)
		packages, err := list([]string{"./..."})
		require.NoError(t, err)
		return check(packages)
	}
	require.NoError(t, checkFor("linux"))
	err := checkFor("darwin")
	require.ErrorContains(t, err, "m_darwin.go:3:13: cannot use")
	require.ErrorContains(t, err, "in_darwin_test.go:3:12: undefined: inTest")
	require.ErrorContains(t, err, "x_darwin_test.go:5:14: undefined: m.Outside")
}

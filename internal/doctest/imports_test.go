package doctest

// Allowed imports: public packages import the root and internal, the root imports internal, and never the reverse. No
// module imports the internal packages of another one, because only the same version of both would build for certain.
// Only embedders read a login environment.

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/doctest/pages"
)

// importsOfInternal lists the repository's packages imported by packages below internal. Unlisted packages import none.
var importsOfInternal = map[string][]string{
	"internal/cgroup":   {"internal/procfs"},
	"internal/life":     {"internal/latch"},
	"internal/proc":     {"internal/cgroup", "internal/latch", "internal/procfs"},
	"internal/requests": {"internal/latch"},
	"internal/screen":   {"internal/output"},
}

func TestImports(t *testing.T) {
	pages.AtRoot(t)
	const module = "github.com/acpterm/acpterm"
	pages.Walk(t, func(name string) {
		dir := path.Dir(name)
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || forTests(dir) {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, spec := range file.Imports {
			imported, inside := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module)
			imported = strings.TrimPrefix(imported, "/") // empty for the root
			switch {
			case !inside:
			case forTests(imported):
				t.Errorf("%s imports %s, which is for tests alone", name, imported)
			case dir == "." && !strings.HasPrefix(imported, "internal/"):
				t.Errorf("%s: the root imports %s", name, imported)
			case strings.HasPrefix(dir, "internal/") && !slices.Contains(importsOfInternal[dir], imported):
				t.Errorf("%s imports %q", name, imported)
			}
		}
	})
}

func TestModulesDoNotShareInternalPackages(t *testing.T) {
	pages.AtRoot(t)
	modules := modulesOfWork(t)
	pages.Walk(t, func(name string) {
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, spec := range file.Imports {
			imported, inside := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), "github.com/acpterm/acpterm/")
			isInternal := inside && slices.Contains(strings.Split(imported, "/"), "internal")
			if isInternal && moduleOf(imported, modules) != moduleOf(path.Dir(name), modules) {
				t.Errorf("%s imports %s, which is another module's", name, imported)
			}
		}
	})
}

// modulesOfWork returns the directories of the modules in go.work.
func modulesOfWork(t *testing.T) (dirs []string) {
	work, err := os.ReadFile("go.work")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`(?m)^\t(\.\S*)$`).FindAllStringSubmatch(string(work), -1) {
		dirs = append(dirs, path.Clean(m[1]))
	}
	require.Contains(t, dirs, ".")
	return dirs
}

// moduleOf returns the directory of the module that a directory belongs to.
func moduleOf(dir string, modules []string) string {
	for ; dir != "."; dir = path.Dir(dir) {
		if slices.Contains(modules, dir) {
			break
		}
	}
	return dir
}

// docs/architecture.md says that the root needs package net on Windows only.
func TestTheRootDoesNotImportNet(t *testing.T) {
	pages.AtRoot(t)
	t.Parallel()
	for _, system := range []string{"linux", "darwin", "freebsd"} {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", ".")
		list.Env = append(list.Environ(), "GOOS="+system)
		out, err := list.Output()
		require.NoError(t, err)
		packages := strings.Fields(string(out))
		require.Contains(t, packages, "github.com/acpterm/acpterm/internal/wire")
		require.False(t, slices.Contains(packages, "net"), system)
	}
}

// forTests reports whether only tests import a package.
func forTests(dir string) bool {
	return strings.HasPrefix(dir, "internal/") && strings.Contains(dir, "test") || strings.HasPrefix(dir, "internal/checks/")
}

// No request, and no other part of the library, runs a login shell: only usershell mentions it.
func TestOnlyEmbeddersReadALoginEnvironment(t *testing.T) {
	pages.AtRoot(t)
	mentions := 0
	for _, name := range libraryFiles(t) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			var text string
			switch n := n.(type) {
			case *ast.ImportSpec:
				text = n.Path.Value
			case *ast.Ident:
				text = n.Name
			}
			switch text {
			case `"github.com/acpterm/acpterm/usershell/internal/loginshell"`, "LoginEnvironment", "LoginEnv":
				mentions++
				require.Equal(t, "usershell/login.go", name)
			}
			return true
		})
	}
	require.Positive(t, mentions)
}

package doctest

// The budgets of the code limit the size of the library, its files and its functions. They only decrease: a change that
// needs more room first moves something else out.

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/doctest/pages"
)

const (
	maxRootLines      = 5664
	maxRootFiles      = 28
	maxLibraryLines   = 14880 // the root and internal, without the packages that only tests import
	maxRootTestFiles  = 9
	maxNames          = 112 // exported by the root
	maxIdentifiers    = 418 // the same with exported methods and fields
	maxOptionFields   = 44  // of all structs of options in the root
	maxTerminalFields = 23
	maxFileLines      = 500
	maxFunctionLines  = 60
	maxColumns        = 120 // a tab counts four
)

// longFunctions lists the functions that may exceed maxFunctionLines, with the reason.
var longFunctions = map[string]string{
	"policy/variables.go: DangerousVariables": "a list of names",
}

func TestSizes(t *testing.T) {
	pages.AtRoot(t)
	t.Parallel()
	rootLines, rootFiles, internalLines := 0, 0, 0
	for _, path := range libraryFiles(t) {
		file, err := os.Open(filepath.FromSlash(path))
		require.NoError(t, err)
		lines := 0
		for s := bufio.NewScanner(file); s.Scan(); {
			lines++
			if n := utf8.RuneCountInString(s.Text()) + 3*strings.Count(s.Text(), "\t"); n > maxColumns {
				t.Errorf("%s:%d has %d columns, more than %d", path, lines, n, maxColumns)
			}
		}
		require.NoError(t, file.Close())
		if lines > maxFileLines {
			t.Errorf("%s has %d lines, more than %d", path, lines, maxFileLines)
		}
		switch dir := filepath.ToSlash(filepath.Dir(path)); {
		case dir == ".":
			rootLines += lines
			rootFiles++
		case strings.HasPrefix(dir, "internal/") && !strings.HasSuffix(dir, "test"):
			internalLines += lines
		}
		checkFunctions(t, path)
	}
	for _, budget := range []struct {
		what      string
		has, most int
	}{
		{"lines in the root", rootLines, maxRootLines},
		{"files in the root", rootFiles, maxRootFiles},
		{"lines in the root and internal", rootLines + internalLines, maxLibraryLines},
	} {
		if budget.has > budget.most {
			t.Errorf("%d %s, more than %d", budget.has, budget.what, budget.most)
		}
	}
}

// TestFace limits the number of names that a reader of the root must know.
func TestFace(t *testing.T) {
	pages.AtRoot(t)
	names, identifiers, optionFields, terminalFields := 0, 0, 0, 0
	paths, err := filepath.Glob("*.go")
	require.NoError(t, err)
	tests := 0
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			tests++
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, name := range declaredNames(file) {
			owner, member, isMember := strings.Cut(name, ".")
			switch {
			case ast.IsExported(owner) && !isMember:
				names++
				identifiers++
			case ast.IsExported(owner) && ast.IsExported(member):
				identifiers++
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if of, ok := spec.Type.(*ast.StructType); ok && strings.HasSuffix(spec.Name.Name, "Options") {
				optionFields += of.Fields.NumFields()
			} else if ok && spec.Name.Name == "Terminal" {
				terminalFields = of.Fields.NumFields()
			}
			return true
		})
	}
	for _, budget := range []struct {
		what      string
		has, most int
	}{
		{"test files in the root", tests, maxRootTestFiles},
		{"names exported by the root", names, maxNames},
		{"identifiers exported by the root", identifiers, maxIdentifiers},
		{"fields of options", optionFields, maxOptionFields},
		{"fields of Terminal", terminalFields, maxTerminalFields},
	} {
		t.Log(budget.has, budget.what)
		if budget.has > budget.most {
			t.Errorf("%d %s, more than %d", budget.has, budget.what, budget.most)
		}
	}
}

// libraryFiles returns the files of the root module that are not tests.
func libraryFiles(t *testing.T) (files []string) {
	for _, pattern := range []string{"*.go", "*/*.go", "internal/*/*.go"} {
		found, err := filepath.Glob(filepath.FromSlash(pattern))
		require.NoError(t, err)
		for _, file := range found {
			_, err := os.Stat(filepath.Join(filepath.Dir(file), "go.mod"))
			ofRoot := filepath.Dir(file) == "." || os.IsNotExist(err)
			if ofRoot && !strings.HasSuffix(file, "_test.go") {
				files = append(files, filepath.ToSlash(file))
			}
		}
	}
	require.NotEmpty(t, files)
	return files
}

func checkFunctions(t *testing.T, path string) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, filepath.FromSlash(path), nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		lines := set.Position(f.End()).Line - set.Position(f.Pos()).Line + 1
		name := fmt.Sprintf("%s: %s", path, f.Name.Name)
		if _, exempt := longFunctions[name]; lines > maxFunctionLines && !exempt {
			t.Errorf("%s has %d lines, more than %d", name, lines, maxFunctionLines)
		}
	}
}

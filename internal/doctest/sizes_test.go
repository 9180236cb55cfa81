package doctest

// The budgets of the code limit the size of the library, its files and its functions. Each was set about 5 % above the
// figure of its day. A change that needs more raises its budget and says why; a series of raises is refused.

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/doctest/pages"
)

const (
	maxRootLines      = 6300
	maxRootFiles      = 31
	maxLibraryLines   = 18_400 // the root and internal, without the packages that only tests import
	maxGoLines        = 147_000
	maxExampleLines   = 2500   // of all examples, without tests
	maxExamplesLines  = 4000   // the same with tests
	maxOneExample     = 400    // without tests
	maxWords          = 17_000 // of the pages in docs
	maxMCPWords       = 1500   // of docs/mcp.md
	maxRootTestFiles  = 10
	maxNames          = 118 // exported by the root
	maxIdentifiers    = 460 // the same with exported methods and fields
	maxOptionFields   = 50  // of all structs of options in the root
	maxTerminalFields = 28
	maxFileLines      = 500
	maxFunctionLines  = 60
	maxColumns        = 120 // a tab counts four
)

// longFunctions lists the functions that may exceed maxFunctionLines, with the reason.
var longFunctions = map[string]string{
	"policy/variables.go: DangerousVariables": "a list of names",
}

// A budget limits a figure that grows by itself.
type budget struct {
	what      string
	has, most int
	why       string
}

func (b budget) check(t *testing.T) {
	t.Helper()
	t.Logf("%d %s, of at most %d", b.has, b.what, b.most)
	if b.has > b.most {
		t.Errorf("%d %s, %d more than the budget of %d, which exists because %s.\nFirst remove the code that the change "+
			"replaces. If that is not enough, raise the budget in the same change to 5 %% above the need, and give the "+
			"reason for the code and its place in the description.", b.has, b.what, b.has-b.most, b.most, b.why)
	}
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
				t.Errorf("%s:%d has %d columns, %d too many: break the line", path, lines, n, n-maxColumns)
			}
		}
		require.NoError(t, file.Close())
		if lines > maxFileLines {
			t.Errorf("%s has %d lines, %d too many: give a subject of its own to another file", path, lines,
				lines-maxFileLines)
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
	for _, b := range []budget{
		{"lines in the root", rootLines, maxRootLines, "an embedder should be able to read the root in an afternoon"},
		{"files in the root", rootFiles, maxRootFiles, "the list of files is the first thing that a reader sees"},
		{"lines in the root and internal", rootLines + internalLines, maxLibraryLines,
			"a maintainer has to know all of them"},
	} {
		b.check(t)
	}
}

// TestAllLines limits the Go of the repository, with tests, examples and programs.
func TestAllLines(t *testing.T) {
	pages.AtRoot(t)
	t.Parallel()
	b := budget{"lines of Go in the repository", 0, maxGoLines, "each line has to be compiled, checked and kept true"}
	require.NoError(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || path != "." && strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case filepath.Ext(path) == ".go":
			lines, err := pages.ReadLines(path)
			b.has += len(lines) - 1
			return err
		}
		return nil
	}))
	b.check(t)
}

// TestExamples limits the examples, each of which a reader copies.
func TestExamples(t *testing.T) {
	pages.AtRoot(t)
	t.Parallel()
	const copied = "a reader reads an example from top to bottom, and copies it"
	code, all := 0, 0
	byExample := make(map[string]int)
	require.NoError(t, filepath.WalkDir("examples", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		lines, err := pages.ReadLines(path)
		all += len(lines) - 1
		if !strings.HasSuffix(path, "_test.go") {
			code += len(lines) - 1
			byExample[exampleOf(path)] += len(lines) - 1
		}
		return err
	}))
	budget{"lines of examples", code, maxExampleLines, copied}.check(t)
	budget{"lines of examples and their tests", all, maxExamplesLines, "an example shows, a product needs tests"}.check(t)
	for example, lines := range byExample {
		budget{"lines in " + example, lines, maxOneExample, copied}.check(t)
	}
}

// exampleOf returns the directory of the example that a file belongs to: examples/NAME or examples/with/NAME.
func exampleOf(path string) string {
	directories := strings.Split(filepath.ToSlash(filepath.Dir(path)), "/")
	length := 2
	if len(directories) > 1 && directories[1] == "with" {
		length = 3
	}
	return strings.Join(directories[:min(length, len(directories))], "/")
}

// TestWords limits the pages in docs.
func TestWords(t *testing.T) {
	pages.AtRoot(t)
	t.Parallel()
	words := 0
	paths, err := filepath.Glob(filepath.FromSlash("docs/*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		words += len(strings.Fields(string(data)))
		if filepath.Base(path) == "mcp.md" {
			budget{"words in " + path, len(strings.Fields(string(data))), maxMCPWords,
				"its readers want to use the program at once"}.check(t)
		}
	}
	budget{"words in docs", words, maxWords, "a page that is too long is not read, and each fact has to stay true"}.check(t)
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
	const embeddersKnow = "an embedder has to know them, and no release can take them back"
	for _, b := range []budget{
		{"test files in the root", tests, maxRootTestFiles, "they stand between the files that a reader looks for"},
		{"names exported by the root", names, maxNames, embeddersKnow},
		{"identifiers exported by the root", identifiers, maxIdentifiers, embeddersKnow},
		{"fields of options", optionFields, maxOptionFields, "each is a question to an embedder"},
		{"fields of Terminal", terminalFields, maxTerminalFields, "each is state that every method has to keep true"},
	} {
		b.check(t)
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
			t.Errorf("%s has %d lines, %d too many: divide it, or list it in longFunctions with the reason", name, lines,
				lines-maxFunctionLines)
		}
	}
}

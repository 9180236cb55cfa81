package documents

// The code in package comments uses the packages as they are.

import (
	"encoding/json"
	"fmt"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/doctest/pages"
)

// packagesInComments are the packages that code in package comments names, beside those of this repository.
var packagesInComments = map[string]string{
	"acp": "github.com/coder/acp-go-sdk", "context": "context", "errors": "errors", "exec": "os/exec", "fmt": "fmt",
	"jsonrpc2": "github.com/sourcegraph/jsonrpc2", "log": "log", "os": "os", "slog": "log/slog", "time": "time",
}

// notGo matches a command line, and code that imports a package itself.
var notGo = regexp.MustCompile(`(?m)^(go|acpterm-|\$|import) `)

// TestCodeInPackageComments type-checks the code. The code may use variables that it does not declare.
func TestCodeInPackageComments(t *testing.T) {
	pages.AtRoot(t)
	root, err := os.Getwd()
	require.NoError(t, err)
	overlay := struct{ Replace map[string]string }{make(map[string]string)}
	dir, blocks := t.TempDir(), 0
	all := packageComments(t)
	packages := slices.Sorted(maps.Keys(all))
	for _, text := range all {
		for _, block := range new(comment.Parser).Parse(text).Content {
			code, ok := block.(*comment.Code)
			if !ok || !strings.Contains(code.Text, "(") || notGo.MatchString(code.Text) {
				continue
			}
			blocks++
			name := fmt.Sprintf("block%d.go", blocks)
			written := filepath.Join(dir, name)
			require.NoError(t, os.WriteFile(written, []byte(programOf(packages, code.Text, blocks)), 0o666))
			overlay.Replace[filepath.Join(root, "internal", "checks", "comments", name)] = written
		}
	}
	require.Greater(t, blocks, 20)
	encoded, err := json.Marshal(overlay)
	require.NoError(t, err)
	file := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, encoded, 0o666))
	build := exec.Command("go", "build", "-gcflags=-e", "-overlay", file, "./internal/checks/comments")
	out, _ := build.CombinedOutput() // fails, because of the variables
	wrong := regexp.MustCompile(`unknown field|undefined: \w+\.|undefined \(type|not enough arguments|` +
		`too many arguments|assignment mismatch|is not in std|no required module|syntax error`)
	for line := range strings.Lines(string(out)) {
		if wrong.MatchString(line) {
			t.Error(strings.TrimSpace(line))
		}
	}
	require.Contains(t, string(out), "undefined: ctx", "the code was not type-checked: %s", out)
}

// packageComments returns the package comments of the repository's public packages, by import path.
func packageComments(t *testing.T) map[string]string {
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}}\t{{.Dir}}", "work").Output()
	require.NoError(t, err)
	comments := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		importPath, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if strings.Contains(importPath, "internal") {
			continue
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly|parser.ParseComments)
			require.NoError(t, err)
			if file.Name.Name != "main" && !strings.HasSuffix(name, "_test.go") && file.Doc != nil {
				comments[importPath] += file.Doc.Text() + "\n"
			}
		}
	}
	require.Greater(t, len(comments), 15)
	return comments
}

// programOf returns a file with the code in a function. It imports the named packages.
func programOf(packages []string, code string, number int) string {
	imports := maps.Clone(packagesInComments)
	for _, importPath := range packages {
		imports[path.Base(importPath)] = importPath
	}
	var b strings.Builder
	fmt.Fprintf(&b, "package comments\n")
	for name, importPath := range imports {
		if regexp.MustCompile(`(^|[^.\w])` + name + `\.[A-Z]`).MatchString(code) {
			fmt.Fprintf(&b, "import %s %q\n", name, importPath)
		}
	}
	code += strings.Repeat("}\n", max(0, strings.Count(code, "{")-strings.Count(code, "}"))) // some show only a beginning
	code = strings.ReplaceAll(code, "…", "")
	file := fmt.Sprintf("%sfunc block%d() (any, error) {\n%s\n}\n", b.String(), number, code)
	if _, err := parser.ParseFile(token.NewFileSet(), "", file, 0); err != nil { // declarations
		file = b.String() + code
	}
	return file
}

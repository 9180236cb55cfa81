package doctest

// The table of errors in docs/errors.md has every kind of error, with its code on the wire. Documents have exactly the
// names of attributes, events and instruments of module otel.

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/doctest/pages"
)

// errorKinds returns the constants of the type Kind in errors.go.
func errorKinds(t *testing.T) (kinds []acpterm.Kind) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || fmt.Sprint(spec.Type) != "Kind" {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		require.NoError(t, err)
		kinds = append(kinds, acpterm.Kind(text))
		return true
	})
	require.Greater(t, len(kinds), 10)
	return kinds
}

func TestDocumentErrors(t *testing.T) {
	pages.AtRoot(t)
	page, err := os.ReadFile("docs/errors.md")
	require.NoError(t, err)
	codes := make(map[acpterm.Kind]string) // of the rows that name the kind
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.Contains(cells[3], "`kind` (") {
			continue
		}
		named, _, _ := strings.Cut(cells[3], ")")
		for _, kind := range errorKinds(t) {
			if strings.Contains(named, "`"+string(kind)+"`") {
				codes[kind] += strings.ReplaceAll(strings.TrimSpace(cells[2]), "−", "-") + " "
			}
		}
	}
	for _, kind := range errorKinds(t) {
		if kind == "invalid_message" { // two rows; only a Stream answers with it
			require.Equal(t, "-32700 -32600 ", codes[kind])
			continue
		}
		answer := acpterm.ResponseError(&acpterm.Error{Kind: kind})
		require.Equal(t, fmt.Sprint(answer.Code, " "), codes[kind], "%s in docs/errors.md", kind)
	}
}

// telemetryName matches such a name in a document. The package's own names in documents begin with capitals.
var telemetryName = regexp.MustCompile(`^acpterm(\.[a-z_]+)+$`)

func TestDocumentTelemetry(t *testing.T) {
	pages.AtRoot(t)
	literals := regexp.MustCompile(`"(acpterm\.[a-z_.]+)"`)
	var made, documented []string
	files, err := filepath.Glob("otel/*.go")
	require.NoError(t, err)
	for _, file := range files {
		lines, err := pages.ReadLines(file)
		require.NoError(t, err)
		for _, literal := range literals.FindAllStringSubmatch(strings.Join(lines, "\n"), -1) {
			if !strings.HasSuffix(file, "_test.go") {
				made = append(made, literal[1])
			}
		}
	}
	for _, doc := range pages.Documents(t) {
		for _, l := range doc.Prose {
			for _, span := range codeSpan.FindAllString(l.Text, -1) {
				if name := strings.Trim(span, "`"); telemetryName.MatchString(name) {
					documented = append(documented, name)
				}
			}
		}
	}
	slices.Sort(made)
	slices.Sort(documented)
	require.NotEmpty(t, made)
	require.Equal(t, slices.Compact(made), slices.Compact(documented))
}

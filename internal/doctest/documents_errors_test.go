package doctest

// The table of errors in docs/errors.md has every kind of error, with its code on the wire.

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
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

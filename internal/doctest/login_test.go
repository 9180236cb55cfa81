package doctest

// Login environments on every system.

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/doctest/pages"
)

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

package doctest

// Imports and declarations of the repository's packages, for the tests of documents.

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/doctest/pages"
)

// declarations holds the names declared by the repository's packages, on every system.
type declarations struct {
	names   map[string]map[string]bool // by package: "Rules", and for types "Rules.Default"
	members map[string]map[string]bool // by type, of the root package and of those below internal
	tests   map[string]bool            // of all packages
}

// declared reads every package except main packages.
func declared(t *testing.T) declarations {
	all := declarations{make(map[string]map[string]bool), make(map[string]map[string]bool), make(map[string]bool)}
	pages.Walk(t, func(name string) {
		if path.Ext(name) != ".go" {
			return
		}
		if strings.HasSuffix(name, "_test.go") || path.Dir(name) == "internal/terminaltest" {
			data, err := os.ReadFile(filepath.FromSlash(name))
			require.NoError(t, err)
			for _, m := range testDeclared.FindAllStringSubmatch(string(data), -1) {
				all.tests[m[1]] = true
			}
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		if file.Name.Name == "main" {
			return
		}
		for _, declared := range declaredNames(file) {
			add(all.names, file.Name.Name, declared)
			owner, member, isMember := strings.Cut(declared, ".")
			dir := path.Dir(name)
			ofLibrary := dir == "." || strings.HasPrefix(dir, "internal/") && !strings.HasSuffix(dir, "test")
			if isMember && ofLibrary {
				add(all.members, owner, member)
			}
		}
	})
	return all
}

func add(to map[string]map[string]bool, key, name string) {
	if to[key] == nil {
		to[key] = make(map[string]bool)
	}
	to[key][name] = true
}

// wrong describes the problem with a name in code quotes, if it is one of the repository's.
func (d declarations) wrong(name string) string {
	owner, rest, _ := strings.Cut(name, ".")
	switch {
	case testName.MatchString(name):
		if !d.tests[name] {
			return "there is no " + name
		}
	case fileName.MatchString(name):
		if found, _ := filepath.Glob(name); len(found) == 0 {
			return "there is no file " + name
		}
	case telemetryName.MatchString(name): // TestDocumentTelemetry
	case qualifiedName.MatchString(name) && d.names[owner] != nil:
		if !d.names[owner][rest] {
			return owner + " has no " + rest
		}
	case memberName.MatchString(name) && d.members[owner] != nil:
		if !d.members[owner][rest] {
			return owner + " has no " + rest
		}
	}
	return ""
}

// declaredNames returns the names that a file declares in its package, including fields and methods after their type's
// name.
func declaredNames(file *ast.File) (names []string) {
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				receiver := d.Recv.List[0].Type
				if star, ok := receiver.(*ast.StarExpr); ok {
					receiver = star.X
				}
				if generic, ok := receiver.(*ast.IndexExpr); ok {
					receiver = generic.X
				}
				name = fmt.Sprint(receiver, ".", name)
			}
			names = append(names, name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range s.Names {
						names = append(names, name.Name)
					}
				case *ast.TypeSpec:
					names = append(names, s.Name.Name)
					for _, member := range typeMembers(s.Type) {
						names = append(names, s.Name.Name+"."+member)
					}
				}
			}
		}
	}
	return names
}

// typeMembers returns the fields of a struct or the methods of an interface, except embedded types.
func typeMembers(of ast.Expr) (names []string) {
	var fields *ast.FieldList
	switch of := of.(type) {
	case *ast.StructType:
		fields = of.Fields
	case *ast.InterfaceType:
		fields = of.Methods
	default:
		return nil
	}
	for _, field := range fields.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}

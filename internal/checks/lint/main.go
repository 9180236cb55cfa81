// Lint checks the types of packages and their tests for the system and the processor in GOOS and GOARCH, and does what go
// vet and staticcheck do:
//
//	GOOS=darwin GOARCH=arm64 go run ./internal/checks/lint work
//
// It reads the sources of all dependencies. Those two tools compile them for that system first, which takes six times as
// long.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"
)

func main() {
	types := flag.Bool("types", false, "check the types only")
	quick := flag.Bool("quick", false, "leave out packages whose files this system has, and analyzers that follow values")
	tags := flag.String("tags", "", "build `tags`, separated by commas")
	flag.Parse()
	config := packages.Config{
		Mode:       packages.LoadAllSyntax | packages.NeedModule,
		Tests:      true,
		BuildFlags: []string{"-tags", *tags},
		Env:        append(os.Environ(), "CGO_ENABLED=0"),
	}
	if *types {
		config.ParseFile = skim
	}
	loaded, err := packages.Load(&config, flag.Args()...)
	for _, p := range loaded {
		if *types { // errors of dependencies do not count: skim leaves imports unused
			p.Imports = nil
		}
	}
	if err == nil && packages.PrintErrors(loaded) > 0 {
		err = fmt.Errorf("lint: the types are wrong")
	}
	if *quick {
		loaded = unlike(loaded, *tags)
	}
	if err == nil && !*types {
		err = analyze(loaded, *quick)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// skim parses a file, and empties the functions of other modules: their types suffice.
func skim(files *token.FileSet, name string, source []byte) (*ast.File, error) {
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	dir, _ := os.Getwd()
	if err == nil && !strings.HasPrefix(name, dir+"/") && file.Name.Name != "main" { // main packages are made for tests
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				f.Body.List = []ast.Stmt{&ast.ForStmt{Body: &ast.BlockStmt{}}} // ends a function of each type
			}
		}
	}
	return file, err
}

// unlike returns the packages with a file that this system leaves out.
func unlike(loaded []*packages.Package, tags string) []*packages.Package {
	host := build.Default
	host.GOOS, host.BuildTags = runtime.GOOS, strings.Split(tags, ",")
	foreign := func(file string) bool {
		here, err := host.MatchFile(filepath.Split(file))
		return err != nil || !here && filepath.Ext(file) == ".go" // and not a main package, made for tests
	}
	return slices.DeleteFunc(loaded, func(p *packages.Package) bool { return !slices.ContainsFunc(p.GoFiles, foreign) })
}

// analyze prints the findings of the analyzers, and fails if there are any.
func analyze(loaded []*packages.Package, quick bool) error {
	analyzers := append(slices.Clone(vet.Suite), unused.Analyzer.Analyzer)
	for _, a := range slices.Concat(staticcheck.Analyzers, simple.Analyzers, stylecheck.Analyzers) {
		if !a.Doc.NonDefault && !(quick && follows(a.Analyzer)) {
			analyzers = append(analyzers, a.Analyzer)
		}
	}
	graph, err := checker.Analyze(analyzers, loaded, nil)
	if err != nil {
		return fmt.Errorf("lint: %w", err)
	}
	if err := graph.PrintText(os.Stderr, -1); err != nil {
		return fmt.Errorf("lint: %w", err)
	}
	found := 0
	for action := range graph.All() {
		if action.Err != nil {
			found++
		}
		if action.IsRoot {
			found += len(action.Diagnostics)
		}
	}
	for _, object := range neverUsed(graph) {
		fmt.Fprintf(os.Stderr, "%s: %s %s is unused\n", object.DisplayPosition, object.Kind, object.Name)
		found++
	}
	if found > 0 {
		return fmt.Errorf("lint: %d findings", found)
	}
	return nil
}

// follows reports whether an analyzer needs staticcheck's intermediate code.
func follows(a *analysis.Analyzer) bool {
	return a.Name == "buildir" || slices.ContainsFunc(a.Requires, follows)
}

// neverUsed returns the objects that no package uses. A package and the same package with its tests are two.
func neverUsed(graph *checker.Graph) (objects []unused.Object) {
	used := map[token.Position]bool{}
	for action := range graph.All() {
		if result, ok := action.Result.(unused.Result); ok {
			for _, object := range slices.Concat(result.Used, result.Quiet) {
				used[object.Position] = true
			}
			objects = append(objects, result.Unused...)
		}
	}
	return slices.DeleteFunc(objects, func(o unused.Object) bool { return used[o.Position] })
}

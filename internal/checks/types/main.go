// Types checks the types of packages and their tests for the system and the processor in GOOS and GOARCH:
//
//	GOOS=darwin GOARCH=arm64 go run ./internal/checks/types work
//
// It reads the sources of all dependencies, without their functions' bodies. That finds what go vet would call a
// compiler's error, and takes a tenth of the time, since nothing has to be compiled for that system first.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// listed is a package as go list describes it.
type listed struct {
	ImportPath string // of a test: "PATH [PATH.test]"
	Dir        string
	GoFiles    []string
	ImportMap  map[string]string // of imports whose path differs from that in the source
	Module     *struct{ GoVersion string }
	DepOnly    bool
	Error      *struct{ Err string }
}

func main() {
	packages, err := list(os.Args[1:])
	if err == nil {
		err = check(packages)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// list returns the packages and their tests, each after its dependencies.
func list(patterns []string) (packages []listed, err error) {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-test",
		"-json=ImportPath,Dir,GoFiles,ImportMap,Module,DepOnly,Error"}, patterns...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		packages = append(packages, p)
	}
}

func check(packages []listed) (err error) {
	system, err := exec.Command("go", "env", "GOARCH").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	sizes := types.SizesFor("gc", strings.TrimSpace(string(system)))
	checked := map[string]*types.Package{"unsafe": types.Unsafe}
	var wrong []error
	for _, p := range packages {
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") { // the main package of a test is generated
			continue
		}
		if p.Error != nil {
			wrong = append(wrong, fmt.Errorf("%s: %s", p.ImportPath, p.Error.Err))
			continue
		}
		config := types.Config{
			Sizes:            sizes,
			IgnoreFuncBodies: p.DepOnly,
			Importer:         imports{p.ImportMap, checked},
			Error:            func(err error) { wrong = append(wrong, err) },
		}
		if p.Module != nil && p.Module.GoVersion != "" {
			config.GoVersion = "go" + p.Module.GoVersion
		}
		files := token.NewFileSet()
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				wrong = append(wrong, err)
			}
			parsed = append(parsed, file)
		}
		path, _, _ := strings.Cut(p.ImportPath, " ")
		checked[p.ImportPath], _ = config.Check(path, files, parsed, nil) // Error has the errors
	}
	return errors.Join(wrong...)
}

// imports finds what a package imports among those already checked.
type imports struct {
	renamed map[string]string
	checked map[string]*types.Package
}

func (i imports) Import(path string) (*types.Package, error) {
	if renamed, ok := i.renamed[path]; ok {
		path = renamed
	}
	if p := i.checked[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("package %s is unknown", path)
}

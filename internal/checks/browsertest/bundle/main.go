// Command bundle makes the files that the pages of package view load: the modules and style sheets of view/assets,
// joined and minified. Package view compresses them when they are first asked for. Run it with go generate in view after a change of view/assets.
//
//	bundle <view/assets>
package main

import (
	_ "embed"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: bundle <view/assets>")
	}
	if err := write(os.Args[1]); err != nil {
		log.Fatalf("bundle: %v", err)
	}
}

// write replaces the directory bundle of assets.
func write(assets string) error {
	files, err := build(assets)
	if err != nil {
		return err
	}
	dir := filepath.Join(assets, "bundle")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

//go:embed sheets.js
var sheets string

// modules are the files of the bundle with their sources. The others import what acp-terminal.js contains from there.
var modules = map[string]string{
	"acp-terminal.js": "import './acp-terminal.js'; export * from './stream.js'; export * from './text.js'",
	"page.js":         "import './page.js'", "single.js": "import './single.js'",
	"later.js": "export * from './later.js'", "page.css": "@import './page.css';",
}

// internals matches names that only xterm.js uses, and acp-terminal.js beside it. Both are in one file.
const internals = `^_[^_]|(Service|Emitter)$|^(rawOptions|decPrivateModes|dimensions|triggerDataEvent)$`

// build returns the files of the bundle by name.
func build(assets string) (map[string][]byte, error) {
	assets, err := filepath.Abs(assets)
	if err != nil {
		return nil, err
	}
	files := make(map[string][]byte)
	for name, source := range modules {
		loader := api.LoaderJS
		if strings.HasSuffix(name, ".css") {
			loader = api.LoaderCSS
		}
		result := api.Build(api.BuildOptions{
			Stdin: &api.StdinOptions{Contents: source, ResolveDir: assets, Loader: loader}, Bundle: true, Format: api.FormatESModule, Target: api.ES2022,
			MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, Charset: api.CharsetUTF8,
			MangleProps:   internals,
			LegalComments: api.LegalCommentsEndOfFile, Plugins: []api.Plugin{plugin(assets, name)},
		})
		for _, problem := range append(result.Errors, result.Warnings...) {
			return nil, fmt.Errorf("%s: %s", name, problem.Text)
		}
		files[name] = result.OutputFiles[0].Contents
	}
	files["icon.svg"], err = os.ReadFile(filepath.Join(assets, "icon.svg"))
	return files, err
}

// plugin changes four kinds of imports: of acp-terminal.js and what that contains by a page, of later.js, of sheets.js, and
// of a style sheet by that.
func plugin(assets, file string) api.Plugin {
	return api.Plugin{Name: "acpterm", Setup: func(b api.PluginBuild) {
		if file == "page.js" || file == "single.js" {
			b.OnResolve(api.OnResolveOptions{Filter: `/(acp-terminal|stream|text)\.js$`}, func(api.OnResolveArgs) (api.OnResolveResult, error) {
				return api.OnResolveResult{Path: "./acp-terminal.js", External: true}, nil
			})
		}
		b.OnResolve(api.OnResolveOptions{Filter: `/later\.js$`}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
			if a.Kind != api.ResolveJSDynamicImport {
				return api.OnResolveResult{}, nil
			}
			return api.OnResolveResult{Path: a.Path, External: true}, nil
		})
		b.OnLoad(api.OnLoadOptions{Filter: `/sheets\.js$`}, func(api.OnLoadArgs) (api.OnLoadResult, error) {
			return api.OnLoadResult{Contents: &sheets, ResolveDir: assets}, nil
		})
		b.OnResolve(api.OnResolveOptions{Filter: `\.css$`}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
			if a.Kind == api.ResolveCSSImportRule {
				return api.OnResolveResult{}, nil
			}
			return api.OnResolveResult{Path: filepath.Join(a.ResolveDir, a.Path), Namespace: "text"}, nil
		})
		b.OnLoad(api.OnLoadOptions{Filter: ".", Namespace: "text"}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
			source, err := os.ReadFile(a.Path)
			if err != nil {
				return api.OnLoadResult{}, err
			}
			result := api.Transform(string(source), api.TransformOptions{
				Loader: api.LoaderCSS, MinifyWhitespace: true, MinifySyntax: true, Charset: api.CharsetUTF8,
			})
			for _, problem := range append(result.Errors, result.Warnings...) {
				return api.OnLoadResult{}, errors.New(problem.Text)
			}
			text := string(result.Code)
			return api.OnLoadResult{Contents: &text, Loader: api.LoaderText}, nil
		})
	}}
}

// Command bundle makes the files that the pages of package view load: the modules and style sheets of view/assets,
// joined and minified. Package view compresses them when they are first asked for. Run it with go generate in view after a change of view/assets.
//
//	bundle <view/assets>
package main

import (
	"bytes"
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
	"later.js": "export * from './later.js'; export { default as styles } from './later.css'", "page.css": "@import './page.css';",
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
	notice, _, err := cutNotice(assets)
	if err != nil {
		return nil, err
	}
	files["later.js"] = append(files["later.js"], notice...)
	files["acp-terminal.js"] = append(files["acp-terminal.js"], "/* The MIT License is at the end of later.js. */\n"...)
	files["icon.svg"], err = os.ReadFile(filepath.Join(assets, "icon.svg"))
	return files, err
}

// cuts are the begin and the end of parts of the vendored xterm.js 6.0.0 without a use. Some only keep a class in the
// bundle: a hash, a tracker of objects, an iterator, gestures, a ruler, and keys of scrollbars. The others are functions of events, and
// properties of elements.
var cuts = [][2]string{
	{`Cr._bigBlock32=new DataView(`, `new ArrayBuffer(320));`}, {`hr.idx=`, `0;`}, {`_e.EMPTY=`, `_e.fromArray([]);`},
	{`Q.SCROLL_FRICTION=-.005,`, `M([Wo],Q,"isTouchDevice",1);`}, {`return Pr.ignoreTarget`, `(t)`},
	{`function t(y){if($l)`, `Qe.defer=e;`}, {`function r(y,T,g){return h(`, `Qe.signal=l;`}, {`function u(y,T,g,w)`, `T?.add(E),E.event}`},
	{`function d(y,T,g=100,`, `Qe.fromDOMEventEmitter=k;`}, {`function oe(y){let T=new v`, `Qe.fromPromise=oe;`}, {`class Ke{`, `Qe.fromObservableLight=V`},
	{`this.options.overviewRuler.width&&(`, `this.screenElement)))}),`}, {`bt=M([S(2,F),S(3,Be),S(4,ce)`, `],bt);`},
	{`ne.A={"#":`, `"}":"\xFC","~":"\xFB"};`}, // sets of characters for single languages
	{`setPaddingTop(t){`, `this.domNode.style.letterSpacing=this._letterSpacing)}`}, {`this._paddingTop="";`, `this._letterSpacing="";`},
	{`isCellSelected(t,e,i){`, `e>=this.startCol):!1}`}, {`if(Wl){let s="__is_disposable_tracked__"`, `markAsSingleton(t){}})}`},
	{`(i=>{function s(){return st}i.va`, `(sa||={});`}, {`(i=>{function s(r){return r===i.`, `(ma||={});`}, {`(e=>{async function s(i){let r,n`, `(va||={});`},
	// Answers to queries, window operations, colours and links, which inert.js has disabled.
	{`let r;(P=>(P[P.NOT_RECOGNIZED=0]`, `f===2026?p(f,m(n.synchronizedOutput)):p(f,0)`},
	{`if(!bl(e.params[0],this._optionsService.rawOptions.windowOptions))`, `this.setIconName(this._iconNameStack.pop());break}return!0`},
	{`let r=a=>(this._coreService.triggerDataEvent(`, `:"P0$r")`},
	{`return e.params[0]>0||(this._is("xterm")||this._is("rxvt-unicode")`, `(b.ESC+"[>83;40003;0c")),!0`},
	{`if(this._bufferService.buffer.ybase===this._bufferService.buffer.ydisp){let r=`, `triggerDataEvent(n,!0)}}`}, // Alt+click types arrows
	{`switch(e.params[0]){case 5:this._coreService.triggerDataEvent(`, `case 53:break}return!0`},
	{`setOrReportIndexedColor(e){let i=[]`, `({type:2,index:o})}return i.length&&this._onColor.fire(i),!0}`},
	{`if(this._themeService)for(let i of e){let r,n="";switch(i.index)`, `this._themeService.restoreColor(i.index);break}}`},
	{`(o=>{function s(l){return Jn.keyCodeToStr`, `})(Qn||={});`}, {`onkeydown(t,e){`, `i=>e(new ft(i))))}`}, {`onkeyup(t,e){`, `i=>e(new ft(i))))}`},
}

// cutXterm returns the text of xterm.js without the cuts.
func cutXterm(path string) (string, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	text := string(source)
	for _, cut := range cuts {
		before, rest, found := strings.Cut(text, cut[0])
		_, after, ends := strings.Cut(rest, cut[1])
		if !found || !ends || strings.Contains(rest, cut[0]) || len(rest)-len(after) > 3000 {
			return "", fmt.Errorf("%s: there is no single part from %q to %q", path, cut[0], cut[1])
		}
		text = before + after
	}
	return text, nil
}

// cutNotice returns the notice with the MIT License at the begin of xterm.css, and the used rules after it. xterm.js makes no shadows
// without the option useShadows.
func cutNotice(assets string) (notice, rules []byte, err error) {
	text, err := os.ReadFile(filepath.Join(assets, "xterm/xterm.css"))
	if err != nil {
		return nil, nil, err
	}
	begin, rest, found := bytes.Cut(text, []byte("*/\n"))
	rules, _, ends := bytes.Cut(rest, []byte("/* Scrollable Content Inset Shadow */"))
	if !found || !ends || !bytes.Contains(begin, []byte("Permission is hereby granted")) {
		return nil, nil, errors.New("xterm.css: there is no license before the rules, or no shadows at their end")
	}
	return append(begin, "*/\n"...), rules, nil
}

// plugin also cuts xterm.js. It changes four kinds of imports: of acp-terminal.js and what that contains by a page, of later.js, of sheets.js, and
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
		b.OnLoad(api.OnLoadOptions{Filter: `/xterm\.mjs$`}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
			text, err := cutXterm(a.Path)
			return api.OnLoadResult{Contents: &text, ResolveDir: filepath.Dir(a.Path)}, err
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
			if filepath.Base(a.Path) == "xterm.css" {
				_, source, err = cutNotice(assets)
			}
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

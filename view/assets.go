package view

// The files of the page. Pages load the bundle, which go generate makes of the other files. Those can be loaded, too.

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"strings"
	"sync"
)

//go:generate go run ../internal/checks/browsertest/bundle assets

//go:embed assets
var assets embed.FS

// assetTypes maps file extensions to media types; package mime would use the system's table. Modules are always UTF-8.
// Other files are text.
var assetTypes = map[string]string{
	"css": "text/css; charset=utf-8",
	"js":  "text/javascript",
	"mjs": "text/javascript",
	"svg": "image/svg+xml",
}

// typeOf returns a file's media type.
func typeOf(file string) string {
	if kind := assetTypes[file[strings.LastIndexByte(file, '.')+1:]]; kind != "" {
		return kind
	}
	return "text/plain; charset=utf-8"
}

// bundleVersion returns a hash of the bundle, which is part of its files' URLs.
func bundleVersion() string {
	files, err := assets.ReadDir("assets/bundle")
	if err != nil {
		panic(err) // embedded
	}
	hash := sha256.New()
	for _, file := range files {
		content, err := assets.ReadFile("assets/bundle/" + file.Name())
		if err != nil {
			panic(err)
		}
		hash.Write(content)
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}

// serveBundle serves a file of the bundle. A browser keeps it without asking again, because another version has another
// URL.
func (v *View) serveBundle(w http.ResponseWriter, r *http.Request) {
	file := r.PathValue("file")
	load, ok := v.assets["bundle/"+file]
	if !ok || r.PathValue("version") != v.version {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	dropPageHeaders(h)
	if strings.HasSuffix(file, ".svg") {
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'") // a browser can show it by itself
	}
	h.Set("Cache-Control", "private, max-age=31536000, immutable")
	h.Set("Content-Type", typeOf(file)) // without Vary, because only a browser's own cache keeps it
	load().send(w, r)
}

// accepts reports whether a request accepts a content coding.
func accepts(r *http.Request, coding string) bool {
	for _, offer := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.ReplaceAll(offer, " ", ""), ";")
		if strings.EqualFold(name, coding) {
			return strings.Trim(quality, "q=0.") != "" || quality == ""
		}
	}
	return false
}

// asset is a file, plain and compressed.
type asset struct{ plain, zipped []byte }

// loadAssets returns functions that load the files, by name. Each compresses its file on first use, which takes tens of
// milliseconds for the largest.
func loadAssets() map[string]func() asset {
	files := make(map[string]func() asset)
	err := fs.WalkDir(assets, "assets", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files[strings.TrimPrefix(path, "assets/")] = sync.OnceValue(func() asset { return loadAsset(path) })
		}
		return err
	})
	if err != nil {
		panic(err) // embedded
	}
	return files
}

func loadAsset(path string) asset {
	plain, err := assets.ReadFile(path)
	if err != nil {
		panic(err) // embedded
	}
	var zipped bytes.Buffer
	z, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is valid
	}
	z.Write(plain) // cannot fail, writes to memory
	z.Close()
	return asset{plain, zipped.Bytes()}
}

// send sends the file, compressed if the client accepts that.
func (a asset) send(w http.ResponseWriter, r *http.Request) {
	content := a.plain
	if accepts(r, "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		content = a.zipped
	}
	w.Write(content)
}

// serveAsset serves a file outside the bundle.
func (v *View) serveAsset(w http.ResponseWriter, r *http.Request) {
	file := r.PathValue("file")
	load, ok := v.assets[file]
	if !ok || strings.HasSuffix(file, ".html") || strings.HasPrefix(file, "bundle/") {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", typeOf(file))
	w.Header().Set("Vary", "Accept-Encoding")
	load().send(w, r)
}

package view

// The files of the page. Pages load the bundle, which go generate makes of the other files. Those can be loaded, too.

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
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
	zipped, err := assets.ReadFile("assets/bundle/" + file + ".gz")
	if err != nil || r.PathValue("version") != v.version {
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
	squeezed, err := assets.ReadFile("assets/bundle/" + file + ".br")
	switch {
	case err == nil && accepts(r, "br"):
		h.Set("Content-Encoding", "br")
		w.Write(squeezed)
	case accepts(r, "gzip"):
		h.Set("Content-Encoding", "gzip")
		w.Write(zipped)
	default:
		plain, err := gzip.NewReader(bytes.NewReader(zipped))
		if err != nil {
			panic(err) // embedded
		}
		io.Copy(w, plain)
	}
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
type asset struct {
	plain, zipped []byte
	tag           string // ETag: the hash of the file
}

// loadAsset reads a file. It reports false if the file does not exist.
func loadAsset(file string) (a asset, ok bool) {
	plain, err := assets.ReadFile("assets/" + file)
	if err != nil || strings.HasSuffix(file, ".html") || strings.HasPrefix(file, "bundle/") {
		return asset{}, false
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write(plain) // cannot fail, writes to memory
	z.Close()
	sum := sha256.Sum256(plain)
	return asset{plain: plain, zipped: zipped.Bytes(), tag: `"` + hex.EncodeToString(sum[:12]) + `"`}, true
}

// asset returns a file and compresses it on first use.
func (v *View) asset(file string) (asset, bool) {
	if kept, ok := v.assets.Load(file); ok {
		return kept.(asset), true
	}
	a, ok := loadAsset(file)
	if ok {
		v.assets.Store(file, a)
	}
	return a, ok
}

// serveAsset serves a file that is not in the bundle. A browser keeps it, and asks each time whether it has changed.
func (v *View) serveAsset(w http.ResponseWriter, r *http.Request) {
	file := r.PathValue("file")
	a, ok := v.asset(file)
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Content-Type", typeOf(file))
	h.Set("ETag", a.tag)
	h.Set("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == a.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	content := a.plain
	if accepts(r, "gzip") {
		h.Set("Content-Encoding", "gzip")
		content = a.zipped
	}
	w.Write(content)
}

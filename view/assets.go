package view

// The files of the page.

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"strings"
)

//go:embed assets
var assets embed.FS

// assetTypes maps file extensions to media types; package mime would use the system's table. Other files are text.
var assetTypes = map[string]string{
	"html": "text/html; charset=utf-8",
	"css":  "text/css; charset=utf-8",
	"js":   "text/javascript; charset=utf-8",
	"mjs":  "text/javascript; charset=utf-8",
	"svg":  "image/svg+xml",
}

// asset is a file, plain and compressed.
type asset struct {
	kind          string
	plain, zipped []byte
	tag           string // ETag: the hash of the file
}

// loadAsset reads a file. It reports false if the file does not exist.
func loadAsset(file string) (a asset, ok bool) {
	plain, err := assets.ReadFile("assets/" + file)
	if err != nil {
		return asset{}, false
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write(plain) // cannot fail, writes to memory
	z.Close()
	sum := sha256.Sum256(plain)
	a = asset{kind: assetTypes[file[strings.LastIndexByte(file, '.')+1:]], plain: plain, zipped: zipped.Bytes()}
	if a.kind == "" {
		a.kind = "text/plain; charset=utf-8"
	}
	a.tag = `"` + hex.EncodeToString(sum[:12]) + `"`
	return a, true
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

// serveAsset serves a file that a page loads. A browser keeps it, and asks each time whether it has changed.
func (v *View) serveAsset(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "private, no-cache")
	v.writeAsset(w, r, r.PathValue("file"))
}

// page returns a handler that serves a page.
func (v *View) page(file string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { v.writeAsset(w, r, file) }
}

func (v *View) writeAsset(w http.ResponseWriter, r *http.Request, file string) {
	a, ok := v.asset(file)
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("ETag", a.tag)
	h.Set("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == a.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	content := a.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		content = a.zipped
	}
	w.Write(content)
}

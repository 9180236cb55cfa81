package view

// The files of the page.

import (
	"embed"
	"net/http"
	"strings"
)

//go:embed assets
var assets embed.FS

// assetTypes are the media types by file extension; package mime would use the system's table. Other files are text.
var assetTypes = map[string]string{
	"html": "text/html; charset=utf-8",
	"css":  "text/css; charset=utf-8",
	"js":   "text/javascript; charset=utf-8",
	"mjs":  "text/javascript; charset=utf-8",
	"svg":  "image/svg+xml",
}

// serveAsset answers with a file that a page loads.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	writeAsset(w, r, r.PathValue("file"))
}

// page answers with a page.
func page(file string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { writeAsset(w, r, file) }
}

func writeAsset(w http.ResponseWriter, r *http.Request, file string) {
	content, err := assets.ReadFile("assets/" + file)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	kind := assetTypes[file[strings.LastIndexByte(file, '.')+1:]]
	if kind == "" {
		kind = "text/plain; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	w.Write(content)
}

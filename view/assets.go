package view

// The files that make the page. They are served as they are; what they show comes by streams.

import (
	"embed"
	"net/http"
	"strings"
)

//go:embed assets
var assets embed.FS

// assetTypes are files' types by the ends of their names; the system's own table is not to be relied on. What has none
// here, such as a licence, is text.
var assetTypes = map[string]string{
	"html": "text/html; charset=utf-8",
	"css":  "text/css; charset=utf-8",
	"js":   "text/javascript; charset=utf-8",
	"mjs":  "text/javascript; charset=utf-8",
	"svg":  "image/svg+xml",
}

// serveAsset answers with one of the files that a page loads.
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

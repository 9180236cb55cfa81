package view

// The request that opens a file, which a command's output names, in the user's editor.

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// editor is Options.Editor: an address for the browser, or a command. The zero value opens nothing.
type editor struct {
	url  string
	args []string
}

// newEditor parses Options.Editor.
func newEditor(text string) (e editor, err error) {
	scheme, _, isURL := strings.Cut(text, "://")
	switch {
	case text == "":
		return e, nil
	case !strings.Contains(text, "{file}"):
		return e, errors.New("view: Options.Editor must contain {file}")
	case isURL && strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz0123456789+-.") == "":
		return editor{url: text}, nil
	}
	return editor{args: strings.Fields(text)}, nil
}

// shown is what pages have to know: the address, "command", or "" without an editor.
func (e editor) shown() string {
	if e.args != nil {
		return "command"
	}
	return e.url
}

// serveEdit runs the editor's command for a file, which it finds from the directory of the terminal's command.
func (v *View) serveEdit(w http.ResponseWriter, r *http.Request) {
	if refusal := v.admitChange(r, v.editor.args != nil); refusal != "" {
		http.Error(w, refusal, http.StatusForbidden)
		return
	}
	e, _ := v.find(r)
	if e == nil {
		http.NotFound(w, r)
		return
	}
	query := r.URL.Query()
	line, err1 := strconv.ParseUint(query.Get("line"), 10, 32)
	column, err2 := strconv.ParseUint(query.Get("column"), 10, 32)
	file := query.Get("file")
	if err1 != nil || err2 != nil || file == "" {
		http.Error(w, "file, line and column must be set", http.StatusBadRequest)
		return
	}
	if row, _, _, _ := v.table.rowOf(e); !filepath.IsAbs(file) {
		file = filepath.Join(row.Dir, file)
	}
	if info, err := os.Stat(file); !filepath.IsAbs(file) || err != nil || !info.Mode().IsRegular() {
		http.Error(w, "there is no file "+printable(file, maxText), http.StatusNotFound)
		return
	}
	if err := v.editor.open(file, line, max(1, column)); err != nil {
		http.Error(w, "the editor did not start: "+printable(err.Error(), maxText), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// open starts the command. An absolute file is never an option of it. The editor stays when the View is closed.
func (e editor) open(file string, line, column uint64) error {
	values := strings.NewReplacer("{file}", file, "{line}", strconv.FormatUint(line, 10), "{column}", strconv.FormatUint(column, 10))
	args := make([]string, len(e.args))
	for i, arg := range e.args {
		args[i] = values.Replace(arg)
	}
	cmd := exec.Command(args[0], args[1:]...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait()
	return nil
}

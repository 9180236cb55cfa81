package view

// Stop: the one thing that a page can change.

import (
	"errors"
	"net/http"

	"github.com/acpterm/acpterm"
)

// serveStop answers a page's Stop.
func (v *View) serveStop(w http.ResponseWriter, r *http.Request) {
	if refusal := v.admitChange(r); refusal != "" {
		http.Error(w, refusal, http.StatusForbidden)
		return
	}
	e, terminal := v.find(r)
	if terminal == nil {
		http.NotFound(w, r)
		return
	}
	v.stopEntry(e, terminal)
	w.WriteHeader(http.StatusAccepted)
}

// stopEntry begins to end a command's tree; if that has begun already, it forces it. What comes of it is seen on the
// page. A third one would change nothing.
func (v *View) stopEntry(e *entry, terminal *acpterm.Terminal) {
	if !v.table.beginStop(e) || !v.begin() {
		return
	}
	go func() {
		defer v.busy.Done()
		var survivors []int
		if failure, ok := errors.AsType[*acpterm.Error](terminal.Kill(v.ctx)); ok {
			survivors = failure.PIDs
		}
		v.table.endStop(e, survivors)
	}()
}

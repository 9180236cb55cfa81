package view

// The request that stops a command.

import (
	"errors"
	"net/http"

	"github.com/acpterm/acpterm"
)

// serveStop starts a stop, and does not wait for it.
func (v *View) serveStop(w http.ResponseWriter, r *http.Request) {
	e, terminal := v.findToChange(w, r, v.options.AllowStop)
	if terminal == nil {
		return
	}
	if info := terminal.Info(); info.Attached && !info.Cancellable && info.Ended.IsZero() {
		http.Error(w, acpterm.ErrNotCancellable.Error()+": the agent cannot be asked", http.StatusConflict)
		return
	}
	v.stopEntry(e, terminal)
	w.WriteHeader(http.StatusAccepted)
}

// findToChange returns the terminal of a request that changes it. If the request is refused or there is no such
// terminal, it answers the request and returns nil.
func (v *View) findToChange(w http.ResponseWriter, r *http.Request, permitted bool) (*entry, *acpterm.Terminal) {
	if refusal := v.admitChange(r, permitted); refusal != "" {
		http.Error(w, refusal, http.StatusForbidden)
		return nil, nil
	}
	e, terminal := v.find(r)
	if terminal == nil {
		http.NotFound(w, r)
	}
	return e, terminal
}

// stopEntry starts to kill a command's process tree; a second call forces the first. The table receives the result.
func (v *View) stopEntry(e *entry, terminal *acpterm.Terminal) {
	if !v.table.beginStop(e) || !v.begin() {
		return
	}
	go func() {
		defer v.busy.Done()
		var survivors []int
		var reason string
		err := terminal.Kill(v.ctx)
		if failure, ok := errors.AsType[*acpterm.Error](err); ok {
			survivors = failure.PIDs
		}
		if errors.Is(err, acpterm.ErrNotCancellable) {
			reason = printable(err.Error(), maxText)
		}
		v.table.endStop(e, survivors, reason)
	}()
}

package view

// The requests that stop a command, with the result, or move it to the background.

import (
	"errors"
	"net/http"
	"time"

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

// serveBackground makes an agent that waits for a command go on.
func (v *View) serveBackground(w http.ResponseWriter, r *http.Request) {
	_, terminal := v.findToChange(w, r, v.options.AllowStop)
	switch {
	case terminal == nil:
	case !terminal.MoveToBackground():
		http.Error(w, "the command is not running, or its agent cannot be told", http.StatusConflict)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// findToChange returns the terminal of a request that changes it. If the request is refused or there is no such
// terminal, it answers the request and returns nil.
func (v *View) findToChange(w http.ResponseWriter, r *http.Request, permitted bool) (*entry, *acpterm.Terminal) {
	if refusal := v.admitChange(r, permitted); refusal != "" {
		http.Error(w, refusal, http.StatusForbidden)
		return nil, nil
	}
	e, shown := v.find(r)
	terminal, _ := shown.(*acpterm.Terminal)
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
		var left remainder
		var reason string
		err := terminal.Stop(v.ctx)
		if failure, ok := errors.AsType[*acpterm.Error](err); ok && errors.Is(err, acpterm.ErrSurvivors) {
			left = newRemainder(failure.PIDs, failure.Err)
		}
		if errors.Is(err, acpterm.ErrNotCancellable) {
			reason = printable(err.Error(), maxText)
		}
		v.table.endStop(e, left, reason)
	}()
}

// beginStop counts a stop. It reports false if maxStops are already pending. The second stop forces the first.
func (t *table) beginStop(e *entry) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.stops >= maxStops {
		return false
	}
	e.stops++
	e.stopError, e.left.doubt = "", ""
	t.notifyLocked()
	return true
}

// endStop ends a stop. It records the remainder of the tree, or the reason why the stop failed.
func (t *table) endStop(e *entry, left remainder, reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.stops--
	e.left, e.leftAt, e.stopError = left, time.Now(), reason
	t.notifyLocked()
}

// remainder lists the processes that run, or may run, after the last kill.
type remainder struct {
	survivors []int
	doubt     string // why other processes may still run
}

// newRemainder returns the remainder that an ErrSurvivors or its event tells.
func newRemainder(survivors []int, doubt error) remainder {
	left := remainder{survivors: survivors}
	if doubt != nil {
		left.doubt = printable(doubt.Error(), maxText)
	}
	return left
}

func (r remainder) empty() bool { return len(r.survivors) == 0 && r.doubt == "" }

package view

// What running commands do. The view looks only at the commands whose output a page shows.

import (
	"context"
	"strings"
	"sync"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
)

// activity has the Activity and the Listening of a row.
type activity struct{ state, listening string }

// watchActivity keeps the activity of an entry up to date until ctx is done, or no process is left. The entry may move to
// the archive meanwhile.
func (t *table) watchActivity(ctx context.Context, e *entry, terminal *acpterm.Terminal) {
	t.setActivity(e, +1, activity{})
	defer t.setActivity(e, -1, activity{})
	remote := terminal.Info().Remote
	running, stop := context.WithCancel(ctx)
	var stopping sync.WaitGroup
	defer stopping.Wait()
	defer stop()
	stopping.Go(func() {
		select {
		case <-terminal.Done():
			stop() // to look at once whether the command has left processes
		case <-running.Done():
		}
	})
	for _, until := range []context.Context{running, ctx} {
		for a := range terminal.Watch(until) { // an error leaves the State empty
			t.setActivity(e, 0, activity{a.State, strings.Join(display.Links(a.Listening, remote), " ")})
		}
	}
	if ctx.Err() == nil {
		t.setActivity(e, 0, activity{})
	}
}

// setActivity sets the activity of an entry, unless streams begin or end to watch it while others do.
func (t *table) setActivity(e *entry, watchers int, a activity) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.watchers += watchers
	if watchers == 0 || e.watchers == 0 {
		e.activity = a
		t.notifyLocked()
	}
}

// show adds the activity to a row.
func (r *row) show(a activity) {
	if r.Ended == 0 {
		r.Activity = a.state
	}
	r.Listening = a.listening
}

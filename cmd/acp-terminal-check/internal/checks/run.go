package checks

// Running checks one after another: which ones to try, and when to stop.

import (
	"fmt"
	"time"

	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/child"
)

// mostHung is how many checks in a row may time out. The checks after them are not tried.
const mostHung = 3

const timeOver = "the time for all checks is over"

// OutOfTime returns the result of a check for lack of time.
func OutOfTime(id string) Result { return Result{ID: id, Outcome: NotTried, Reason: timeOver} }

// Runner runs checks of one client. Only one goroutine may use it.
type Runner struct {
	place    Place
	unmet    map[string]Outcome // of checks that did not pass
	hung     int                // number of timed-out checks in a row
	releases bool               // all releases were answered in time
}

// NewRunner returns a Runner. unmet holds checks that this client did not pass before.
func NewRunner(place Place, unmet map[string]Outcome) *Runner {
	r := &Runner{place: place, unmet: make(map[string]Outcome), releases: true}
	for id, outcome := range unmet {
		r.unmet[id] = outcome
	}
	return r
}

// Run tries a check if its needs are met and there is time, and then releases its terminals and ends its commands.
func (r *Runner) Run(c Check) Result {
	result := Result{ID: c.ID, Outcome: NotTried, Reason: r.whyNot(c)}
	if result.Reason == "" {
		result = r.try(c)
		r.hung++
		if !result.timedOut {
			r.hung = 0
		}
	}
	switch result.Outcome {
	case Fail, NotTried, Trouble:
		r.unmet[c.ID] = result.Outcome
	}
	return result
}

// whyNot returns the reason for not trying a check, or "".
func (r *Runner) whyNot(c Check) string {
	for _, id := range c.Needs() {
		if r.unmet[id] == Fail {
			return id + " failed, which this check needs"
		}
	}
	switch {
	case r.place.over():
		return timeOver
	case r.hung >= mostHung:
		return fmt.Sprintf("the client hangs: in %d checks in a row something did not come in time", r.hung)
	}
	for _, id := range c.Needs() {
		if _, unmet := r.unmet[id]; unmet {
			return id + " has no result, which this check needs"
		}
	}
	return ""
}

func (r *Runner) try(c Check) (result Result) {
	t := &T{Place: r.place, name: c.ID, deadline: r.place.after()}
	result = Result{ID: c.ID, Outcome: Pass}
	if c.signals && !child.Signals {
		return Result{ID: c.ID, Outcome: NotApplicable, Reason: "commands do not end by signals on this system"}
	}
	defer func() {
		switch end := recover().(type) {
		case nil:
		case stopped:
			result = end.Result
		default:
			panic(end)
		}
		if result.Outcome != Later {
			r.clean(t)
		}
	}()
	c.run(t)
	if c.stays {
		result.Outcome = Later
	}
	return result
}

// clean waits for the answers to the releases, so that the end of a command does not disturb the next check. Once an
// answer is late, it no longer waits.
func (r *Runner) clean(t *T) {
	Stop(t.Dir, t.name)
	var deadline <-chan time.Time
	if r.releases {
		deadline = r.place.after()
	}
	for _, id := range t.terminals {
		answer := t.Conn.Send(t.Conn.ID(), "terminal/release", t.of(id))
		if !r.releases {
			continue
		}
		select {
		case <-answer:
		case <-t.Conn.Closed():
		case <-deadline:
			r.releases = false
		}
	}
}

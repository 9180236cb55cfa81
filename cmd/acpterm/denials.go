package main

// This file prints why commands were denied.

import (
	"errors"
	"fmt"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
)

// denials prints a line for each denied command. Printing may block, so the hook does not wait for it: Manager.Shutdown
// waits for the hook. If an agent tries commands faster than their lines are printed, lines are dropped.
type denials struct{ waiting chan string }

// newDenials prints on a screen. The screen's finish waits for the last line.
func newDenials(screen *screen) *denials {
	d := &denials{make(chan string, 256)}
	screen.following.Go(func() {
		for line := range d.waiting {
			screen.print("! ", line)
		}
	})
	return d
}

// hook is passed to acpterm.Manager.Observe.
func (d *denials) hook(event acpterm.Event) {
	decision, ok := event.(*acpterm.DecisionEvent)
	if !ok || !errors.Is(decision.Err, acpterm.ErrDenied) {
		return
	}
	select {
	case d.waiting <- describeDenial(decision):
	default:
	}
}

// end must be called after the last call of hook.
func (d *denials) end() { close(d.waiting) }

// describeDenial returns the denied command, the reason, and the rule.
func describeDenial(d *acpterm.DecisionEvent) string {
	e, ok := errors.AsType[*acpterm.Error](d.Err)
	if !ok {
		return ""
	}
	text := fmt.Sprintf("denied %s: %s", display.Quote(e.Command, mostShown), display.Visible(e.Reason, mostShown))
	if e.Rule != "" {
		text += fmt.Sprintf(" (rule %s)", display.Quote(e.Rule, mostShown))
	}
	return text + "\n"
}

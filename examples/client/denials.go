package main

// Why commands were denied.

import (
	"errors"
	"fmt"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
)

// denials prints a line for each command that is denied. The hook does not wait for the printing, which may block:
// Manager.Shutdown waits for the hook. What an agent tries faster than it is printed is left out.
type denials struct{ waiting chan string }

// newDenials prints on a screen, whose finish waits for the last one.
func newDenials(screen *screen) *denials {
	d := &denials{make(chan string, 256)}
	screen.following.Go(func() {
		for line := range d.waiting {
			screen.print("! ", line)
		}
	})
	return d
}

// hook is for acpterm.Manager's Observe.
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

// end is for when the hook is not called any more.
func (d *denials) end() { close(d.waiting) }

// describeDenial says what was denied, why, and by which rule.
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

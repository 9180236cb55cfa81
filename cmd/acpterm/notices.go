package main

// This file prints why commands were denied, which ones a user has moved to the background, and other notices that
// nothing may wait for.

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
)

// notices prints lines of one kind. Printing may block, so senders do not wait for it: lines are dropped if there are
// more than can be printed.
type notices struct {
	screen  *screen
	waiting chan string
}

// newNotices prints on a screen. The screen's finish waits for the last line.
func newNotices(screen *screen, to *column, prefix string) *notices {
	n := &notices{screen, make(chan string, 256)}
	screen.following.Go(func() {
		for line := range n.waiting {
			screen.printTo(to, prefix, harmless(strings.ToValidUTF8(line, "\uFFFD"), escapeControls)+"\n")
		}
	})
	return n
}

// say reports whether the line will be printed.
func (n *notices) say(line string) bool {
	select {
	case n.waiting <- line:
		return true
	default:
		return false
	}
}

// end must be called after the last call of say.
func (n *notices) end() { close(n.waiting) }

// record returns an acpterm.Options.Record that says why commands were denied, before the agent knows, and then calls
// next if it is not nil.
func (n *notices) record(next func(context.Context, acpterm.Event) error) func(context.Context, acpterm.Event) error {
	return func(ctx context.Context, event acpterm.Event) error {
		n.sayDenial(event)
		if next == nil {
			return nil
		}
		return next(ctx, event)
	}
}

// sayDenial says why a command was denied.
func (n *notices) sayDenial(event acpterm.Event) {
	decision, ok := event.(*acpterm.DecisionEvent)
	if !ok {
		return
	}
	if e, ok := errors.AsType[*acpterm.Error](decision.Err); ok && errors.Is(e, acpterm.ErrDenied) {
		text := fmt.Sprintf("denied %s: %s", display.Quote(e.Command, mostShown), display.Visible(e.Reason, mostShown))
		if e.Rule != "" {
			text += fmt.Sprintf(" (rule %s)", display.Quote(e.Rule, mostShown))
		}
		if n.say(text) {
			n.screen.addDenial(e.Command)
		}
	}
}

// sayMoved returns a hook for acpterm.Manager.Observe. It says that the user of the page has moved a command, whose lines
// have the returned name, to the background.
func (n *notices) sayMoved(name func(acpterm.TerminalID) string) func(acpterm.Event) {
	return func(event acpterm.Event) {
		if moved, ok := event.(*acpterm.BackgroundEvent); ok {
			n.say(name(moved.TerminalID) + " moved to the background: the agent need not wait for it")
		}
	}
}

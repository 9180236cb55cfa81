package editor

// What the user is asked before a command runs.

import (
	"context"
	"fmt"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
)

// The dialog's buttons.
const (
	allowOnce    = "Run it"
	allowSession = "Run it, and do not ask again in this conversation"
	refuse       = "Do not run it"
)

var approvals = map[string]acpterm.Approval{allowOnce: acpterm.ApprovalAllowOnce, allowSession: acpterm.ApprovalSession, refuse: acpterm.ApprovalRejectOnce}

// shownBytes is how many bytes of a command's arguments the dialog has room for.
const shownBytes = 4000

// approve asks the user. The manager remembers an answer for the session, and then does not call this.
func (e *Editor) approve(ctx context.Context, q acpterm.Question) acpterm.Answer {
	// The agent chose the words: Text quotes them, so that they can neither hide a part of themselves nor look like
	// something else, and cuts them, so that the rest stays in sight.
	text, omitted := display.Question(q, shownBytes)
	question := "The agent wants to run this:\n" + text
	if omitted > 0 {
		question += fmt.Sprintf("%d bytes are not shown.\n", omitted) // a button could show display.Question(q, 0)
	}
	button := e.ui.Ask(ctx, question, []string{allowOnce, allowSession, refuse})
	return acpterm.Answer{Approval: approvals[button], By: "the user"} // no button: it is rejected, this time
}

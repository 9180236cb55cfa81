package editor

// What the user is asked before a command runs.

import (
	"context"
	"fmt"

	"github.com/acpterm/acpterm"
)

// The dialog's buttons.
const (
	allowOnce    = "Run it"
	allowSession = "Run it, and do not ask again in this conversation"
	refuse       = "Do not run it"
)

var approvals = map[string]acpterm.Approval{allowOnce: acpterm.Once, allowSession: acpterm.ForSession, refuse: acpterm.No}

// approve asks the user. The manager remembers an answer for the session, and then does not call this.
func (e *Editor) approve(ctx context.Context, q acpterm.Question) acpterm.Answer {
	// The agent chose the words: quoted, they can neither hide a part of themselves nor look like something else.
	question := fmt.Sprintf("The agent wants to run %q in %q.", q.Command.Args, q.Command.Dir)
	if q.Command.ShellLine != "" {
		question = fmt.Sprintf("The agent wants the shell to run %q in %q.", q.Command.ShellLine, q.Command.Dir)
	}
	if len(q.Requested.Env) > 0 {
		question += fmt.Sprintf(" It sets %q.", q.Requested.Env)
	}
	button := e.ui.Ask(ctx, question, []string{allowOnce, allowSession, refuse})
	return acpterm.Answer{Approval: approvals[button], By: "the user"} // no button: acpterm.No, the zero value
}

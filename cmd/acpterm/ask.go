package main

// This file asks the user whether a command may run. It shows the agent's text in quotes, so that the text can neither
// steer the terminal nor look like something else. An answer counts for the question on the screen, or for none.

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
)

// asker asks one question at a time. ask may be called concurrently.
type asker struct {
	*keyboard
	screen *screen       // holds its output while a question is open
	turn   chan struct{} // contains a value while a question is open
}

// newAsker returns an asker that writes questions to out and reads answers from in.
func newAsker(in io.Reader, out io.Writer, screen *screen) *asker {
	return &asker{keyboard: newKeyboard(in, out), screen: screen, turn: make(chan struct{}, 1)}
}

const choices = "y once, s for this session, a always, n no, N never: "

var answers = map[string]acpterm.Approval{
	"y": acpterm.ApprovalAllowOnce, "yes": acpterm.ApprovalAllowOnce,
	"s": acpterm.ApprovalSession, "session": acpterm.ApprovalSession,
	"a": acpterm.ApprovalAllowAlways, "always": acpterm.ApprovalAllowAlways,
	"n": acpterm.ApprovalRejectOnce, "no": acpterm.ApprovalRejectOnce,
	"N": acpterm.ApprovalRejectAlways, "never": acpterm.ApprovalRejectAlways,
}

// nobody is the refusal if the user does not answer.
var nobody = acpterm.Answer{By: "nobody"}

// ask waits for its turn, asks the question, and returns the answer. It returns nobody if ctx is done or the terminal
// is gone.
func (a *asker) ask(ctx context.Context, q acpterm.Question) acpterm.Answer {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return nobody
	}
	a.screen.hold()
	defer a.screen.resume()
	if a.stale() { // the user may be typing an answer to the previous one
		if _, ok := a.await(ctx, "? There is another question. Enter shows it: "); !ok {
			return nobody
		}
	}
	text, omitted := describe(q, mostShown)
	text += a.screen.pageLine("? ")
	choices := choices
	if omitted > 0 {
		choices = "f full text, " + choices
	}
	for {
		line, ok := a.await(ctx, text+"? Run "+display.Quote(q.Command.Path, mostShown/6)+"? "+choices)
		if !ok {
			return nobody
		}
		if approval, ok := answers[line]; ok {
			return acpterm.Answer{Approval: approval, By: "the user at the terminal"}
		}
		text = ""
		if omitted > 0 && (line == "f" || line == "full") {
			text, _ = describe(q, 0)
		}
	}
}

// await calls prompt. If the question is withdrawn, it says so on the screen.
func (a *asker) await(ctx context.Context, text string) (line string, ok bool) {
	line, err := a.prompt(ctx, text)
	if err != nil {
		a.show("\n? It need not be answered any more.\n")
	}
	return line, err == nil
}

// finish waits until no question is on the screen, and prevents new ones. The contexts of all questions must have
// ended.
func (a *asker) finish() { a.turn <- struct{}{} }

// describe returns the exact command, cut as display.Question describes. The prompt repeats the program beside the
// answer, for commands longer than the screen.
func describe(q acpterm.Question, most int) (text string, omitted int) {
	var b strings.Builder
	b.WriteString("? The agent wants to run\n")
	text, omitted = display.Question(q, most)
	for line := range strings.Lines(text) {
		b.WriteString("?   " + line)
	}
	if omitted > 0 {
		fmt.Fprintf(&b, "? %d bytes of it are not shown: f shows all.\n", omitted)
	}
	return b.String(), omitted
}

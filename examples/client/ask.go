package main

// Asking the person whether a command may run. What an agent chooses is shown in quotes, so that it can neither steer
// the terminal nor look like something else; and an answer counts for the question that was on the screen, or for none.

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
)

// asker asks one question after another. ask may be called concurrently.
type asker struct {
	*keyboard
	screen *screen       // holds its peace while there is a question
	turn   chan struct{} // has something in it while there is a question
}

// newAsker returns an asker of the user who reads out and types in.
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

// nobody is a no for want of an answer.
var nobody = acpterm.Answer{By: "nobody"}

// ask puts a question when it is its turn, and returns the answer: no when ctx ends or the terminal is gone.
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
	if a.stale() { // the user may be typing an answer to the last one
		if _, ok := a.await(ctx, "? There is another question. Enter shows it: "); !ok {
			return nobody
		}
	}
	text, omitted := describe(q, mostShown)
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
			return acpterm.Answer{Approval: approval, By: "the person at the terminal"}
		}
		text = ""
		if omitted > 0 && (line == "f" || line == "full") {
			text, _ = describe(q, 0)
		}
	}
}

// await is prompt, and says on the screen when the question is withdrawn.
func (a *asker) await(ctx context.Context, text string) (line string, ok bool) {
	line, err := a.prompt(ctx, text)
	if err != nil {
		a.show("\n? It need not be answered any more.\n")
	}
	return line, err == nil
}

// finish returns when no question is on the screen, and lets none be put again. The contexts of all must have ended.
func (a *asker) finish() { a.turn <- struct{}{} }

// describe is the command, exactly; how much of it is shown is as display.Question says. The program is said once more
// where the answer is typed, for commands that are longer than the screen.
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

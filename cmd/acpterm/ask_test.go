package main

// The asker with a terminal that is played, as a person would: by reading a question before answering it.

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
)

// desk is where a played person sits.
type desk struct {
	t      *testing.T
	asker  *asker
	screen *transcript
	keys   *io.PipeWriter
	rest   *strings.Builder // what is printed besides
}

func newDesk(t *testing.T) *desk {
	screen, out := newTranscript(t)
	in, keys := io.Pipe()
	d := &desk{t: t, screen: screen, keys: keys, rest: &strings.Builder{}}
	d.asker = newAsker(in, out, newScreen(d.rest, d.rest, false, func(err error) { t.Error(err) }))
	t.Cleanup(func() {
		keys.Close()
		out.Close()
		<-screen.ended
		screen.pipe.Close()
	})
	return d
}

// ask asks, and returns where the answer comes.
func (d *desk) ask(ctx context.Context, q acpterm.Question) <-chan acpterm.Answer {
	answer := make(chan acpterm.Answer, 1)
	go func() { answer <- d.asker.ask(ctx, q) }()
	return answer
}

func (d *desk) typeLine(line string) {
	_, err := io.WriteString(d.keys, line+"\n")
	require.NoError(d.t, err)
}

// about is a question about a program.
func about(path string, args ...string) acpterm.Question {
	q := acpterm.Question{Reason: "no rule allows this"}
	q.Name = path[strings.LastIndex(path, "/")+1:]
	q.Command = acpterm.Command{Path: path, Args: append([]string{q.Name}, args...), Dir: "/dir"}
	return q
}

func TestAnswers(t *testing.T) {
	for line, want := range map[string]acpterm.Approval{
		"y": acpterm.ApprovalAllowOnce, "s": acpterm.ApprovalSession, " a\r": acpterm.ApprovalAllowAlways, "n": acpterm.ApprovalRejectOnce, "N": acpterm.ApprovalRejectAlways, "never": acpterm.ApprovalRejectAlways,
	} {
		d := newDesk(t)
		answer := d.ask(t.Context(), about("/bin/x"))
		d.screen.await(t, `\? Run "/bin/x"\? .*never: $`)
		d.typeLine("Y?")
		d.screen.await(t, `(?s)never: .*never: $`)
		d.typeLine(line)
		require.Equal(t, acpterm.Answer{Approval: want, By: "the user at the terminal"}, <-answer, line)
	}
}

// A question that is too long is cut, and says so where the answer is typed; all of it can be had.
func TestALongQuestionFitsTheScreen(t *testing.T) {
	d := newDesk(t)
	x, y := strings.Repeat("x", 100_000), strings.Repeat("y", 100_000)
	answer := d.ask(t.Context(), about("/bin/x", "begin", x+"end", y))
	d.screen.await(t, `\n\? \d+ bytes of it are not shown: f shows all\.\n\? Run "/bin/x"\? f full text, .*never: $`)
	require.Less(t, len(d.screen.String()), 3000)
	require.Contains(t, d.screen.String(), `"begin" "xxx`)
	d.typeLine("f")
	d.screen.await(t, `(?s)never: .*yyy"\n.*\n\? Run "/bin/x"\? f full text, .*never: $`)
	require.Contains(t, d.screen.String(), x+`end" "`+y+`"`)
	d.typeLine("n")
	require.Equal(t, acpterm.ApprovalRejectOnce, (<-answer).Approval)
}

func TestOneQuestionAtATime(t *testing.T) {
	d := newDesk(t)
	first := d.ask(t.Context(), about("/bin/first"))
	d.screen.await(t, `Run "/bin/first".*: $`)
	withdrawn, withdraw := context.WithCancel(t.Context())
	second := d.ask(withdrawn, about("/bin/second"))
	withdraw()
	require.Equal(t, acpterm.ApprovalRejectOnce, (<-second).Approval)
	third := d.ask(t.Context(), about("/bin/third"))
	d.typeLine("y")
	require.Equal(t, acpterm.ApprovalAllowOnce, (<-first).Approval)
	d.screen.await(t, `Run "/bin/third".*: $`)
	d.typeLine("N")
	require.Equal(t, acpterm.ApprovalRejectAlways, (<-third).Approval)
	require.NotContains(t, d.screen.String(), "second")
}

// The answer to a question that was withdrawn just then is not the next one's.
func TestWithdrawnQuestion(t *testing.T) {
	d := newDesk(t)
	ctx, withdraw := context.WithCancel(t.Context())
	first := d.ask(ctx, about("/bin/first"))
	d.screen.await(t, `Run "/bin/first".*: $`)
	withdraw()
	require.Equal(t, nobody, <-first)
	d.screen.await(t, "any more\\.\n$")

	second := d.ask(t.Context(), about("/bin/second"))
	d.screen.await(t, `Enter shows it: $`)
	d.typeLine("y")
	d.screen.await(t, `Run "/bin/second".*: $`)
	require.Empty(t, second)
	d.typeLine("n")
	require.Equal(t, acpterm.ApprovalRejectOnce, (<-second).Approval)

	// If the person has pressed Enter by then, there is nothing to wait for; what they typed is forgotten.
	ctx, withdraw = context.WithCancel(t.Context())
	third := d.ask(ctx, about("/bin/third"))
	d.screen.await(t, `Run "/bin/third".*: $`)
	withdraw()
	<-third
	d.typeLine("a") // one line, whose end can be seen below; of a second the next question might be the first to hear
	require.Eventually(t, func() bool { return !d.asker.stale() }, time.Minute, time.Millisecond)
	fourth := d.ask(t.Context(), about("/bin/fourth"))
	d.screen.await(t, `Run "/bin/fourth".*: $`)
	require.Equal(t, 1, strings.Count(d.screen.String(), "Enter shows it"))
	d.typeLine("s")
	require.Equal(t, acpterm.ApprovalSession, (<-fourth).Approval)
}

func TestTerminalGoesAway(t *testing.T) {
	d := newDesk(t)
	answer := d.ask(t.Context(), about("/bin/x"))
	d.screen.await(t, `Run "/bin/x".*: $`)
	d.keys.Close()
	require.Equal(t, nobody, <-answer)
	require.Equal(t, nobody, <-d.ask(t.Context(), about("/bin/y")))
}

// What an agent says meanwhile might pass for the question, so it comes later.
func TestNothingIsPrintedDuringAQuestion(t *testing.T) {
	d := newDesk(t)
	d.asker.screen.print("> ", "before")
	answer := d.ask(t.Context(), about("/bin/x"))
	d.screen.await(t, `Run "/bin/x".*: $`)
	d.asker.screen.print("> ", `? Run "/bin/true"? `)
	d.asker.screen.print("[1] | ", strings.Repeat("x", mostHeld))
	d.asker.screen.print("* ", "tool\n")
	d.asker.screen.printError("error")
	require.Equal(t, "> before\n", d.rest.String())
	d.typeLine("n")
	<-answer
	require.Equal(t, "> before\n"+`> ? Run "/bin/true"? `+
		"\n* tool\nagent: error\n\n! 1048583 bytes more came while you were asked\n", d.rest.String())
}

package checks

// terminal/output: its contents, and when they appear.

import (
	"runtime"
	"strings"
	"time"

	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/child"
)

const (
	pageOutput = "Terminals, Getting Output"
	typeOutput = "schema, TerminalOutputResponse"
)

func output() []Check {
	return []Check{
		protocol("output.shape", "output has the members output and truncated",
			typeOutput, func(t *T) { t.output(t.create(t.command(child.Out("x")))) }),
		protocol("output.live", "output shows what a running command has written",
			pageOutput,
			func(t *T) { t.shows(t.start(child.Out("so far")), "so far") }, "create.immediate", "output.shape"),
		protocol("output.running", "there is no exitStatus while the command runs", pageOutput, func(t *T) {
			_, _, exit := t.output(t.start())
			t.still("command", "the command")
			t.want(exit == nil, "no exitStatus", "there is one")
		}, "create.immediate", "output.shape"),
		protocol("output.exit", "after the command's end there is its exitStatus", pageOutput, func(t *T) {
			id := t.create(t.command(child.Step("exit", 7)))
			t.wait(id)
			_, _, exit := t.output(id)
			t.want(exit != nil, "an exitStatus", "there is none")
			t.want(exit.is(7), "the exitStatus of exit code 7", "it is another one")
		}, "wait.pending", "output.shape"),
		protocol("output.again", "output shows the same each time",
			pageOutput+": the output captured so far", func(t *T) {
				id := t.start(child.Out("once"))
				t.shows(id, "once")
				text, _, _ := t.output(id)
				t.equal(text, "once")
			}, "output.live"),
		protocol("output.none", "a command that writes nothing has empty output, not truncated",
			typeOutput, func(t *T) {
				id := t.create(t.command())
				t.wait(id)
				text, truncated, _ := t.output(id)
				t.equal(text, "")
				t.want(!truncated, "truncated false", "it is true")
			}, "wait.pending", "output.shape"),
		beyond("output.stderr", "standard error is in the output",
			"a terminal shows both, and errors are what a model needs most",
			func(t *T) { t.prints(t.command(child.Err("problem")), "problem") }, "wait.pending", "output.shape"),
		beyond("output.order", "standard output and standard error are in the order of their writes",
			"a terminal shows both in order; else an error stands beside the wrong line", outputOrder, "output.stderr"),
		beyond("output.complete", "when the wait returns, all that the command wrote is in the output",
			"agents read the output once, after the wait", func(t *T) {
				for range 5 {
					id := t.create(with(t.command(child.Many("0123456789abcde\n", 2000)), "outputByteLimit", 1<<20))
					t.wait(id)
					text, _, _ := t.output(id)
					t.want(len(text) == 32000, "32000 bytes", "there are %d", len(text))
				}
			}, "create.id.unique", "wait.pending", "output.shape"),
	}
}

// outputOrder writes without pauses: with pauses, any client would look right.
func outputOrder(t *T) {
	var steps []string
	var want strings.Builder
	for range 20 {
		steps = append(steps, child.Out("out\n"), child.Err("err\n"))
		want.WriteString("out\nerr\n")
	}
	t.prints(t.command(steps...), want.String())
}

func text() []Check {
	return []Check{
		beyond("text.split", "a character that is written in two parts is shown as one",
			"programs flush where a buffer ends, also inside characters", func(t *T) {
				id := t.create(t.command(child.Out("a\xe2"), t.lock("wrote"), t.await("more"), child.Out("\x82\xacb")))
				t.runs("wrote")
				t.until(func() bool { text, _, _ := t.output(id); return strings.HasPrefix(text, "a") },
					"the output to begin", "it did not")
				t.let("more")
				t.wait(id)
				t.until(func() bool { text, _, _ := t.output(id); return strings.HasSuffix(text, "b") },
					"the output to end", "it did not")
				text, _, _ := t.output(id)
				t.equal(text, "a€b")
			}, "wait.pending", "output.again"),
		beyond("text.unfinished", "a character that is not whole yet is not shown as another one",
			"what an agent has read must not become something else", textUnfinished, "text.split"),
		beyond("text.unfinished.end", "a character that is not whole at the command's end is shown as U+FFFD",
			"an agent must see that the output ends in bytes that are no text", textUnfinishedEnd, "text.invalid"),
		beyond("text.invalid", "bytes that are no UTF-8 leave the rest of the output as it is",
			"commands print files that are no text", func(t *T) {
				whole := func(text string, _ bool) bool {
					return strings.HasPrefix(text, "before") && strings.HasSuffix(text, "after")
				}
				text, _ := t.print(t.command(child.Out("before\xff\xfeafter")), whole)
				t.want(whole(text, false), "what is before and after these bytes", "the output is %s", quoted(text))
			}, "wait.pending", "output.shape"),
		beyond("text.control", "quotes, backslashes and control characters are shown as they are",
			"an agent reads what the command wrote", textControl, "wait.pending", "output.shape"),
	}
}

// textUnfinished runs a command that writes a character without its last byte, and stays.
func textUnfinished(t *T) {
	id := t.start(child.Out("a\xe2\x82"))
	shown := func() string { text, _, _ := t.output(id); return text }
	t.until(func() bool { return strings.HasPrefix(shown(), "a") }, "the output to begin", "it did not")
	t.throughout(func() bool { return shown() == "a" }, "the output "+quoted("a")+" while the command runs",
		"there is something for the bytes that are no character yet")
}

// textUnfinishedEnd accepts a U+FFFD for both bytes, as in most languages, or one for each. On Windows they may also be
// characters of a code page.
func textUnfinishedEnd(t *T) {
	const replaced = "a\uFFFD"
	shown := func(text string, _ bool) bool {
		ofCodePage := runtime.GOOS == "windows" && strings.HasPrefix(text, "a") && text != "a"
		return text == replaced || text == replaced+"\uFFFD" || ofCodePage
	}
	text, _ := t.print(t.command(child.Out("a\xe2\x82")), shown)
	t.want(shown(text, false), "the output "+quoted(replaced), "the output is %s", quoted(text))
}

// textControl also accepts the line ends of a PTY, which puts a carriage return before each line feed.
func textControl(t *T) {
	const want = "\"\\\t\x1b[1m\x01\x7f\x00a\r\nb\rc\nd"
	id := t.create(t.command(child.Out(want)))
	t.wait(id)
	text, onPTY := "", strings.ReplaceAll(want, "\n", "\r\n")
	for ended := time.Now(); text != want && text != onPTY; time.Sleep(5 * time.Millisecond) {
		text, _, _ = t.rawOutput(id)
		if time.Since(ended) > settle {
			break
		}
	}
	t.want(text == want || text == onPTY, "the output "+quoted(want), "the output is %s", quoted(text))
}

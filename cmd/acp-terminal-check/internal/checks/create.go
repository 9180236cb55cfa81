package checks

// terminal/create: its answer, the command and its arguments.

import (
	"slices"

	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/child"
	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/rpc"
)

const (
	pageExecuting = "Terminals, Executing Commands"
	typeCreate    = "schema, CreateTerminalRequest"
)

func create() []Check {
	return []Check{
		protocol("create.id", "create answers with a terminalId",
			"schema, CreateTerminalResponse", func(t *T) { t.create(t.command()) }),
		protocol("create.id.unique", "each terminal has an id of its own",
			"schema, CreateTerminalResponse: the unique identifier", func(t *T) {
				first, second := t.create(t.command()), t.create(t.command())
				t.want(first != second, "two ids", "both terminals are %q", first)
			}),
		protocol("create.immediate", "create answers while the command runs", pageExecuting, func(t *T) {
			t.start()
			t.still("command", "the command")
		}),
		protocol("create.args", "the command gets its arguments as they are",
			typeCreate+".args", createArgs, "wait.pending", "output.shape"),
		protocol("create.args.absent", "a command without args runs",
			typeCreate+".args", func(t *T) { // the kit itself, called wrongly
				s := t.wait(t.create(without(t.command(), "args")))
				t.want(s.is(2), "exit code 2, of the program without arguments", "it ended otherwise")
			}, "wait.code"),
		protocol("create.null", "null stands for no cwd and no outputByteLimit",
			typeCreate+": both may be null", func(t *T) {
				t.prints(with(with(t.command(child.Out("x")), "cwd", nil), "outputByteLimit", nil), "x")
			}, "wait.pending", "output.shape"),
		protocol("create.meta", "_meta is accepted", typeCreate+"._meta", func(t *T) {
			meta := rpc.Object{"example.org/check": rpc.Object{"n": 1}}
			t.prints(with(t.command(child.Out("x")), "_meta", meta), "x")
		}, "wait.pending", "output.shape"),
		protocol("create.command.required", "create without a command is an error",
			typeCreate, func(t *T) { t.noTerminal(without(t.command(), "command"), "there is no command") }),
		protocol("create.command.type", "a command that is no string is an error",
			typeCreate, func(t *T) { t.noTerminal(with(t.command(), "command", 7), "the command is a number") }),
		protocol("create.session.required", "create without a sessionId is an error",
			typeCreate, func(t *T) { t.noTerminal(without(t.command(), "sessionId"), "there is no sessionId") }),
		beyond("create.command.unknown", "a program that is not there is an error, or an exit",
			"a model has to learn that its command did not run", createUnknown, "wait.code"),
		beyond("create.stdin", "the command's standard input is at its end",
			"nothing can be sent to a command, which else waits without end",
			func(t *T) { t.prints(t.command(child.Step("stdin")), "0") }, "wait.pending", "output.shape"),
		beyond("create.many", "twenty terminals at once have each their own output",
			"agents run commands side by side",
			createMany, "create.id.unique", "create.immediate", "wait.code", "output.shape"),
	}
}

func createArgs(t *T) {
	want := []string{"", " ", "two words", `"quoted"`, `it's`, `back\slash\`, "$HOME", "%PATH%", "*", "a;b|c&d", "é😀"}
	p := t.command("args")
	p["args"] = append(p["args"].([]string), want...)
	var got []string
	t.printsJSON(p, &got)
	t.want(slices.Equal(got, want), "all arguments as they were sent", "the command got %q", got)
}

func createUnknown(t *T) {
	params := rpc.Object{"sessionId": t.Session, "command": t.path("no-such-program"), "args": []string{"x"}}
	if p, id := t.try(params); p.came.Error == nil {
		s := t.wait(id)
		t.want(!s.is(0), "an exit code that is not 0", "it ended with exit code 0")
	}
}

func createMany(t *T) {
	ids := make([]string, 20)
	for i := range ids {
		ids[i] = t.create(t.command(t.await("go"), child.Out(string(rune('a'+i))), child.Step("exit", i)))
	}
	t.let("go")
	for i, id := range ids {
		s := t.wait(id)
		t.want(s.is(uint32(i)), "each command's own exit code", "command %d ended otherwise", i)
	}
	for i, id := range ids {
		want := string(rune('a' + i))
		t.until(func() bool { text, _, _ := t.output(id); return text == want }, "the output "+want, "it did not come")
	}
}

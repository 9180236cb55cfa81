package checks

// terminal/create: its answer, the command and its arguments.

import (
	"encoding/json"
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
		{
			ID: "create.id", Title: "create answers with a terminalId", Level: Protocol,
			Source: "schema, CreateTerminalResponse",
			run:    func(t *T) { t.create(t.command()) },
		}, {
			ID: "create.id.unique", Title: "each terminal has an id of its own", Level: Protocol,
			Source: "schema, CreateTerminalResponse: the unique identifier",
			run: func(t *T) {
				first, second := t.create(t.command()), t.create(t.command())
				t.want(first != second, "two ids", "both terminals are %q", first)
			},
		}, {
			ID: "create.immediate", Title: "create answers while the command runs", Level: Protocol,
			Source: pageExecuting,
			run: func(t *T) {
				t.start()
				t.still("command", "the command")
			},
		}, {
			ID: "create.args", Title: "the command gets its arguments as they are", Level: Protocol, Source: typeCreate + ".args",
			needs: "wait.pending output.shape",
			run:   createArgs,
		}, {
			ID: "create.args.absent", Title: "a command without args runs", Level: Protocol, Source: typeCreate + ".args",
			needs: "wait.code",
			run: func(t *T) { // the kit itself, called wrongly
				s := t.wait(t.create(without(t.command(), "args")))
				t.want(s.is(2), "exit code 2, of the program without arguments", "it ended otherwise")
			},
		}, {
			ID: "create.null", Title: "null stands for no cwd and no outputByteLimit", Level: Protocol,
			Source: typeCreate + ": both may be null", needs: "wait.pending output.shape",
			run: func(t *T) {
				t.prints(with(with(t.command(child.Out("x")), "cwd", nil), "outputByteLimit", nil), "x")
			},
		}, {
			ID: "create.meta", Title: "_meta is accepted", Level: Protocol, Source: typeCreate + "._meta",
			needs: "wait.pending output.shape",
			run: func(t *T) {
				meta := rpc.Object{"example.org/check": rpc.Object{"n": 1}}
				t.prints(with(t.command(child.Out("x")), "_meta", meta), "x")
			},
		}, {
			ID: "create.command.required", Title: "create without a command is an error", Level: Protocol, Source: typeCreate,
			run: func(t *T) { t.noTerminal(without(t.command(), "command"), "there is no command") },
		}, {
			ID: "create.command.type", Title: "a command that is no string is an error", Level: Protocol, Source: typeCreate,
			run: func(t *T) { t.noTerminal(with(t.command(), "command", 7), "the command is a number") },
		}, {
			ID: "create.session.required", Title: "create without a sessionId is an error", Level: Protocol,
			Source: typeCreate,
			run:    func(t *T) { t.noTerminal(without(t.command(), "sessionId"), "there is no sessionId") },
		}, {
			ID: "create.command.unknown", Title: "a program that is not there is an error, or an exit", Level: Beyond,
			Source: "a model has to learn that its command did not run", needs: "wait.code",
			run: createUnknown,
		}, {
			ID: "create.stdin", Title: "the command's standard input is at its end", Level: Beyond,
			Source: "nothing can be sent to a command, which else waits without end",
			needs:  "wait.pending output.shape",
			run:    func(t *T) { t.prints(t.command(child.Step("stdin")), "0") },
		}, {
			ID: "create.many", Title: "twenty terminals at once have each their own output", Level: Beyond,
			Source: "agents run commands side by side",
			needs:  "create.id.unique create.immediate wait.code output.shape",
			run:    createMany,
		},
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
	p := t.send("terminal/create", params)
	if t.answer(p).Error != nil {
		return
	}
	var created struct{ TerminalID string }
	t.trouble(json.Unmarshal(p.came.Result, &created))
	t.terminals = append(t.terminals, created.TerminalID)
	s := t.wait(created.TerminalID)
	t.want(!s.is(0), "an exit code that is not 0", "it ended with exit code 0")
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

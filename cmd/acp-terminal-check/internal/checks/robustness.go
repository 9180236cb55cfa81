package checks

// Unknown terminals, and messages that a client must tolerate.

import (
	"slices"

	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/child"
	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/rpc"
)

const (
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeNotFound       = -32002
)

func sessions() []Check {
	return []Check{
		protocol("unknown.id", "an id that is not known is an error of output, wait_for_exit and kill",
			"schema: the ID of the terminal", func(t *T) {
				for _, method := range []string{"output", "wait_for_exit", "kill"} {
					t.refused(t.send("terminal/"+method, t.of("no-such-terminal")), "there is no such terminal")
				}
			}, "wait.pending", "output.shape", "kill.ends"),
		beyond("unknown.code", "the error for such an id has a code that says so",
			"schema, ErrorCode: -32002 is for what is not found, -32602 for parameters", func(t *T) {
				e := t.refused(t.send("terminal/output", t.of("no-such-terminal")), "there is no such terminal")
				t.want(slices.Contains([]int{codeNotFound, codeInvalidParams}, e.Code), "code -32002 or -32602",
					"the code is %d", e.Code)
			}, "unknown.id"),
		beyond("session.other", "a terminal cannot be read or killed by another session",
			"a client may run agents that must not see each other's output", func(t *T) {
				id := t.start(child.Out("secret"))
				other := with(t.of(id), "sessionId", "no-such-session")
				t.refused(t.send("terminal/output", other), "it is not this session's terminal")
				t.refused(t.send("terminal/kill", other), "it is not this session's terminal")
				t.output(id)
				t.stays("command", "the command")
			}, "unknown.id", "create.immediate", "output.shape"),
	}
}

func robustness() []Check {
	return []Check{
		protocol("rpc.method", "a method that is not known is error -32601", "JSON-RPC 2.0, Error object", func(t *T) {
			e := t.refused(t.send("terminal/no_such_method", t.of("x")), "there is no such method")
			t.want(e.Code == codeMethodNotFound, "code -32601", "the code is %d", e.Code)
		}),
		protocol("rpc.notification", "a notification that is not known is left out",
			"Extensibility, Custom Notifications", func(t *T) {
				t.Conn.Notify("_acp_terminal_check/nothing", rpc.Object{})
				t.create(t.command())
			}),
		protocol("rpc.messages", "the client writes nothing but messages",
			"Transports, stdio: nothing else on the agent's standard input", func(t *T) {
				t.create(t.command())
				if line, there := t.Conn.Stray(); there {
					t.fail("a message of JSON-RPC on each line", "there is the line %s", quoted(line))
				}
			}),
		beyond("rpc.params", "params that are no object are an error, and the connection lives",
			"one mistake of an agent's must not end its session", func(t *T) {
				t.refused(t.send("terminal/create", []int{1}), "params are an array")
				t.create(t.command())
			}),
		beyond("rpc.line", "a line that is no JSON leaves the connection as it is",
			"agents, and what they load, print things by mistake", func(t *T) {
				t.Conn.WriteLine("this is no JSON")
				t.create(t.command())
			}),
	}
}

func ends() []Check {
	return []Check{{
		ID: "close.ends", Title: "when the connection has ended, so have its commands", Level: Beyond, stays: true,
		Source: "no agent is there that could end them", needs: []string{"create.immediate"},
		run: func(t *T) { t.start() },
	}}
}

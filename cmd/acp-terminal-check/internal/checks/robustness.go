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
		{
			ID: "unknown.id", Title: "an id that is not known is an error of output, wait_for_exit and kill", Level: Protocol,
			Source: "schema: the ID of the terminal", needs: "wait.pending output.shape kill.ends",
			run: func(t *T) {
				for _, method := range []string{"output", "wait_for_exit", "kill"} {
					t.refused(t.send("terminal/"+method, t.of("no-such-terminal")), "there is no such terminal")
				}
			},
		}, {
			ID: "unknown.code", Title: "the error for such an id has a code that says so", Level: Beyond,
			Source: "schema, ErrorCode: -32002 is for what is not found, -32602 for parameters", needs: "unknown.id",
			run: func(t *T) {
				e := t.refused(t.send("terminal/output", t.of("no-such-terminal")), "there is no such terminal")
				t.want(slices.Contains([]int{codeNotFound, codeInvalidParams}, e.Code), "code -32002 or -32602",
					"the code is %d", e.Code)
			},
		}, {
			ID: "session.other", Title: "a terminal cannot be read or killed by another session", Level: Beyond,
			Source: "a client may run agents that must not see each other's output",
			needs:  "unknown.id create.immediate output.shape",
			run: func(t *T) {
				id := t.start(child.Out("secret"))
				other := with(t.of(id), "sessionId", "no-such-session")
				t.refused(t.send("terminal/output", other), "it is not this session's terminal")
				t.refused(t.send("terminal/kill", other), "it is not this session's terminal")
				t.output(id)
				t.stays("command", "the command")
			},
		},
	}
}

func robustness() []Check {
	return []Check{
		{
			ID: "rpc.method", Title: "a method that is not known is error -32601", Level: Protocol,
			Source: "JSON-RPC 2.0, Error object",
			run: func(t *T) {
				e := t.refused(t.send("terminal/no_such_method", t.of("x")), "there is no such method")
				t.want(e.Code == codeMethodNotFound, "code -32601", "the code is %d", e.Code)
			},
		}, {
			ID: "rpc.notification", Title: "a notification that is not known is left out", Level: Protocol,
			Source: "Extensibility, Custom Notifications",
			run: func(t *T) {
				t.Conn.Notify("_acp_terminal_check/nothing", rpc.Object{})
				t.create(t.command())
			},
		}, {
			ID: "rpc.messages", Title: "the client writes nothing but messages", Level: Protocol,
			Source: "Transports, stdio: nothing else on the agent's standard input",
			run: func(t *T) {
				t.create(t.command())
				if line, there := t.Conn.Stray(); there {
					t.fail("a message of JSON-RPC on each line", "there is the line %s", quoted(line))
				}
			},
		}, {
			ID: "rpc.params", Title: "params that are no object are an error, and the connection lives", Level: Beyond,
			Source: "one mistake of an agent's must not end its session",
			run: func(t *T) {
				t.refused(t.send("terminal/create", []int{1}), "params are an array")
				t.create(t.command())
			},
		}, {
			ID: "rpc.line", Title: "a line that is no JSON leaves the connection as it is", Level: Beyond,
			Source: "agents, and what they load, print things by mistake",
			run: func(t *T) {
				t.Conn.WriteLine("this is no JSON")
				t.create(t.command())
			},
		},
	}
}

func ends() []Check {
	return []Check{{
		ID: "close.ends", Title: "when the connection has ended, so have its commands", Level: Beyond, stays: true,
		Source: "no agent is there that could end them", needs: "create.immediate",
		run: func(t *T) { t.start() },
	}}
}

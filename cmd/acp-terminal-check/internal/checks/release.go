package checks

// terminal/release: it ends the command, and the id is invalid then.

import (
	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/child"
	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/rpc"
)

const pageRelease = "Terminals, Releasing Terminals"

func release() []Check {
	invalid := func(method string) Check {
		return Check{
			ID: "release.invalid." + method, Title: "after a release, " + method + " is an error", Level: Protocol,
			Source: pageRelease + ": the ID becomes invalid", needs: "release.ended unknown.id",
			run: func(t *T) {
				id := t.create(t.command())
				t.wait(id)
				t.release(id)
				t.refused(t.send("terminal/"+method, t.of(id)), "the terminal is released")
			},
		}
	}
	return []Check{
		{
			ID: "release.kills", Title: "release ends the command", Level: Protocol, Source: pageRelease,
			needs: "create.immediate release.ended",
			run: func(t *T) {
				t.release(t.start())
				t.ends("command", "the command")
			},
		}, {
			ID: "release.ended", Title: "a command that has ended can be released", Level: Protocol, Source: pageRelease,
			needs: "wait.pending",
			run: func(t *T) {
				id := t.create(t.command())
				t.wait(id)
				t.release(id)
			},
		},
		invalid("output"), invalid("wait_for_exit"), invalid("kill"),
		{
			ID: "release.others", Title: "a release leaves other terminals as they are", Level: Protocol, Source: pageRelease,
			needs: "create.id.unique create.immediate output.shape release.ended",
			run: func(t *T) {
				other := t.create(t.command(t.lock("other"), t.stay()))
				t.runs("other")
				t.release(t.start())
				t.output(other)
				t.stays("other", "the other terminal's command")
			},
		}, {
			ID: "release.embedded", Title: "a terminal that a tool call shows can be released", Level: Protocol,
			Source: "Terminals, Embedding in Tool Calls", needs: "release.ended",
			run: releaseEmbedded,
		}, {
			ID: "release.tree", Title: "release ends what the command has started", Level: Beyond,
			Source: "after it, the agent has no way to end it", needs: "release.kills",
			run: func(t *T) { t.release(t.tree()); t.endsTree() },
		}, {
			ID: "release.background", Title: "release ends what a command left that has ended itself", Level: Beyond,
			Source: "after it, the agent has no way to end it", needs: "release.tree wait.background",
			run: func(t *T) {
				id := t.background()
				t.wait(id)
				t.release(id)
				t.ends("child", "the process that the command left")
			},
		}, {
			ID: "release.pending", Title: "a release has pending waits answered", Level: Beyond,
			Source: "else the agent waits without end", needs: "release.kills wait.concurrent",
			run: func(t *T) {
				id := t.start()
				wait := t.send("terminal/wait_for_exit", t.of(id))
				t.release(id)
				t.answer(wait)
			},
		}, {
			ID: "release.reuse", Title: "the id of a released terminal is not given to another", Level: Beyond,
			Source: "a late request would reach the wrong command", needs: "release.ended",
			run: func(t *T) {
				id := t.create(t.command())
				t.release(id)
				t.want(t.create(t.command()) != id, "another id", "it is the same")
			},
		}, {
			ID: "release.twice", Title: "a second release is answered, and leaves other terminals as they are", Level: Beyond,
			Source: "clean-up code may run twice", needs: "release.others",
			run: func(t *T) {
				other := t.start()
				id := t.create(t.command())
				t.release(id)
				t.answer(t.send("terminal/release", t.of(id))) // an error is as good
				t.output(other)
				t.stays("command", "the other terminal's command")
			},
		},
	}
}

func releaseEmbedded(t *T) {
	id := t.create(t.command(child.Out("shown")))
	content := rpc.Object{"type": "terminal", "terminalId": id}
	t.Conn.Notify("session/update", rpc.Object{"sessionId": t.Session, "update": rpc.Object{
		"sessionUpdate": "tool_call", "toolCallId": "check", "title": "a check", "kind": "execute",
		"status": "in_progress", "content": []any{content},
	}})
	t.wait(id)
	t.release(id)
	t.Conn.Notify("session/update", rpc.Object{"sessionId": t.Session, "update": rpc.Object{
		"sessionUpdate": "tool_call_update", "toolCallId": "check", "status": "completed",
	}})
	t.create(t.command())
}

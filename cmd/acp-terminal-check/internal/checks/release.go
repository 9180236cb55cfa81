package checks

// terminal/release: it ends the command, and the id is invalid then.

import (
	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/child"
	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/rpc"
)

const pageRelease = "Terminals, Releasing Terminals"

func release() []Check {
	invalid := func(method string) Check {
		return protocol("release.invalid."+method, "after a release, "+method+" is an error",
			pageRelease+": the ID becomes invalid", func(t *T) {
				id := t.create(t.command())
				t.wait(id)
				t.release(id)
				t.refused(t.send("terminal/"+method, t.of(id)), "the terminal is released")
			}, "release.ended", "unknown.id")
	}
	return []Check{
		protocol("release.kills", "release ends the command", pageRelease, func(t *T) {
			t.release(t.start())
			t.ends("command", "the command")
		}, "create.immediate", "release.ended"),
		protocol("release.ended", "a command that has ended can be released", pageRelease, func(t *T) {
			id := t.create(t.command())
			t.wait(id)
			t.release(id)
		}, "wait.pending"),
		invalid("output"), invalid("wait_for_exit"), invalid("kill"),
		protocol("release.others", "a release leaves other terminals as they are", pageRelease, func(t *T) {
			other := t.create(t.command(t.lock("other"), t.stay()))
			t.runs("other")
			t.release(t.start())
			t.output(other)
			t.stays("other", "the other terminal's command")
		}, "create.id.unique", "create.immediate", "output.shape", "release.ended"),
		protocol("release.embedded", "a terminal that a tool call shows can be released",
			"Terminals, Embedding in Tool Calls", releaseEmbedded, "release.ended"),
		beyond("release.tree", "release ends what the command has started",
			"after it, the agent has no way to end it",
			func(t *T) { t.release(t.tree()); t.endsTree() }, "release.kills"),
		beyond("release.background", "release ends what a command left that has ended itself",
			"after it, the agent has no way to end it", func(t *T) {
				id := t.background()
				t.wait(id)
				t.release(id)
				t.ends("child", "the process that the command left")
			}, "release.tree", "wait.background"),
		beyond("release.pending", "a release has pending waits answered",
			"else the agent waits without end", func(t *T) {
				id := t.start()
				wait := t.send("terminal/wait_for_exit", t.of(id))
				t.release(id)
				t.answer(wait)
			}, "release.kills", "wait.concurrent"),
		beyond("release.reuse", "the id of a released terminal is not given to another",
			"a late request would reach the wrong command", func(t *T) {
				id := t.create(t.command())
				t.release(id)
				t.want(t.create(t.command()) != id, "another id", "it is the same")
			}, "release.ended"),
		beyond("release.twice", "a second release is answered, and leaves other terminals as they are",
			"clean-up code may run twice", func(t *T) {
				other := t.start()
				id := t.create(t.command())
				t.release(id)
				t.answer(t.send("terminal/release", t.of(id))) // an error is as good
				t.output(other)
				t.stays("command", "the other terminal's command")
			}, "release.others"),
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

package checks

// terminal/kill: what ends, and what stays.

import "github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/child"

const pageKill = "Terminals, Killing Commands"

func kill() []Check {
	return []Check{
		{
			ID: "kill.ends", Title: "kill ends the command", Level: Protocol, Source: pageKill,
			needs: "create.immediate",
			run: func(t *T) {
				t.kill(t.start())
				t.ends("command", "the command")
			},
		}, {
			ID: "kill.wait", Title: "after a kill, wait answers, and not with success", Level: Protocol, Source: pageKill,
			needs: "kill.ends wait.pending",
			run: func(t *T) {
				id := t.start()
				t.kill(id)
				s := t.wait(id)
				t.want(!s.is(0), "a signal, or an exit code that is not 0", "it is exit code 0")
			},
		}, {
			ID: "kill.output", Title: "after a kill, output has what was written and the exitStatus", Level: Protocol,
			Source: pageKill, needs: "kill.ends wait.pending output.again output.exit",
			run: func(t *T) {
				id := t.start(child.Out("before"))
				t.shows(id, "before")
				t.kill(id)
				t.wait(id)
				text, _, exit := t.output(id)
				t.equal(text, "before")
				t.want(exit != nil, "an exitStatus", "there is none")
			},
		}, {
			ID: "kill.pending", Title: "a kill has pending waits answered", Level: Protocol,
			Source: "Terminals, Building a Timeout", needs: "kill.ends wait.concurrent",
			run: func(t *T) {
				id := t.start()
				wait := t.send("terminal/wait_for_exit", t.of(id))
				t.kill(id)
				t.result(wait, nil)
			},
		}, {
			ID: "kill.deaf", Title: "kill ends a command that ignores SIGTERM", Level: Protocol,
			Source: pageKill + ": terminates a command", needs: "kill.ends",
			run: func(t *T) {
				t.kill(t.start(child.Step("deaf")))
				t.ends("command", "the command")
			},
		}, {
			ID: "kill.ended", Title: "a kill of a command that has ended is no error, and changes nothing", Level: Beyond,
			Source: "a command may end while the kill is on its way", needs: "kill.ends wait.again",
			run: func(t *T) {
				id := t.create(t.command(child.Step("exit", 7)))
				t.wait(id)
				t.kill(id)
				s := t.wait(id)
				t.want(s.is(7), "exit code 7", "it is another one")
			},
		}, {
			ID: "kill.twice", Title: "a second kill is no error", Level: Beyond,
			Source: "a timeout and a person's cancel may come together", needs: "kill.ended",
			run: func(t *T) {
				id := t.start()
				first, second := t.send("terminal/kill", t.of(id)), t.send("terminal/kill", t.of(id))
				t.result(first, nil)
				t.result(second, nil)
				t.ends("command", "the command")
			},
		}, {
			ID: "kill.gentle", Title: "the command may clean up before it is ended", Level: Beyond, signals: true,
			Source: "programs remove their temporary files at SIGTERM", needs: "kill.ends",
			run: func(t *T) {
				t.kill(t.start(child.Step("tidy", t.path("tidied"))))
				t.until(func() bool { return t.made("tidied") || !child.Held(t.path("command")) }, "the command to end",
					"it did not end")
				t.want(t.made("tidied"), "a SIGTERM first", "the command was ended without")
			},
		}, {
			ID: "kill.tree", Title: "kill ends what the command has started", Level: Beyond,
			Source: "else a killed build goes on compiling, and a server keeps its port", needs: "kill.deaf",
			run: func(t *T) { t.kill(t.tree()); t.endsTree() },
		}, {
			ID: "kill.background", Title: "kill ends what a command left that has ended itself", Level: Beyond,
			Source: "the agent has no other way to end it", needs: "kill.tree kill.ended wait.background",
			run: func(t *T) {
				id := t.background()
				t.wait(id)
				t.kill(id)
				t.ends("child", "the process that the command left")
			},
		},
	}
}

// tree starts a command and waits for its child, which ignores SIGTERM.
func (t *T) tree() (id string) {
	id = t.start(child.Spawn(child.Step("deaf"), t.lock("child"), t.stay())...)
	t.runs("child")
	return id
}

func (t *T) endsTree() {
	t.ends("command", "the command")
	t.ends("child", "the process that the command started")
}

package checks

// terminal/kill: what ends, and what stays.

import "github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/child"

const pageKill = "Terminals, Killing Commands"

func kill() []Check {
	return []Check{
		protocol("kill.ends", "kill ends the command", pageKill, func(t *T) {
			t.kill(t.start())
			t.ends("command", "the command")
		}, "create.immediate"),
		protocol("kill.wait", "after a kill, wait answers, and not with success", pageKill, func(t *T) {
			id := t.start()
			t.kill(id)
			s := t.wait(id)
			t.want(!s.is(0), "a signal, or an exit code that is not 0", "it is exit code 0")
		}, "kill.ends", "wait.pending"),
		protocol("kill.output", "after a kill, output has what was written and the exitStatus", pageKill, func(t *T) {
			id := t.start(child.Out("before"))
			t.shows(id, "before")
			t.kill(id)
			t.wait(id)
			text, _, exit := t.output(id)
			t.equal(text, "before")
			t.want(exit != nil, "an exitStatus", "there is none")
		}, "kill.ends", "wait.pending", "output.again", "output.exit"),
		protocol("kill.pending", "a kill has pending waits answered", "Terminals, Building a Timeout", func(t *T) {
			id := t.start()
			wait := t.send("terminal/wait_for_exit", t.of(id))
			t.kill(id)
			t.result(wait, nil)
		}, "kill.ends", "wait.concurrent"),
		protocol("kill.deaf", "kill ends a command that ignores SIGTERM",
			pageKill+": terminates a command", func(t *T) {
				t.kill(t.start(child.Step("deaf")))
				t.ends("command", "the command")
			}, "kill.ends"),
		beyond("kill.ended", "a kill of a command that has ended is no error, and changes nothing",
			"a command may end while the kill is on its way", func(t *T) {
				id := t.create(t.command(child.Step("exit", 7)))
				t.wait(id)
				t.kill(id)
				s := t.wait(id)
				t.want(s.is(7), "exit code 7", "it is another one")
			}, "kill.ends", "wait.again"),
		beyond("kill.twice", "a second kill is no error",
			"a timeout and a person's cancel may come together", func(t *T) {
				id := t.start()
				first, second := t.send("terminal/kill", t.of(id)), t.send("terminal/kill", t.of(id))
				t.result(first, nil)
				t.result(second, nil)
				t.ends("command", "the command")
			}, "kill.ended"),
		{
			ID: "kill.gentle", Title: "the command may clean up before it is ended", Level: Beyond, signals: true,
			Source: "programs remove their temporary files at SIGTERM", needs: []string{"kill.ends"},
			run: func(t *T) {
				t.kill(t.start(child.Step("tidy", t.path("tidied"))))
				t.until(func() bool { return t.made("tidied") || !child.Held(t.path("command")) }, "the command to end",
					"it did not end")
				t.want(t.made("tidied"), "a SIGTERM first", "the command was ended without")
			},
		},
		beyond("kill.tree", "kill ends what the command has started",
			"else a killed build goes on compiling, and a server keeps its port",
			func(t *T) { t.kill(t.tree()); t.endsTree() }, "kill.deaf"),
		beyond("kill.background", "kill ends what a command left that has ended itself",
			"the agent has no other way to end it", func(t *T) {
				id := t.background()
				t.wait(id)
				t.kill(id)
				t.ends("child", "the process that the command left")
			}, "kill.tree", "kill.ended", "wait.background"),
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

package checks

// terminal/wait_for_exit: the time and the contents of its answer.

import (
	"regexp"

	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/child"
)

const (
	pageWait = "Terminals, Waiting for Exit"
	typeWait = "schema, WaitForTerminalExitResponse"
)

func wait() []Check {
	code := func(n int) func(*T) {
		return func(t *T) {
			s := t.wait(t.create(t.command(child.Step("exit", n))))
			t.want(s.ExitCode != nil && int(*s.ExitCode) == n, "the command's exitCode", "it is another one, or absent")
			t.want(s.Signal == nil, "no signal", "there is one")
		}
	}
	return []Check{
		protocol("wait.exit", "a command that succeeds has exitCode 0 and no signal", pageWait, code(0)),
		protocol("wait.code", "a command that fails has its exitCode and no signal",
			pageWait, code(77), "wait.pending"),
		{
			ID: "wait.signal", Title: "a command that a signal ended has the signal and no exitCode", Level: Protocol,
			Source: typeWait + ": the signal that terminated the process", signals: true, needs: []string{"wait.pending"},
			run: func(t *T) {
				s := t.bySignal()
				t.want(s.Signal != nil && *s.Signal != "", "a signal", "there is none")
				t.want(s.ExitCode == nil, "exitCode null", "it is %v", deref(s.ExitCode))
			},
		}, {
			ID: "wait.signal.name", Title: "the signal has its name, such as SIGTERM", Level: Beyond,
			Source: "numbers differ from system to system", signals: true, needs: []string{"wait.signal"},
			run: func(t *T) {
				s := t.bySignal()
				if s.Signal == nil {
					t.end(NotApplicable, "the client reports no signal", "")
				}
				named := regexp.MustCompile("^(SIG)?TERM$").MatchString(*s.Signal)
				t.want(named, "SIGTERM", "it is %q", *s.Signal)
			},
		},
		protocol("wait.pending", "wait answers when the command has ended, and not before", pageWait, func(t *T) {
			id := t.start()
			wait := t.send("terminal/wait_for_exit", t.of(id))
			t.throughout(func() bool { return !wait.answered() }, "no answer while the command runs", "there is one")
			t.still("command", "the command")
			t.let("stop")
			var s status
			t.result(wait, &s)
			t.want(s.is(0), "exitCode 0", "it is another one")
		}, "wait.exit", "create.immediate"),
		protocol("wait.concurrent", "while a wait is pending, other requests are answered",
			"Terminals, Building a Timeout", func(t *T) {
				id := t.start()
				wait := t.send("terminal/wait_for_exit", t.of(id))
				t.wait(t.create(t.command()))
				t.output(id)
				t.want(!wait.answered(), "no answer while the command runs", "there is one")
			}, "create.id.unique", "wait.pending", "output.shape"),
		protocol("wait.again", "a second wait has the same answer",
			"Terminals, Killing Commands: wait_for_exit after the end", func(t *T) {
				id := t.create(t.command(child.Step("exit", 5)))
				first, second := t.wait(id), t.wait(id)
				t.want(first.is(5) && second.is(5), "exit code 5, twice", "it is another one")
			}, "wait.code"),
		beyond("wait.many", "several waits of a terminal are all answered",
			"an agent may wait for a command in two places", func(t *T) {
				id := t.start()
				waits := []*pending{}
				for range 3 {
					waits = append(waits, t.send("terminal/wait_for_exit", t.of(id)))
				}
				t.let("stop")
				for _, wait := range waits {
					t.result(wait, nil)
				}
			}, "wait.pending"),
		beyond("wait.background", "wait answers when the command has ended, though a process it left holds its output",
			"else a command that starts a server in the background never ends", func(t *T) {
				id := t.background()
				t.wait(id)
				t.still("child", "the process that the command left")
			}, "wait.pending"),
	}
}

func (t *T) bySignal() status { return t.wait(t.create(t.command(child.Step("signal")))) }

// background creates a terminal with a command that leaves a process behind and ends.
func (t *T) background() (id string) {
	id = t.create(t.command(append(child.Spawn(t.lock("child"), t.stay()), t.await("go"))...))
	t.runs("child")
	t.let("go")
	return id
}

func deref(n *uint32) any {
	if n == nil {
		return nil
	}
	return *n
}

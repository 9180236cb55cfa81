package checks

// terminal/create: the directory and the environment of the command.

import (
	"os"
	"path/filepath"

	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/child"
	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/rpc"
)

func directories() []Check {
	return []Check{
		{
			ID: "create.cwd", Title: "the command runs in cwd", Level: Protocol, Source: typeCreate + ".cwd",
			needs: "wait.pending output.shape",
			run: func(t *T) {
				dir, err := os.MkdirTemp(t.Cwd, ".acp-terminal-check") // a client may forbid directories outside
				t.trouble(err)
				defer os.RemoveAll(dir)
				t.runsIn(with(t.command(child.Step("dir")), "cwd", dir), dir)
			},
		}, {
			ID: "create.cwd.relative", Title: "a relative cwd is an error", Level: Protocol,
			Source: pageExecuting + ": cwd must be an absolute path",
			run:    func(t *T) { t.noTerminal(with(t.command(), "cwd", "."), "cwd is relative") },
		}, {
			ID: "create.cwd.absent", Title: "without cwd the command runs in the session's directory", Level: Protocol,
			Source: "Session Setup, Working Directory", needs: "wait.pending output.shape",
			run: func(t *T) { t.runsIn(t.command(child.Step("dir")), t.Cwd) },
		}, {
			ID: "create.cwd.missing", Title: "a cwd that is not there is an error, or an exit", Level: Beyond,
			Source: "a command in another directory than was asked for may do harm", needs: "wait.pending",
			run: func(t *T) {
				p := with(t.command(child.Step("touch", t.path("ran"))), "cwd", filepath.Join(t.Cwd, ".acp-terminal-check-missing"))
				if a := t.answer(t.send("terminal/create", p)); a.Error == nil {
					var created struct{ TerminalID string }
					t.result(t.sent[0], &created)
					t.terminals = append(t.terminals, created.TerminalID)
					t.wait(created.TerminalID)
				}
				t.want(!t.made("ran"), "no command to run", "the command ran, in another directory")
			},
		},
	}
}

func (t *T) runsIn(params rpc.Object, want string) {
	var dir string
	t.printsJSON(params, &dir)
	t.want(realPath(dir) == realPath(want), "the directory "+want, "the command runs in %s", dir)
}

func realPath(dir string) string {
	if path, err := filepath.EvalSymlinks(dir); err == nil {
		return path
	}
	return dir
}

const variable = "ACP_TERMINAL_CHECK"

func environment() []Check {
	env := func(t *T, name string, variables ...any) (value *string) {
		t.printsJSON(with(t.command(child.Step("env", name)), "env", variables), &value)
		return value
	}
	set := func(name, value string) any { return rpc.Object{"name": name, "value": value} }
	has := func(value string, variables ...any) func(*T) {
		return func(t *T) {
			got := env(t, variable, variables...)
			t.want(got != nil, "the variable to be set", "it is not set")
			t.want(*got == value, "its value "+quoted(value), "it is %s", quoted(*got))
		}
	}
	return []Check{
		{
			ID: "create.env", Title: "the command has the variables of env", Level: Protocol, Source: typeCreate + ".env",
			needs: "wait.pending output.shape",
			run:   has("value", set(variable, "value")),
		}, {
			ID: "create.env.text", Title: "a variable's value is as it was sent", Level: Protocol,
			Source: "schema, EnvVariable", needs: "create.env",
			run: has(`a=b "c" $PATH é`, set(variable, `a=b "c" $PATH é`)),
		}, {
			ID: "create.env.last", Title: "the last of two variables of a name counts", Level: Beyond,
			Source: "so it is for every program that starts others", needs: "create.env",
			run: has("second", set(variable, "first"), set(variable, "second")),
		}, {
			ID: "create.env.kept", Title: "the client's PATH stays besides the variables of env", Level: Beyond,
			Source: "a command without PATH finds no programs", needs: "create.env",
			run: func(t *T) {
				got := env(t, "PATH", set(variable, "x"))
				t.want(got != nil && *got != "", "PATH to be set", "it is not set")
			},
		},
	}
}

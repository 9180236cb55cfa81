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
		protocol("create.cwd", "the command runs in cwd", typeCreate+".cwd", func(t *T) {
			dir, err := os.MkdirTemp(t.Cwd, ".acp-terminal-check") // a client may forbid directories outside
			t.trouble(err)
			defer os.RemoveAll(dir)
			t.runsIn(with(t.command(child.Step("dir")), "cwd", dir), dir)
		}, "wait.pending", "output.shape"),
		protocol("create.cwd.relative", "a relative cwd is an error",
			pageExecuting+": cwd must be an absolute path",
			func(t *T) { t.noTerminal(with(t.command(), "cwd", "."), "cwd is relative") }),
		protocol("create.cwd.absent", "without cwd the command runs in the session's directory",
			"Session Setup, Working Directory",
			func(t *T) { t.runsIn(t.command(child.Step("dir")), t.Cwd) }, "wait.pending", "output.shape"),
		beyond("create.cwd.missing", "a cwd that is not there is an error, or an exit",
			"a command in another directory than was asked for may do harm", func(t *T) {
				missing := filepath.Join(t.Cwd, ".acp-terminal-check-missing")
				p, id := t.try(with(t.command(child.Step("touch", t.path("ran"))), "cwd", missing))
				if p.came.Error == nil {
					t.wait(id)
				}
				t.want(!t.made("ran"), "no command to run", "the command ran, in another directory")
			}, "wait.pending"),
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
		protocol("create.env", "the command has the variables of env",
			typeCreate+".env", has("value", set(variable, "value")), "wait.pending", "output.shape"),
		protocol("create.env.text", "a variable's value is as it was sent",
			"schema, EnvVariable", has(`a=b "c" $PATH é`, set(variable, `a=b "c" $PATH é`)), "create.env"),
		beyond("create.env.last", "the last of two variables of a name counts",
			"so it is for every program that starts others",
			has("second", set(variable, "first"), set(variable, "second")), "create.env"),
		beyond("create.env.kept", "the client's PATH stays besides the variables of env",
			"a command without PATH finds no programs", func(t *T) {
				got := env(t, "PATH", set(variable, "x"))
				t.want(got != nil && *got != "", "PATH to be set", "it is not set")
			}, "create.env"),
	}
}

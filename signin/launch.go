package signin

// From an agent's exec.Cmd and a method to the request, the environment and the directory of the program.

import (
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/lookup"
)

// launch is a program to run.
type launch struct {
	request acpterm.CreateTerminalRequest // without a session
	dir     string
	env     []string // the agent's; the method's is in the request
}

// newLaunch makes the launch of a method. The program is the agent's, unless the method names one and that is allowed.
func newLaunch(agent *exec.Cmd, method Method, allowLegacy bool) (*launch, error) {
	switch {
	case agent == nil || agent.Path == "" && agent.Err == nil:
		return nil, invalidField("agent", "names no program")
	case agent.Process != nil:
		return nil, invalidField("agent", "was started before: give an exec.Cmd as it was before StartAgent")
	case len(method.LegacyCommand) > 0 && !allowLegacy:
		return nil, &acpterm.Error{Kind: acpterm.ErrDenied, Field: "method", Reason: "the agent names a program of " +
			"its own for it (_meta.terminal-auth), which Options.AllowLegacyCommand does not allow"}
	}
	dir, err := filepath.Abs(agent.Dir)
	if err != nil {
		return nil, &acpterm.Error{Kind: acpterm.ErrInternal, Reason: "the host has no working directory", Err: err}
	}
	l := &launch{dir: dir, env: lookup.Once(lookup.Key, agent.Environ())}
	program, args := agent.Path, slices.Clone(agent.Args[min(1, len(agent.Args)):])
	if len(method.LegacyCommand) > 0 {
		program, args = method.LegacyCommand[0], slices.Clone(method.LegacyCommand[1:])
		program, err = lookup.Program(program, dir, l.env)
	} else {
		args = append(args, method.Args...)
		if err = agent.Err; err == nil && !filepath.IsAbs(program) {
			program = filepath.Join(dir, program)
		}
	}
	if err != nil {
		return nil, programError(program, err)
	}
	l.request = acpterm.CreateTerminalRequest{Command: program, Args: args, Cwd: dir, Env: slices.Clone(method.Env)}
	return l, nil
}

// programError is the error for a program that was looked up.
func programError(program string, err error) error {
	e := &acpterm.Error{Kind: acpterm.ErrNotExecutable, Command: program, Err: err}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		e.Kind = acpterm.ErrCommandNotFound
	}
	return e
}

package signin

// From an agent's exec.Cmd and a method to the program's request, environment and directory.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/policy"
)

// launch is a program to run.
type launch struct {
	request acpterm.CreateTerminalRequest // without a session
	dir     string
	env     []string // the agent's; the method's is in the request
}

// newLaunch returns the launch of a method. The program is the agent's, unless the method names an allowed one.
func newLaunch(agent *exec.Cmd, method Method, o *Options) (*launch, error) {
	refused := method.RefusedVariables(o)
	switch {
	case agent == nil || agent.Path == "" && agent.Err == nil:
		return nil, invalidField("agent", "names no program")
	case agent.Process != nil:
		return nil, invalidField("agent", "was started before: give an exec.Cmd as it was before agentproc.Start")
	case len(method.LegacyCommand) > 0 && !o.AllowLegacyCommand:
		return nil, &acpterm.Error{Kind: acpterm.ErrDenied, Field: "method", Reason: "the agent names a program of " +
			"its own for it (_meta.terminal-auth), which Options.AllowLegacyCommand does not allow"}
	case len(refused) > 0:
		return nil, &acpterm.Error{Kind: acpterm.ErrDenied, Field: "method", Reason: "the agent sets variables that " +
			"Options.AllowVariables does not allow, or not with these values: " + quoteAll(refused)}
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

// RefusedVariables returns the names of those variables of the method whose values are not permitted by
// policy.SafeVariables or by options.AllowVariables. If there are any such variables, a call to Run with this method
// will fail. The options argument may be nil.
func (m Method) RefusedVariables(options *Options) (names []string) {
	allowed := policy.AllowVariables(append(policy.SafeVariables(), cmp.Or(options, &Options{}).AllowVariables...)...)
	for _, v := range m.Env {
		var p acpterm.Proposal
		p.Requested.Env = []acpterm.EnvVariable{v}
		if allowed.Decide(context.Background(), p).Verdict != acpterm.VerdictAllow {
			names = append(names, v.Name)
		}
	}
	return names
}

// quoteAll lists names that an agent chose, limited in number and length for an error.
func quoteAll(names []string) string {
	const most = 20
	var quoted []string
	for _, name := range names[:min(len(names), most)] {
		quoted = append(quoted, fmt.Sprintf("%.80q", name))
	}
	if more := len(names) - most; more > 0 {
		quoted = append(quoted, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(quoted, ", ")
}

// programError returns the error for a failed lookup of a program.
func programError(program string, err error) error {
	e := &acpterm.Error{Kind: acpterm.ErrNotExecutable, Command: program, Err: err}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		e.Kind = acpterm.ErrCommandNotFound
	}
	return e
}

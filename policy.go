package acpterm

// What may run: a Policy sees each command as it will run, before it does, and allows it, refuses it, has somebody
// asked, or changes it. Nothing here knows how a command is started, or what JSON-RPC is.

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/acpterm/acpterm/internal/lookup"
)

// Policy decides what may run. It must be safe for concurrent use: commands that are created side by side are decided
// side by side. It may take its time, bounded by ctx; only the create waits.
type Policy interface {
	Decide(ctx context.Context, p Proposal) Decision
}

// PolicyFunc is a function as a Policy.
type PolicyFunc func(ctx context.Context, p Proposal) Decision

// Decide calls the function.
func (f PolicyFunc) Decide(ctx context.Context, p Proposal) Decision { return f(ctx, p) }

// Proposal is a command as it will run if it is allowed. What a policy is shown is what runs: the program and the
// directory are those files and no others, whatever becomes of the names that led to them. (Where Options.Runner runs
// commands, the files are its own, and so is that promise.)
type Proposal struct {
	SessionID SessionID
	// Command is what will run. Path and Dir have no symbolic links in them. A policy must not change what Args and Env
	// point to.
	Command Command
	// Name is the last part of the path that the program was found at, before links were followed: what programs with
	// several uses go by.
	Name string
	// ArgsUnknown says that the arguments will be others than Command.Args has: those of a program in a shell line, for
	// instance, whose words the shell makes something of. A policy must then expect any.
	ArgsUnknown bool
	// DirUnknown says that the command may run in another directory than Command.Dir: a program in a shell line after cd,
	// for instance. A policy must then expect any.
	DirUnknown bool
	// ValuesUnknown are the names of those variables in Requested.Env whose values will be others than it has: those that a
	// shell line sets to something of its own making. A policy must then expect any.
	ValuesUnknown []string
	// Roots are the session's, without symbolic links; nil if it has none.
	Roots []string
	// Requested is what the agent asked for. Its Env are the variables that the agent sets; the rest of Command.Env is
	// the embedder's.
	Requested CreateTerminalRequest

	look lookups  // where it will run
	env  []string // Options.Env, or the session's
}

// DirWithin reports whether the command runs in one of some directories or below. They are absolute, without symbolic
// links, as Roots are. It is false where DirUnknown is true.
func (p Proposal) DirWithin(dirs ...string) bool {
	return !p.DirUnknown && slices.ContainsFunc(dirs, func(dir string) bool { return lookup.Within(p.Command.Dir, dir) })
}

// Remote reports whether Options.Runner runs the command. Its paths are then not of this system.
func (p Proposal) Remote() bool { return p.look.runner != nil }

// LookPath returns the file of a program, without symbolic links, as the command would find it if the agent set no
// variables: a name is looked up with the PATH that commands inherit. It fails with ErrCommandNotFound or
// ErrNotExecutable if there is no such program. ctx is for a Runner's Look.
func (p Proposal) LookPath(ctx context.Context, program string) (path string, err error) {
	env := p.env
	if env == nil && !p.Remote() {
		env = lookup.HostEnviron()
	}
	path, _, err = p.look.file(ctx, Command{Args: []string{program}, Dir: p.Command.Dir, Env: env})
	return path, err
}

// Verdict is what a policy says of a command. The zero value denies, and so does a value that is none of the constants.
type Verdict int

// The verdicts, the strictest first.
const (
	// Deny refuses the command.
	Deny Verdict = iota
	// Ask has Options.Approve asked. Without that it denies.
	Ask
	// Allow lets it run, as far as this policy is concerned.
	Allow
)

var verdictNames = [...]string{"deny", "ask", "allow"}

// String is "deny", "ask" or "allow", or of an unknown verdict "Verdict(9)".
func (v Verdict) String() string { return nameOf("Verdict", verdictNames[:], int(v)) }

// nameOf is the name of a value of a type, or of one that has no name the type and the number.
func nameOf(typ string, names []string, value int) string {
	if value < 0 || value >= len(names) {
		return fmt.Sprintf("%s(%d)", typ, value)
	}
	return names[value]
}

// MarshalText writes what String returns. That of an unknown verdict cannot be read back.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads a verdict's name.
func (v *Verdict) UnmarshalText(text []byte) error {
	i := slices.Index(verdictNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("acpterm: %q is no verdict: want one of %s", text, strings.Join(verdictNames[:], ", "))
	}
	*v = Verdict(i)
	return nil
}

// Decision is a policy's answer. The zero value denies, for no reason.
type Decision struct {
	Verdict Verdict
	// Rule says which rule of the policy decided, for records and for whoever is asked.
	Rule string
	// Reason is what the agent is told of a denial, and whoever is asked of the question.
	Reason string
	// Change, if it is not nil, is what shall run instead. It is proposed anew, to all policies.
	Change *Command
}

// Policies is a Policy made of several. All are asked, in their order, and the strictest verdict wins, the first of
// equals. The first change wins. No policies allow everything. An unknown verdict becomes Deny, for a reason that names
// it.
type Policies []Policy

// Decide asks all.
func (all Policies) Decide(ctx context.Context, p Proposal) Decision {
	strictest := Decision{Verdict: Allow}
	for i, policy := range all {
		d := policy.Decide(ctx, p)
		if d.Verdict < Deny || d.Verdict > Allow {
			d = Decision{Rule: d.Rule, Reason: "the policy's verdict is unknown: " + d.Verdict.String()}
		}
		if strictest.Change == nil {
			strictest.Change = d.Change
		}
		if i == 0 || d.Verdict < strictest.Verdict {
			d.Change = strictest.Change
			strictest = d
		}
	}
	return strictest
}

// confinement is the policy of a session's roots. They are resolved.
func confinement(roots []string) Policy {
	return PolicyFunc(func(_ context.Context, p Proposal) Decision {
		if p.DirWithin(roots...) {
			return Decision{Verdict: Allow, Rule: "roots"}
		}
		return Decision{Verdict: Deny, Rule: "roots", Reason: "cwd is outside of the directories that commands may run in"}
	})
}

// Propose is the program that a policy such as policy/shell's has found in a command, as a Proposal of its own, for the
// same rules: p with the name of the program as the command would look it up, its arguments, and the variables that are
// set for it. It fails with ErrCommandNotFound or ErrNotExecutable if there is no such program. ctx is for a Runner's Look.
func (p Proposal) Propose(ctx context.Context, name string, args []string, set []EnvVariable) (Proposal, error) {
	inner := p
	inner.Requested.Env = slices.Concat(p.Requested.Env, set)
	inner.Command.Env = mergeEnv(lookup.Once(p.Command.Env), p.Command.Dir, set)
	inner.Command.Args = slices.Concat([]string{name}, args)
	inner.Command.ShellLine = ""
	looked := inner.Command
	looked.Env = p.Command.Env
	var err error
	if inner.Command.Path, inner.Name, err = p.look.file(ctx, looked); err != nil {
		return Proposal{}, err
	}
	return inner, nil
}

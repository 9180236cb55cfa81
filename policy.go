package acpterm

// What may run: what a Policy is shown before a command starts, and what it can say. Package policy has policies that
// are ready to use; authorize.go asks them.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/acpterm/acpterm/internal/lookup"
)

// Policy decides what may run. It must be safe for concurrent use. Only the create waits for it, until ctx ends.
type Policy interface {
	Decide(ctx context.Context, p Proposal) Decision
}

// PolicyFunc makes a Policy of a function.
type PolicyFunc func(ctx context.Context, p Proposal) Decision

// Decide calls the function.
func (f PolicyFunc) Decide(ctx context.Context, p Proposal) Decision { return f(ctx, p) }

// Proposal is a command as it will run if it is allowed: this program and this directory, even if other files get their
// names before the start. Where Options.Runner runs commands, keeping that promise is up to the Runner.
type Proposal struct {
	SessionID SessionID
	// Command is what will run. Path and Dir have no symbolic links. A policy must not write to Args and Env.
	Command Command
	// Name is the last part of the path that the program was found at, before links were followed. Programs such as
	// busybox choose what they do by it.
	Name string
	// ArgsUnknown says that the arguments can be any, whatever Command.Args has: in a shell line, for instance, those
	// that the shell expands.
	ArgsUnknown bool
	// DirUnknown says that the directory can be any, whatever Command.Dir is: in a shell line, for instance, after cd.
	DirUnknown bool
	// ValuesUnknown are the names of variables in Requested.Env whose values can be any: in a shell line, for instance,
	// those that the shell expands.
	ValuesUnknown []string
	// Roots are SessionOptions.Roots without symbolic links; nil if there are none.
	Roots []string
	// Requested is the agent's request. Its Env are the variables that the agent sets; the rest of Command.Env is the
	// embedder's.
	Requested CreateTerminalRequest
	// PTY says that the command runs on a PTY, and how, as a copy; nil: on none.
	PTY *PTYOptions
	// SessionDone is closed by CloseSession. It is nil if the session was not opened. It tells a session from a later
	// one of the same id.
	SessionDone <-chan struct{}

	look lookups
	env  []string // that commands inherit; nil: this process's
}

// DirWithin reports whether the command certainly runs in one of these directories or below: not if DirUnknown. The
// directories are absolute and have no symbolic links, as in Roots.
func (p Proposal) DirWithin(dirs ...string) bool {
	within := func(dir string) bool { return p.look.within(p.Command.Dir, dir) }
	return !p.DirUnknown && slices.ContainsFunc(dirs, within)
}

// Remote reports whether Options.Runner runs the command. Then paths are names of the Runner's files, not of this
// system's.
func (p Proposal) Remote() bool { return p.look.runner != nil }

// LookPath returns the file of a program, without symbolic links, as the command would find it without the agent's
// variables: a name is looked up in the PATH that commands inherit. It fails with ErrCommandNotFound or
// ErrNotExecutable. A Runner looks programs up until ctx ends.
func (p Proposal) LookPath(ctx context.Context, program string) (path string, err error) {
	env := p.env
	if env == nil && !p.Remote() {
		env = lookup.HostEnviron()
	}
	found, err := p.look.file(ctx, Command{Args: []string{program}, Dir: p.Command.Dir, Env: env})
	return found.Path, err
}

// RealDir returns a directory, an absolute path, without symbolic links, where the command runs. It fails with
// ErrInvalidParams and the field "dir", or as the Runner does.
func (p Proposal) RealDir(ctx context.Context, dir string) (string, error) {
	resolved, err := p.look.realDir(ctx, dir)
	if e, ok := errors.AsType[*Error](err); err != nil && !ok {
		return "", invalidField("dir", err.Error())
	} else if ok {
		return "", e
	}
	return resolved, nil
}

// Verdict is what a policy says of a command. The zero value and unknown values deny.
type Verdict int

// The verdicts, the strictest first.
const (
	// VerdictDeny refuses the command.
	VerdictDeny Verdict = iota
	// VerdictAsk leaves the decision to Options.Approve. Without that it denies.
	VerdictAsk
	// VerdictAllow lets the command run, unless another policy is stricter.
	VerdictAllow
)

var verdictNames = [...]string{"deny", "ask", "allow"}

// String is "deny", "ask" or "allow", or of an unknown verdict "Verdict(9)".
func (v Verdict) String() string { return nameOf("Verdict", verdictNames[:], int(v)) }

// nameOf is the name of a value, or the type and the number of an unknown one.
func nameOf(typ string, names []string, value int) string {
	if value < 0 || value >= len(names) {
		return fmt.Sprintf("%s(%d)", typ, value)
	}
	return names[value]
}

// MarshalText returns the verdict's String. UnmarshalText refuses that of an unknown verdict.
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

// Decision is a policy's answer. The zero value denies, without a reason.
type Decision struct {
	Verdict Verdict
	// Rule names the rule that decided, in events and questions.
	Rule string
	// Reason is for the agent, in the error of a denial, and for the person who is asked.
	Reason string
	// Change, unless it is nil or the verdict is VerdictDeny, is the command to run instead. All policies decide about
	// it anew.
	Change *Command
	// Answer, with VerdictAsk, is an earlier answer to the same question. If it is set, Options.Approve is not called.
	Answer *Answer
}

// Policies is a Policy made of several. All of them decide, in order, and the strictest decision holds, the first of
// equals, with the first change. An empty list allows everything. An unknown verdict becomes VerdictDeny.
type Policies []Policy

// Decide returns the strictest decision.
func (all Policies) Decide(ctx context.Context, p Proposal) Decision {
	strictest := Decision{Verdict: VerdictAllow}
	for i, policy := range all {
		d := policy.Decide(ctx, p)
		if d.Verdict < VerdictDeny || d.Verdict > VerdictAllow {
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

// confinement is the policy of a session's roots, which have no symbolic links.
func confinement(roots []string) Policy {
	return PolicyFunc(func(_ context.Context, p Proposal) Decision {
		if p.DirWithin(roots...) {
			return Decision{Verdict: VerdictAllow, Rule: "roots"}
		}
		reason := "cwd is outside of the directories that commands may run in"
		return Decision{Verdict: VerdictDeny, Rule: "roots", Reason: reason}
	})
}

// Propose returns a program that p's command runs as a Proposal of its own: the program looked up as the command would,
// with these arguments, and with these variables set beside the agent's. Policies that find programs in a command, such
// as policy/shell's, put them before other policies so. It fails with ErrCommandNotFound or ErrNotExecutable. A Runner
// looks programs up until ctx ends.
func (p Proposal) Propose(ctx context.Context, name string, args []string, set []EnvVariable) (Proposal, error) {
	inner := p
	inner.Requested.Env = slices.Concat(p.Requested.Env, set)
	inner.Command.Env = p.look.mergeEnv(lookup.Once(p.look.names(), p.Command.Env), p.Command.Dir, nil, set)
	inner.Command.Args = slices.Concat([]string{name}, args)
	inner.Command.ShellLine = ""
	looked := inner.Command
	looked.Env = p.Command.Env
	found, err := p.look.file(ctx, looked)
	if err != nil {
		return Proposal{}, err
	}
	inner.Command.Path, inner.Name = found.Path, found.name
	return inner, nil
}

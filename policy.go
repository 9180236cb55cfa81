package acpterm

// Policies: the proposal that a Policy gets before a command starts, its decision, and the question to the user.
// Package policy has ready-made policies and remembers answers; authorize.go asks them.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/acpterm/acpterm/internal/lookup"
)

// A Policy decides which commands may run. It must be safe for concurrent use. Only the create waits for it, until ctx
// is done.
type Policy interface {
	Decide(ctx context.Context, p Proposal) Decision
}

// PolicyFunc is a function used as a Policy.
type PolicyFunc func(ctx context.Context, p Proposal) Decision

// Decide calls the function.
func (f PolicyFunc) Decide(ctx context.Context, p Proposal) Decision { return f(ctx, p) }

// Proposal is a command as it will run if it is allowed: this program in this directory, even if other files get their
// names before the start. With Options.Runner, the Runner must keep that promise.
type Proposal struct {
	SessionID SessionID
	// Command is the resolved command. Path and Dir have no symbolic links. A policy must not write to Args and Env.
	Command Command
	// Name is the last element of the program's path before symbolic links were resolved. Programs such as busybox
	// choose their function by it.
	Name string
	// ArgsUnknown indicates that the arguments may differ from Command.Args, for example because the shell expands them
	// in a shell line.
	ArgsUnknown bool
	// DirUnknown indicates that the directory may differ from Command.Dir, for example after cd in a shell line.
	DirUnknown bool
	// ValuesUnknown lists the names of variables whose values may differ from those in Requested.Env, for example
	// because the shell expands them in a shell line.
	ValuesUnknown []string
	// Roots lists SessionOptions.Roots with symbolic links resolved, or nil.
	Roots []string
	// Requested is the agent's request. Its Env are the variables that the agent sets; the rest of Command.Env is the
	// embedder's.
	Requested CreateTerminalRequest
	// PTY is a copy of the options of the PTY. It is nil if the command has no PTY.
	PTY *PTYOptions
	// SessionDone is closed by CloseSession; it distinguishes a session from a later one with the same id. It is nil if
	// the session was not opened.
	SessionDone <-chan struct{}

	machine machine  // nil: the local one
	env     []string // that commands inherit
}

// where is the machine of the command.
func (p Proposal) where() machine {
	if p.machine == nil {
		return localMachine{}
	}
	return p.machine
}

// DirWithin reports whether the command certainly runs in or below one of the directories, which are absolute and have
// no symbolic links, as Roots. It returns false if DirUnknown is set.
func (p Proposal) DirWithin(dirs ...string) bool {
	within := func(dir string) bool { return p.where().within(p.Command.Dir, dir) }
	return !p.DirUnknown && slices.ContainsFunc(dirs, within)
}

// Remote reports whether Options.Runner runs the command, so that paths name the Runner's files and not local ones.
func (p Proposal) Remote() bool { return p.where().remote() }

// LookPath returns the file of a program, without symbolic links. It looks a name up in the PATH that commands inherit,
// without the agent's variables. It returns ErrCommandNotFound or ErrNotExecutable. With a Runner it waits until ctx
// ends.
func (p Proposal) LookPath(ctx context.Context, program string) (path string, err error) {
	env := p.env
	if p.machine == nil {
		env = lookup.HostEnviron()
	}
	found, err := p.where().file(ctx, Command{Args: []string{program}, Dir: p.Command.Dir, Env: env})
	return found.Path, err
}

// RealDir returns an absolute directory with symbolic links resolved, on the machine where the command runs. It fails
// with ErrInvalidParams and the field "dir", or with the error of the Runner.
func (p Proposal) RealDir(ctx context.Context, dir string) (string, error) {
	resolved, err := p.where().realDir(ctx, dir)
	if e, ok := errors.AsType[*Error](err); err != nil && !ok {
		return "", invalidField("dir", err.Error())
	} else if ok {
		return "", e
	}
	return resolved, nil
}

// Verdict is the verdict of a policy on a command. The zero value and unknown values deny.
type Verdict int

// The verdicts, the strictest first.
const (
	// VerdictDeny refuses the command.
	VerdictDeny Verdict = iota
	// VerdictAsk leaves the decision to Options.Approve. If that is nil, the command is denied.
	VerdictAsk
	// VerdictAllow allows the command, unless another policy is stricter.
	VerdictAllow
)

var verdictNames = [...]string{"deny", "ask", "allow"}

// String returns "deny", "ask" or "allow", or "Verdict(9)" for an unknown verdict.
func (v Verdict) String() string { return nameOf("Verdict", verdictNames[:], int(v)) }

// nameOf is the name of a value, or the type and the number of an unknown one.
func nameOf(typ string, names []string, value int) string {
	if value < 0 || value >= len(names) {
		return fmt.Sprintf("%s(%d)", typ, value)
	}
	return names[value]
}

// MarshalText returns the String of the verdict. UnmarshalText refuses an unknown verdict.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads the name of a verdict.
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
	// Reason is for the agent, in the error of a denial, and for the user, in a question.
	Reason string
	// Change, if not nil, is the command to run instead, unless the verdict is VerdictDeny. All policies decide about
	// it again.
	Change *Command
	// Answer, with VerdictAsk, is an earlier answer to the same question. If it is not nil, Options.Approve is not
	// called.
	Answer *Answer
}

// Policies joins several policies into one. All decide, in order. The strictest decision counts, the first of equals,
// with the first Change. An empty list allows every command. An unknown verdict becomes VerdictDeny.
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
// as policy/shell's, put them before other policies so. It returns ErrCommandNotFound or ErrNotExecutable. A Runner
// looks programs up until ctx is done.
func (p Proposal) Propose(ctx context.Context, name string, args []string, set []EnvVariable) (Proposal, error) {
	inner := p
	inner.Requested.Env = slices.Concat(p.Requested.Env, set)
	names := p.where().names()
	inner.Command.Env = mergeEnv(names, lookup.Once(names, p.Command.Env), p.Command.Dir, nil, set)
	inner.Command.Args = slices.Concat([]string{name}, args)
	inner.Command.ShellLine = ""
	looked := inner.Command
	looked.Env = p.Command.Env
	found, err := p.where().file(ctx, looked)
	if err != nil {
		return Proposal{}, err
	}
	inner.Command.Path, inner.Name = found.Path, found.name
	return inner, nil
}

// Question asks the user whether a command may run.
type Question struct {
	Proposal
	Rule, Reason string // of the policy's Decision

	// Unverified lists files of the program whose contents cannot be compared right before the start with those at the
	// time of the question, because they are larger than 256 MiB or unreadable. The interpreter of a script is one of
	// its files. Show them to the user: a process that can write to such a file can change the command.
	Unverified []string
}

// Answer is the answer to a Question. The zero value denies the command once.
type Answer struct {
	Approval Approval
	// Reason is sent to the agent with a denial. The default is "it was not approved".
	Reason string
	// By names the user, for the record.
	By string
}

// Approval is the decision in an answer. An unknown value denies the command. A Manager asks each time;
// policy.Approvals remembers answers for a session or for always.
type Approval int

// The approvals.
const (
	// ApprovalRejectOnce denies the command this time.
	ApprovalRejectOnce Approval = iota
	// ApprovalAllowOnce allows the command this time.
	ApprovalAllowOnce
	// ApprovalSession allows the command for the rest of the session.
	ApprovalSession
	// ApprovalAllowAlways allows the command in every session.
	ApprovalAllowAlways
	// ApprovalRejectAlways denies the command in every session.
	ApprovalRejectAlways
)

var approvalNames = [...]string{"reject_once", "allow_once", "allow_session", "allow_always", "reject_always"}

// String returns "reject_once", "allow_once", "allow_session", "allow_always" or "reject_always", or "Approval(9)" for
// an unknown approval. All but "allow_session" are values of the schema type PermissionOptionKind.
func (a Approval) String() string { return nameOf("Approval", approvalNames[:], int(a)) }

// allows reports whether an answer allows the command. An unknown one does not.
func (a Approval) allows() bool {
	return a == ApprovalAllowOnce || a == ApprovalSession || a == ApprovalAllowAlways
}

// refusal is the reason for a denial by this answer.
func (a Answer) refusal() string {
	if a.Approval < ApprovalRejectOnce || a.Approval > ApprovalRejectAlways {
		return "the answer is unknown: " + a.Approval.String()
	}
	return cmp.Or(a.Reason, "it was not approved")
}

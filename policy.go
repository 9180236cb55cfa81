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

// A Policy decides which commands may run. It must be safe for concurrent use. Only the create in question waits for
// Decide, which should return when ctx is done.
type Policy interface {
	Decide(ctx context.Context, p Proposal) Decision
}

// PolicyFunc is an adapter that allows the use of an ordinary function as a Policy.
type PolicyFunc func(ctx context.Context, p Proposal) Decision

// Decide calls f(ctx, p).
func (f PolicyFunc) Decide(ctx context.Context, p Proposal) Decision { return f(ctx, p) }

// A Proposal is a command as it will run if it is allowed: with this program and in this directory, even if their names
// refer to other files by the time it starts. With Options.Runner, keeping that promise is up to the Runner.
type Proposal struct {
	SessionID SessionID
	// Command is the resolved command. Path and Dir have no symbolic links. Policies must not modify Args and Env.
	Command Command
	// Name is the last element of the program's path before symbolic links were resolved. Programs such as busybox use
	// it to select their function.
	Name string
	// ArgsUnknown indicates that the actual arguments may differ from Command.Args, for example because the shell
	// expands them in a shell line.
	ArgsUnknown bool
	// DirUnknown indicates that the actual directory may differ from Command.Dir, for example after cd in a shell line.
	DirUnknown bool
	// ValuesUnknown lists the names of variables whose actual values may differ from those in Requested.Env, for
	// example because the shell expands them in a shell line.
	ValuesUnknown []string
	// Roots is SessionOptions.Roots with symbolic links resolved, or nil.
	Roots []string
	// Requested is the agent's request. Its Env holds the variables set by the agent. The rest of Command.Env comes
	// from the embedder.
	Requested CreateTerminalRequest
	// PTY is a copy of the command's PTYOptions, or nil if it has no PTY.
	PTY *PTYOptions
	// SessionDone is closed by CloseSession, so it can be used to tell a session from a later one with the same id. It
	// is nil if the session was not opened.
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

// DirWithin reports whether the command is certain to run in or below one of the directories, which must be absolute
// paths without symbolic links, as in Roots. It returns false if DirUnknown is set.
func (p Proposal) DirWithin(dirs ...string) bool {
	within := func(dir string) bool { return p.where().within(p.Command.Dir, dir) }
	return !p.DirUnknown && slices.ContainsFunc(dirs, within)
}

// Remote reports whether the command is run by Options.Runner, which means that paths refer to the Runner's files.
func (p Proposal) Remote() bool { return p.where().remote() }

// LookPath returns the path of a program's file, without symbolic links. Names are looked up in the PATH that commands
// inherit, without the agent's variables. It returns ErrCommandNotFound or ErrNotExecutable. With a Runner, it blocks
// until the Runner answers or ctx is done.
func (p Proposal) LookPath(ctx context.Context, program string) (path string, err error) {
	env := p.env
	if p.machine == nil {
		env = lookup.HostEnviron()
	}
	found, err := p.where().file(ctx, Command{Args: []string{program}, Dir: p.Command.Dir, Env: env})
	return found.Path, err
}

// RealDir resolves the symbolic links of an absolute directory on the machine that runs the command. It fails with
// ErrInvalidParams and the field "dir", or with the Runner's error.
func (p Proposal) RealDir(ctx context.Context, dir string) (string, error) {
	resolved, err := p.where().realDir(ctx, dir)
	if e, ok := errors.AsType[*Error](err); err != nil && !ok {
		return "", invalidField("dir", err.Error())
	} else if ok {
		return "", e
	}
	return resolved, nil
}

// A Verdict is a policy's verdict on a command. The zero value and unknown values deny it.
type Verdict int

// The verdicts, from strictest to most lenient.
const (
	// VerdictDeny refuses the command.
	VerdictDeny Verdict = iota
	// VerdictAsk leaves the decision to Options.Approve. If Approve is nil, the command is denied.
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

// MarshalText returns v.String() as text. An unknown verdict is refused by UnmarshalText.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText parses the name of a verdict.
func (v *Verdict) UnmarshalText(text []byte) error {
	i := slices.Index(verdictNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("acpterm: %q is no verdict: want one of %s", text, strings.Join(verdictNames[:], ", "))
	}
	*v = Verdict(i)
	return nil
}

// A Decision is a policy's answer. The zero value denies the command without a reason.
type Decision struct {
	Verdict Verdict
	// Rule is the name of the deciding rule, for events and questions.
	Rule string
	// Reason is shown to the agent in the error of a denial, and to the user in a question.
	Reason string
	// Change, if non-nil, is the command to run instead, unless the verdict is VerdictDeny. All policies then decide
	// about the changed command.
	Change *Command
	// Answer, if non-nil, is an earlier answer to the same question. It is used with VerdictAsk, instead of calling
	// Options.Approve.
	Answer *Answer
}

// Policies combines several policies into one. All decide, in order. The strictest decision counts, or the first of
// equal ones, with the first Change. An empty list allows every command. An unknown verdict becomes VerdictDeny.
type Policies []Policy

// Decide returns the strictest decision of all policies.
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

// Propose returns a Proposal for a program run by p's command. The program is looked up as the command would look it
// up, with these arguments, and with these variables set in addition to the agent's. Policies that find programs inside
// a command, such as those of policy/shell, use it to consult other policies. It returns ErrCommandNotFound or
// ErrNotExecutable. With a Runner, it blocks until the Runner answers or ctx is done.
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

// A Question asks the user whether a command may run.
type Question struct {
	Proposal
	Rule, Reason string // of the policy's Decision

	// Unverified lists files of the program that cannot be checked for changes between the question and the start,
	// because they are larger than 256 MiB or unreadable. A script's interpreter is one of its files. They should be
	// shown to the user, since a process with write access to such a file can change the command.
	Unverified []string
}

// An Answer is the answer to a Question. The zero value denies the command once.
type Answer struct {
	Approval Approval
	// Reason is sent to the agent if the command is denied. The default is "it was not approved".
	Reason string
	// By is the user's name, for the record.
	By string
}

// An Approval is the decision in an Answer. An unknown value denies the command. The Manager asks again each time, but
// policy.Approvals can remember answers for a session or permanently.
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

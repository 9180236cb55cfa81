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

// A Policy decides which commands may run. Decide may be called concurrently. It may take its time, because only the
// call to Create waits for it, but should return when ctx is done.
type Policy interface {
	Decide(ctx context.Context, p Proposal) Decision
}

// PolicyFunc is an adapter to allow the use of ordinary functions as policies.
type PolicyFunc func(ctx context.Context, p Proposal) Decision

// Decide calls f(ctx, p).
func (f PolicyFunc) Decide(ctx context.Context, p Proposal) Decision { return f(ctx, p) }

// A Proposal describes a command to be allowed or denied. If allowed, exactly this program is run in exactly this
// directory, even if their names refer to other files by then. With Options.Runner, that guarantee is up to the Runner.
type Proposal struct {
	SessionID SessionID
	// Command is the resolved command. Path and Dir contain no symbolic links. Policies must not modify Args or Env.
	Command Command
	// Name is the last element of the program's path before symbolic links were resolved. Programs such as busybox
	// behave differently depending on it.
	Name string
	// ArgsUnknown indicates that the actual arguments may differ from Command.Args, for example if the shell
	// expands them in a shell line.
	ArgsUnknown bool
	// DirUnknown indicates that the actual directory may differ from Command.Dir, for example after cd in a shell line.
	DirUnknown bool
	// ValuesUnknown lists the names of variables whose actual values may differ from those in Requested.Env, for
	// example because the shell expands them in a shell line.
	ValuesUnknown []string
	// Roots holds SessionOptions.Roots with symbolic links resolved. It is nil if they are not set.
	Roots []string
	// Requested is the agent's request. Only the variables in its Env are the agent's. The rest of Command.Env comes
	// from the host.
	Requested CreateTerminalRequest
	// PTY is a copy of the command's PTYOptions. It is nil if the command runs without a PTY.
	PTY *PTYOptions
	// SessionDone is closed by CloseSession. It also distinguishes a session from a later one with the same id. It is
	// nil if the session was not opened.
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

// DirWithin reports whether the command is certain to run in one of the directories or below it. Like Roots, they must
// be absolute paths without symbolic links. DirWithin returns false if DirUnknown is set.
func (p Proposal) DirWithin(dirs ...string) bool {
	within := func(dir string) bool { return p.where().within(p.Command.Dir, dir) }
	return !p.DirUnknown && slices.ContainsFunc(dirs, within)
}

// Remote reports whether the command is run by Options.Runner, in which case all paths refer to the Runner's files.
func (p Proposal) Remote() bool { return p.where().remote() }

// LookPath returns the path of the named program, with symbolic links resolved. It searches the PATH inherited by
// commands, ignoring the agent's variables, and fails with ErrCommandNotFound or ErrNotExecutable. With a Runner, it
// blocks until the Runner responds or ctx is done.
func (p Proposal) LookPath(ctx context.Context, program string) (path string, err error) {
	env := p.env
	if p.machine == nil {
		env = lookup.HostEnviron()
	}
	found, err := p.where().file(ctx, Command{Args: []string{program}, Dir: p.Command.Dir, Env: env})
	return found.Path, err
}

// RealDir resolves the symbolic links in the absolute path of a directory on the machine that runs the command. It
// returns ErrInvalidParams with Field "dir", or the Runner's error.
func (p Proposal) RealDir(ctx context.Context, dir string) (string, error) {
	resolved, err := p.where().realDir(ctx, dir)
	if e, ok := errors.AsType[*Error](err); err != nil && !ok {
		return "", invalidField("dir", err.Error())
	} else if ok {
		return "", e
	}
	return resolved, nil
}

// A Verdict is a policy's verdict on a command. The zero value denies it, as do unknown values.
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

// MarshalText returns v.String() as text. Note that UnmarshalText rejects unknown verdicts.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText sets v to the verdict with the given name.
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
	// Rule is the name of the rule that applied, if any. It is included in events and questions.
	Rule string
	// Reason explains the decision. It is sent to the agent in case of a denial, and shown to the user in a question.
	Reason string
	// Change, if non-nil, is the command to run instead, unless the verdict is VerdictDeny. The changed command is then
	// submitted to all policies again.
	Change *Command
	// Answer, if non-nil, is an earlier answer, used with VerdictAsk instead of calling Options.Approve.
	Answer *Answer
}

// Policies combines several policies into one, which returns the strictest of their decisions. All policies are asked,
// in order. If several decisions are equally strict, the first is returned, along with the first Change of any of them.
// An empty list allows every command. An unknown verdict is treated as VerdictDeny.
type Policies []Policy

// Decide asks all policies and returns the strictest decision.
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

// Propose returns a Proposal for a program which the command of p would run with the given arguments, after setting the
// given variables. The program is looked up in the same way as the command would do it. Policies that examine the
// programs run by a command, such as those in policy/shell, use it to consult other policies. Propose returns
// ErrCommandNotFound or ErrNotExecutable. With a Runner, it blocks until the Runner responds or ctx is done.
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

// A Question is passed to Options.Approve to ask whether a command may run.
type Question struct {
	Proposal
	Rule, Reason string // of the policy's Decision

	// Unverified lists unreadable files of the program and those larger than 256 MiB, which cannot be checked for
	// changes made between the question and the start. For a script, this can include its interpreter. The user should
	// be shown these files, since any process with write access to them can change the command.
	Unverified []string
}

// An Answer is returned by Options.Approve. The zero value denies the command once.
type Answer struct {
	Approval Approval
	// Reason explains a denial to the agent. The default is "it was not approved".
	Reason string
	// By identifies the user who answered, for use in events.
	By string
}

// An Approval is the user's decision on a command. Unknown values deny it. The Manager itself does not remember
// answers. Use policy.Approvals to remember them for a session or permanently.
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
// an unknown approval. All but "allow_session" are also values of the schema type PermissionOptionKind.
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

package acpterm

// Policies, their decisions, and the question to the user. authorize.go asks them. Package policy has ready-made ones.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/acpterm/acpterm/internal/lookup"
)

// A Policy decides which commands may run. Decide may be called concurrently. It may block, since nothing waits for it
// except the call to Create, but it should return when ctx is done.
type Policy interface {
	Decide(ctx context.Context, p Proposal) Decision
}

// The PolicyFunc type is an adapter to allow the use of ordinary functions as policies.
type PolicyFunc func(ctx context.Context, p Proposal) Decision

// Decide calls f(ctx, p).
func (f PolicyFunc) Decide(ctx context.Context, p Proposal) Decision { return f(ctx, p) }

// A Proposal describes a command that a Policy is asked to allow or deny. If the command is allowed, exactly this
// program will run in exactly this directory, even if either has since been renamed or replaced. If Options.Runner is
// set, the Runner is responsible for ensuring this.
type Proposal struct {
	SessionID SessionID
	// Command is the resolved command, without symbolic links in Path and Dir. Args and Env must not be modified.
	Command Command
	// Name is the last element of the program's path before symbolic links were resolved. Note that some programs, such
	// as busybox, behave differently depending on this name.
	Name string
	// ArgsUnknown indicates that the command may run with arguments other than Command.Args, for example because it is
	// a shell line and the shell will expand its arguments.
	ArgsUnknown bool
	// DirUnknown indicates that the directory may differ from Command.Dir, for example because of a cd in a shell line.
	DirUnknown bool
	// ValuesUnknown lists variables whose values may differ from Requested.Env, typically because a shell expands them.
	ValuesUnknown []string
	// Roots is SessionOptions.Roots and those of AddRoot, with symbolic links resolved, or nil if Roots is not set.
	Roots []string
	// Requested is the request received from the agent. Note that the agent only set the variables in Requested.Env.
	// All other variables in Command.Env come from the host.
	Requested CreateTerminalRequest
	// PTY is a copy of the PTYOptions for the command, or nil if the command will not run on a PTY.
	PTY *PTYOptions
	// Stdin indicates that CommandOptions.Stdin is set. Note that the input of an interpreter may be a program.
	Stdin bool
	// SessionDone is closed by CloseSession. It can be used to distinguish the session from a later session with the
	// same id. If the session was never opened, SessionDone is nil.
	SessionDone <-chan struct{}

	machine machine  // nil: the local one
	env     []string // that commands inherit
}

func (p Proposal) where() machine {
	if p.machine == nil {
		return localMachine{}
	}
	return p.machine
}

// DirWithin reports whether the command is guaranteed to run in or below one of dirs, each of which must be an absolute
// path without symbolic links. If DirUnknown is set, DirWithin always returns false.
func (p Proposal) DirWithin(dirs ...string) bool {
	within := func(dir string) bool { return p.where().within(p.Command.Dir, dir) }
	return !p.DirUnknown && slices.ContainsFunc(dirs, within)
}

// Remote reports whether Options.Runner will run the command. If so, all paths refer to files on the Runner's machine.
func (p Proposal) Remote() bool { return p.where().remote() }

// LookPath searches for the named program in the PATH that commands inherit, ignoring variables set by the agent, and
// returns its path with symbolic links resolved. If the program cannot be found, it returns ErrCommandNotFound or
// ErrNotExecutable. If there is a Runner, LookPath blocks until the Runner responds or ctx is done.
func (p Proposal) LookPath(ctx context.Context, program string) (path string, err error) {
	env := p.env
	if p.machine == nil {
		env = lookup.HostEnviron()
	}
	found, err := p.where().file(ctx, Command{Args: []string{program}, Dir: p.Command.Dir, Env: env})
	return found.Path, err
}

// RealDir resolves the symbolic links in dir, which must be an absolute path on the machine that runs the command. If
// the links cannot be resolved, RealDir returns ErrInvalidParams with Field "dir", or the error returned by the Runner.
func (p Proposal) RealDir(ctx context.Context, dir string) (string, error) {
	resolved, err := p.where().realDir(ctx, dir)
	if e, ok := errors.AsType[*Error](err); err != nil && !ok {
		return "", invalidField("dir", err.Error())
	} else if ok {
		return "", e
	}
	return resolved, nil
}

// A Verdict is the decision of a policy. The zero value denies the command, as does any unknown value.
type Verdict int

// The verdicts, from strictest to most lenient.
const (
	// VerdictDeny denies the command.
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

// A Decision is returned by a Policy. The zero value denies the command without giving a reason.
type Decision struct {
	Verdict Verdict
	// Rule is the name of the rule that led to the decision, if any. It is included in events and questions.
	Rule string
	// Reason optionally explains the decision to the agent if the command is denied, or to the user who is asked.
	Reason string
	// Change, if non-nil, is another command to run instead, which is then submitted to all of the policies again.
	// Change is ignored if the verdict is VerdictDeny.
	Change *Command
	// Answer, if non-nil, is a previous answer to use for VerdictAsk instead of calling Options.Approve.
	Answer *Answer
}

// Policies combines several policies into one. It consults them in order and returns the strictest decision, or the
// first such decision if there is a tie, along with the first Change returned by any of the policies. Unknown verdicts
// are treated as VerdictDeny. If the list is empty, all commands are allowed.
type Policies []Policy

// Decide consults all of the policies and returns the strictest decision.
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

// Propose returns a Proposal for a program that the command of p would run with the given arguments after setting the
// given variables. The program is looked up just as the command would look it up. Policies that examine programs run by
// a command, such as those in policy/shell, use Propose to consult other policies. The error is ErrCommandNotFound or
// ErrNotExecutable. If there is a Runner, Propose blocks until the Runner responds or ctx is done.
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

// A Question asks for approval to run a command. It is passed to Options.Approve.
type Question struct {
	Proposal
	Rule, Reason string // of the policy's Decision

	// Unverified lists the program's files that cannot be checked for changes made after the question but before the
	// command starts, because they are unreadable or larger than 256 MiB. This may include the interpreter of a script.
	// The files should be shown to the user, since any process able to write to them can change the command.
	Unverified []string
}

// An Answer is returned by Options.Approve. The zero value denies the command, but does not affect later requests.
type Answer struct {
	Approval Approval
	// Reason is sent to the agent if the command is denied. The default is "it was not approved".
	Reason string
	// By identifies the user who answered, for use in events.
	By string
}

// An Approval is a user's decision on a command. If the value is unknown, the command is denied. Note that the Manager
// does not remember answers. To remember them for a session or permanently, use policy.Approvals.
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

// String returns "reject_once", "allow_once", "allow_session", "allow_always" or "reject_always". Unknown values are
// formatted like "Approval(9)". All but "allow_session" are values of the schema type PermissionOptionKind.
func (a Approval) String() string { return nameOf("Approval", approvalNames[:], int(a)) }

// allows reports whether an answer allows the command. An unknown one does not.
func (a Approval) allows() bool {
	return a == ApprovalAllowOnce || a == ApprovalSession || a == ApprovalAllowAlways
}

func (a Answer) refusal() string {
	if a.Approval < ApprovalRejectOnce || a.Approval > ApprovalRejectAlways {
		return "the answer is unknown: " + a.Approval.String()
	}
	return cmp.Or(a.Reason, "it was not approved")
}

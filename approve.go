package acpterm

// Questions to the user about a command, and the answers. Package policy remembers answers.

import (
	"cmp"
	"context"
	"time"
)

// Question asks the user whether a command may run.
type Question struct {
	Proposal
	Rule, Reason string // of the policy's Decision

	// Unverified are files of the program whose contents cannot be compared right before the start with those at the
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

// approve calls Options.Approve; without that the answer is nil. It stores in a the times of the question and the
// answer, and the contents of the program's files before the question.
func (z *authorizer) approve(ctx context.Context, a *authorized, q Question) (answer *Answer, err error) {
	if z.ask == nil {
		return nil, nil
	}
	if q.Unverified, err = z.machine.remember(ctx, a); err != nil {
		return nil, err
	}
	a.asked, answer = time.Now(), new(Answer)
	err = callHook("Approve", func() { *answer = z.ask(ctx, q) })
	if err == nil {
		a.answered = time.Now()
	}
	if ctx.Err() != nil { // the answer came too late
		err = &Error{Kind: ErrCancelled, Err: context.Cause(ctx)}
	}
	return answer, err
}

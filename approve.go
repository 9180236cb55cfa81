package acpterm

// Questions to a person about a command, the answers, and which of them are remembered.

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Question is a command that a person is asked about, and why.
type Question struct {
	Proposal
	Rule, Reason string // the Decision's

	// Unverified are those of the program's files that are not compared, right before the start, with what they were at
	// the time of the question: they are larger than 256 MiB, or cannot be read. A script's interpreter is one of its
	// files. Show them: a process that can write to such a file can change what runs.
	Unverified []string
}

// Answer is the answer to a Question. The zero value denies, this time.
type Answer struct {
	Approval Approval
	// Reason is sent to the agent with a denial. Empty: "it was not approved".
	Reason string
	// By names the person who answered, for the record.
	By string
}

// Approval says what an answer allows or denies. A value that is none of the constants denies, this time. A remembered
// answer holds for the same program, arguments or shell line, directory, variables set by the agent, and rule, and for
// nothing else.
type Approval int

// The approvals.
const (
	// ApprovalRejectOnce denies it this time.
	ApprovalRejectOnce Approval = iota
	// ApprovalAllowOnce allows it this time.
	ApprovalAllowOnce
	// ApprovalSession allows it, and the same again in this session, until CloseSession.
	ApprovalSession
	// ApprovalAllowAlways allows it, and the same again in every session of this manager.
	ApprovalAllowAlways
	// ApprovalRejectAlways denies it, and the same again in every session of this manager.
	ApprovalRejectAlways
)

var approvalNames = [...]string{"reject_once", "allow_once", "allow_session", "allow_always", "reject_always"}

// String is "reject_once", "allow_once", "allow_session", "allow_always" or "reject_always", or of an unknown approval
// "Approval(9)". All but "allow_session" are kinds of ACP (schema type PermissionOptionKind).
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

// approvalKey identifies what a remembered answer holds for. The session is empty for answers that hold in all.
type approvalKey struct {
	session SessionID
	command [sha256.Size]byte
}

// newApprovalKey is the key of a question in a session. Paths and arguments are quoted byte for byte: JSON would encode
// different bytes that are not UTF-8 alike.
func newApprovalKey(session SessionID, q Question) approvalKey {
	set := slices.Clone(q.Requested.Env)
	// Stable, since the last of a name wins.
	slices.SortStableFunc(set, func(a, b EnvVariable) int { return cmp.Compare(a.Name, b.Name) })
	var variables []string
	for _, v := range set {
		variables = append(variables, v.Name+"="+v.Value)
	}
	c := q.Command
	text := fmt.Sprintf("%q %q %q %q %q %q", c.Path, c.Args, c.Dir, c.ShellLine, variables, q.Rule)
	return approvalKey{session, sha256.Sum256([]byte(text))}
}

// RememberedApproval is an answer that is given again without asking.
type RememberedApproval struct {
	// ID names it, for Manager.RevokeApproval.
	ID string
	// SessionID is the session that it holds in; empty if it holds in every session of the manager.
	SessionID SessionID
	// Command is what it holds for; Env is nil. Variables are the names of the variables that the request sets; the
	// answer holds for their values alone.
	Command   Command
	Variables []string
	// Rule is the Decision's.
	Rule   string
	Answer Answer
	Time   time.Time
}

// approvals are the answers that are remembered. The methods may be called concurrently. The zero value is none.
type approvals struct {
	mu      sync.Mutex
	answers map[approvalKey]RememberedApproval
}

// find returns the remembered answer to a question, if there is one.
func (a *approvals) find(q Question) (answer Answer, known bool) {
	always, inSession := newApprovalKey("", q), newApprovalKey(q.SessionID, q)
	a.mu.Lock()
	defer a.mu.Unlock()
	remembered, known := a.answers[always]
	if !known {
		remembered, known = a.answers[inSession]
	}
	return remembered.Answer, known
}

// remember keeps an answer for as long as it says, unless ctx has ended: forget, which follows the end of the session's
// contexts, must not be followed by an answer.
func (a *approvals) remember(ctx context.Context, q Question, answer Answer) {
	var session SessionID
	switch answer.Approval {
	case ApprovalSession:
		session = q.SessionID
	case ApprovalAllowAlways, ApprovalRejectAlways:
	default:
		return
	}
	key := newApprovalKey(session, q)
	remembered := RememberedApproval{
		ID: rand.Text(), SessionID: session, Command: q.Command.clone(), Rule: q.Rule, Answer: answer, Time: time.Now(),
	}
	remembered.Command.Env = nil
	for _, v := range q.Requested.Env {
		remembered.Variables = append(remembered.Variables, v.Name)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	if a.answers == nil {
		a.answers = make(map[approvalKey]RememberedApproval)
	}
	a.answers[key] = remembered
}

// list returns all answers that are remembered, the oldest first.
func (a *approvals) list() []RememberedApproval {
	a.mu.Lock()
	all := slices.Collect(maps.Values(a.answers))
	a.mu.Unlock()
	slices.SortFunc(all, func(x, y RememberedApproval) int { return x.Time.Compare(y.Time) })
	for i, r := range all {
		all[i].Command, all[i].Variables = r.Command.clone(), slices.Clone(r.Variables)
	}
	return all
}

// revoke forgets an answer, and reports whether it was remembered.
func (a *approvals) revoke(id string) (revoked bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.answers, func(_ approvalKey, r RememberedApproval) bool {
		revoked = revoked || r.ID == id
		return r.ID == id
	})
	return revoked
}

// forget forgets the answers that were for a session.
func (a *approvals) forget(session SessionID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.answers, func(key approvalKey, _ RememberedApproval) bool {
		return session != "" && key.session == session
	})
}

// approve returns the remembered answer to a question, or calls Options.Approve; the answer is nil without such a
// function. It stores in a when the question was asked and answered, and what the program's files were then.
func (z *authorizer) approve(ctx context.Context, a *authorized, q Question) (*Answer, error) {
	answer, known := z.approvals.find(q)
	switch {
	case known:
		return &answer, nil
	case z.ask == nil:
		return nil, nil
	}
	var err error
	if z.runner == nil {
		if a.contents, q.Unverified, err = z.verifier.Read(ctx, q.Command.Path, q.Command.Dir); err != nil {
			return nil, &Error{Kind: ErrCancelled, Err: err}
		}
	}
	a.asked = time.Now()
	err = callHook("Approve", func() { answer = z.ask(ctx, q) })
	if err == nil {
		a.answered = time.Now()
		z.approvals.remember(ctx, q, answer)
	}
	if ctx.Err() != nil { // the answer came too late
		err = &Error{Kind: ErrCancelled, Err: context.Cause(ctx)}
	}
	return &answer, err
}

// unchanged fails if the program's files are not those that the person was asked about, or with ErrCancelled when ctx
// ends.
func (z *authorizer) unchanged(ctx context.Context, a authorized) error {
	same, err := z.verifier.Unchanged(ctx, a.contents)
	switch {
	case err != nil:
		return &Error{Kind: ErrCancelled, Err: err}
	case !same:
		return errChanged
	}
	return nil
}

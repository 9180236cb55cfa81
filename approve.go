package acpterm

// Questions to a person about a command, the answers, and which of them are remembered.

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/acpterm/acpterm/internal/pin"
)

// MaxVerifiedSize is the size in bytes up to which the contents of a program's file are compared. See
// Question.Unverified.
const MaxVerifiedSize = pin.MaxVerifiedSize

// Question is a command that somebody is asked about, and why.
type Question struct {
	Proposal
	Rule, Reason string // the Decision's

	// Unverified are the program's files whose contents cannot be compared before the start with what they were when
	// the question was asked: they are larger than MaxVerifiedSize, or cannot be read. The program's files are its own,
	// and of a script also its interpreter's. Show them: a process that can write to such a file can change what runs.
	Unverified []string
}

// Answer is what somebody says to a Question. The zero value says no, this time.
type Answer struct {
	Approval Approval
	// Reason is what the agent is told of a no. Empty: that it was not approved.
	Reason string
	// By says who answered, for the record.
	By string
}

// Approval is how far an answer goes. One that is none of the constants denies, this time. What is remembered is
// remembered of this program, with these arguments or this shell line, in this directory, with these variables set by
// the agent, and for this rule; nothing else is taken for the same.
type Approval int

// The approvals.
const (
	// No denies it this time.
	No Approval = iota
	// Once allows it this time.
	Once
	// ForSession allows it, and the same again in this session, until CloseSession.
	ForSession
	// Always allows it, and the same again in every session of this manager.
	Always
	// Never denies it, and the same again in every session of this manager.
	Never
)

var approvalNames = [...]string{"no", "once", "session", "always", "never"}

// String is "no", "once", "session", "always" or "never", or of an unknown approval "Approval(9)".
func (a Approval) String() string { return nameOf("Approval", approvalNames[:], int(a)) }

// allows reports whether an answer is a yes. An unknown one is not.
func (a Approval) allows() bool { return a == Once || a == ForSession || a == Always }

// refusal is the reason for a denial by an answer.
func (a Answer) refusal() string {
	if a.Approval < No || a.Approval > Never {
		return "the answer is unknown: " + a.Approval.String()
	}
	return cmp.Or(a.Reason, "it was not approved")
}

// approvalKey is what an approval is remembered by. The session is empty for those that go for all.
type approvalKey struct {
	session SessionID
	command [sha256.Size]byte
}

// newApprovalKey is the key of a question in a session. Paths and arguments are quoted as they are, byte for byte: what
// JSON makes of bytes that are not UTF-8 would be the same for several.
func newApprovalKey(session SessionID, q Question) approvalKey {
	set := slices.Clone(q.Requested.Env)
	slices.SortStableFunc(set, func(a, b EnvVariable) int { return cmp.Compare(a.Name, b.Name) }) // the last of a name wins
	var variables []string
	for _, v := range set {
		variables = append(variables, v.Name+"="+v.Value)
	}
	c := q.Command
	text := fmt.Sprintf("%q %q %q %q %q %q", c.Path, c.Args, c.Dir, c.ShellLine, variables, q.Rule)
	return approvalKey{session, sha256.Sum256([]byte(text))}
}

// approve calls Options.Approve, unless the answer is remembered; the answer is nil without such a function. It stores in a
// what the program's files were at the time of the question.
func (m *Manager) approve(ctx context.Context, a *authorized, q Question) (*Answer, error) {
	inSession, always := newApprovalKey(q.SessionID, q), newApprovalKey("", q)
	m.mu.Lock()
	answer, known := m.approvals[always]
	if !known {
		answer, known = m.approvals[inSession]
	}
	m.mu.Unlock()
	switch {
	case known:
		return &answer, nil
	case m.options.Approve == nil:
		return nil, nil
	}
	var err error
	if m.options.Runner == nil {
		if a.contents, q.Unverified, err = m.verifier.Read(ctx, q.Command.Path, q.Command.Dir); err != nil {
			return nil, &Error{Kind: ErrCancelled, Err: err}
		}
	}
	err = callHook("Approve", func() { answer = m.options.Approve(ctx, q) })
	if ctx.Err() != nil { // whatever was answered came too late
		err = &Error{Kind: ErrCancelled, Err: context.Cause(ctx)}
	}
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil { // CloseSession, which forgets answers under the lock, must not be followed by one
		return nil, &Error{Kind: ErrCancelled, Err: context.Cause(ctx)}
	}
	switch answer.Approval {
	case ForSession:
		m.approvals[inSession] = answer
	case Always, Never:
		m.approvals[always] = answer
	}
	return &answer, nil
}

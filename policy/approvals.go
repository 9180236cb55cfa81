package policy

// Remembered answers to questions.

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

	"github.com/acpterm/acpterm"
)

// Approvals remembers the user's answers. An answer given for a session is kept until CloseSession is called, and any
// other answer is kept for as long as the Approvals is in use. To use an Approvals, wrap both the outermost policy and
// the function that asks the user:
//
//	var approvals policy.Approvals
//	options := acpterm.Options{Policy: approvals.Policy(rules), Approve: approvals.Approve(ask)}
//
// An answer is only reused if the program, the arguments or shell line, the directory, the variables set by the agent,
// the rule, and whether the command takes input (PTYOptions.Attended or Stdin) are all the same as before. If a session
// was never opened, answers given for it are kept until Forget is called.
//
// The zero value is ready to use. An Approvals is safe for concurrent use by multiple goroutines.
type Approvals struct {
	mu      sync.Mutex
	answers map[approvalKey]approval
}

// An Approval is a remembered answer.
type Approval struct {
	// ID identifies the answer. To discard the answer, pass its ID to Approvals.Revoke.
	ID string
	// SessionID is the session that the answer is limited to. If empty, the answer is valid in all sessions.
	SessionID acpterm.SessionID
	// Command is the command that the user approved or denied, without its Env. Variables lists the names of the
	// variables set by the request. Their values are not included, although the answer only applies to requests with
	// the same values.
	Command   acpterm.Command
	Variables []string
	// Rule is the name of the rule that caused the question.
	Rule   string
	Answer acpterm.Answer
	Time   time.Time
}

// approval is an Approval and the session that it ends with.
type approval struct {
	Approval
	sessionDone <-chan struct{} // nil if the approval does not end with a session
}

// approvalKey identifies a question. The session is empty for answers that apply to all sessions.
type approvalKey struct {
	session acpterm.SessionID
	done    <-chan struct{} // tells the session apart from a later one with the same id
	command [sha256.Size]byte
}

// commandOf returns a hash of everything that an answer depends on. Paths and arguments are quoted byte for byte: JSON
// would encode different invalid UTF-8 alike.
func commandOf(p acpterm.Proposal, rule string) [sha256.Size]byte {
	set := slices.Clone(p.Requested.Env)
	// Stable, because the last value of a name wins.
	slices.SortStableFunc(set, func(a, b acpterm.EnvVariable) int { return cmp.Compare(a.Name, b.Name) })
	var variables []string
	for _, v := range set {
		variables = append(variables, v.Name+"="+v.Value)
	}
	c := p.Command
	attended := p.PTY != nil && p.PTY.Attended || p.Stdin
	text := fmt.Sprintf("%q %q %q %q %q %q %t", c.Path, c.Args, c.Dir, c.ShellLine, variables, rule, attended)
	return sha256.Sum256([]byte(text))
}

// Policy returns a policy that calls inner and, where possible, uses a remembered answer instead of asking the user. If
// inner is nil, all commands are allowed.
func (a *Approvals) Policy(inner acpterm.Policy) acpterm.Policy {
	if inner == nil {
		inner = acpterm.Policies{}
	}
	return acpterm.PolicyFunc(func(ctx context.Context, p acpterm.Proposal) acpterm.Decision {
		d := inner.Decide(ctx, p)
		if d.Verdict == acpterm.VerdictAsk && d.Change == nil && d.Answer == nil {
			d.Answer = a.find(p, d.Rule)
		}
		return d
	})
}

// Approve returns a function for use as acpterm.Options.Approve. The function calls ask and remembers the answer if it
// is meant to apply to more than one request. However, if the context is done by the time ask returns, the answer is
// not remembered.
func (a *Approvals) Approve(
	ask func(context.Context, acpterm.Question) acpterm.Answer,
) func(context.Context, acpterm.Question) acpterm.Answer {
	return func(ctx context.Context, q acpterm.Question) acpterm.Answer {
		answer := ask(ctx, q)
		if ctx.Err() == nil {
			a.remember(q, answer)
		}
		return answer
	}
}

// find returns the remembered answer to a question, or nil.
func (a *Approvals) find(p acpterm.Proposal, rule string) *acpterm.Answer {
	command := commandOf(p, rule)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, key := range []approvalKey{{command: command}, {p.SessionID, p.SessionDone, command}} {
		if remembered, ok := a.answers[key]; ok && !remembered.over() {
			return new(remembered.Answer)
		}
	}
	return nil
}

// over reports whether the answer's session has been closed.
func (a approval) over() bool {
	select {
	case <-a.sessionDone:
		return true
	default:
		return false
	}
}

func (a *Approvals) remember(q acpterm.Question, answer acpterm.Answer) {
	key := approvalKey{command: commandOf(q.Proposal, q.Rule)}
	switch answer.Approval {
	case acpterm.ApprovalSession:
		key.session, key.done = q.SessionID, q.SessionDone
	case acpterm.ApprovalAllowAlways, acpterm.ApprovalRejectAlways:
	default:
		return
	}
	remembered := approval{sessionDone: key.done, Approval: Approval{
		ID: rand.Text(), SessionID: key.session, Command: copyOf(q.Command),
		Rule: q.Rule, Answer: answer, Time: time.Now(),
	}}
	for _, v := range q.Requested.Env {
		remembered.Variables = append(remembered.Variables, v.Name)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answers == nil {
		a.answers = make(map[approvalKey]approval)
	}
	a.dropOverLocked()
	a.answers[key] = remembered
}

// copyOf returns a command without its environment, which may contain secrets.
func copyOf(c acpterm.Command) acpterm.Command {
	c.Args, c.Env = slices.Clone(c.Args), nil
	return c
}

// dropOverLocked forgets the answers of closed sessions.
func (a *Approvals) dropOverLocked() {
	maps.DeleteFunc(a.answers, func(_ approvalKey, r approval) bool { return r.over() })
}

// List returns the remembered answers, oldest first.
func (a *Approvals) List() (all []Approval) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dropOverLocked()
	for _, r := range a.answers {
		r.Command, r.Variables = copyOf(r.Command), slices.Clone(r.Variables)
		all = append(all, r.Approval)
	}
	slices.SortFunc(all, func(x, y Approval) int { return x.Time.Compare(y.Time) })
	return all
}

// Revoke discards the remembered answer with the given ID and reports whether it was found. The user will be asked
// again the next time the command is requested. Running commands are not affected.
func (a *Approvals) Revoke(id string) (revoked bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.answers, func(_ approvalKey, r approval) bool {
		revoked = revoked || r.ID == id
		return r.ID == id
	})
	return revoked
}

// Forget discards all answers given for a session. It does not have to be called after CloseSession.
func (a *Approvals) Forget(session acpterm.SessionID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.answers, func(key approvalKey, _ approval) bool {
		return session != "" && key.session == session
	})
}

package acpterm

// Authorizing a command: policies decide, and the user may be asked. The machine pins the program and the directory
// from the decision until the start.

import (
	"context"
	"path/filepath"
	"time"

	"github.com/acpterm/acpterm/internal/pin"
)

// authorizer decides which commands may run. Its methods are safe for concurrent use.
type authorizer struct {
	machine machine
	ask     func(context.Context, Question) Answer // Options.Approve
}

// authorized is an allowed command, as it was at the decision.
type authorized struct {
	proposal Proposal
	pinned   *pin.Pinned  // nil without a policy, and with a Runner
	pin      string       // Found.Pin, of a Runner
	contents pin.Contents // of the program; nil if no question was asked
	decision *DecisionEvent

	asked, answered time.Time // zero without a question
}

// maxChanges is how often policies can change a command before the create is denied.
const maxChanges = 8

// authorize asks the policies, and the user if they say so, until no policy changes the command any more. It returns
// ErrDenied, ErrCancelled if ctx is done, or ErrInternal if a function of the embedder panics.
func (z *authorizer) authorize(
	ctx context.Context, s settings, id TerminalID, req CreateTerminalRequest, c located,
) (authorized, error) {
	a := authorized{proposal: Proposal{
		SessionID: req.SessionID, Command: c.Command, Name: c.name, Roots: s.roots, Requested: req,
		PTY: copyOf(s.commands.PTY), Stdin: s.commands.Stdin != nil, SessionDone: s.done(),
		machine: z.machine, env: c.env,
	}, pin: c.pin}
	decision := Decision{Verdict: VerdictAllow}
	var answer *Answer // nil: no question was asked
	var err error
	if s.policy != nil {
		decision, answer, err = z.decide(ctx, s.policy, &a)
		err = dirError(req, err)
	}
	if err != nil {
		decision.Verdict = VerdictDeny // it does not run, even if a policy allowed it before the error
	}
	a.decision = newDecisionEvent(id, a.proposal, decision, answer)
	a.decision.Requested, a.decision.Asked, a.decision.Answered = s.called, a.asked, a.answered
	if err == nil && decision.Verdict != VerdictAllow {
		err = &Error{Kind: ErrDenied, Command: requested(req), Rule: decision.Rule, Reason: decision.Reason}
	}
	if err != nil {
		a.pinned.Close()
		a.decision.Err = err
	}
	return a, err
}

// requested returns the command of a request for error texts.
func requested(req CreateTerminalRequest) string {
	if len(req.Args) == 0 {
		return req.Command
	}
	return Command{Args: append([]string{req.Command}, req.Args...)}.String()
}

// decide asks until no policy changes the command any more, and stores the command in a. The answer is nil if no
// question was asked.
func (z *authorizer) decide(ctx context.Context, policy Policy, a *authorized) (Decision, *Answer, error) {
	for i := range maxChanges {
		if err := z.machine.settle(ctx, a, i > 0); err != nil {
			return Decision{}, nil, err
		}
		var d Decision
		err := callHook("Policy", func() { d = policy.Decide(ctx, a.proposal) })
		if ctx.Err() != nil {
			err = &Error{Kind: ErrCancelled, Err: context.Cause(ctx)}
		}
		if err != nil {
			return d, nil, err
		}
		if d.Change != nil && d.Verdict != VerdictDeny {
			a.proposal.Command = d.Change.withArgs()
			a.proposal.Name = filepath.Base(d.Change.Path)
			continue
		}
		if d.Verdict != VerdictAsk {
			return d, nil, nil
		}
		answer := d.Answer
		if answer == nil {
			answer, err = z.approve(ctx, a, Question{Proposal: a.proposal, Rule: d.Rule, Reason: d.Reason})
		}
		switch {
		case err != nil:
			return d, nil, err
		case answer == nil:
			return Decision{Rule: d.Rule, Reason: "approval required, but Options.Approve is not set"}, nil, nil
		case !answer.Approval.allows():
			return Decision{Rule: d.Rule, Reason: answer.refusal()}, answer, nil
		}
		d.Verdict = VerdictAllow
		return d, answer, nil
	}
	return Decision{Reason: "the policies keep changing the command"}, nil, nil
}

// approve calls Options.Approve, or returns nil if it is not set. It stores the times of the question and the answer in
// a, and the contents of the program's files before the question.
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

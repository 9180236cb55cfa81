package acpterm

// From a command that was asked for to one that may run: policies are asked, perhaps a person is, and what they were
// shown is held fast until it runs. manager.go calls it; it knows of no terminals.

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/acpterm/acpterm/internal/lookup"
)

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

// authorized is a command that may run, and nothing else in its place.
type authorized struct {
	proposal Proposal
	held     *held       // nil where no policy looked at it
	examined examination // nil where no person was asked
	decision *DecisionEvent
}

// maxChanges is how often a command can be changed by policies before they count as ones that never agree.
const maxChanges = 8

// authorize asks the policies, and whoever approves, until nothing changes the command any more. It fails with ErrDenied,
// with ErrCancelled when ctx ends, or with ErrInternal when a function of the embedder's panics.
func (m *Manager) authorize(ctx context.Context, s settings, id TerminalID, req CreateTerminalRequest, c Command) (authorized, error) {
	a := authorized{proposal: Proposal{
		SessionID: req.SessionID, Command: c, Name: filepath.Base(c.Path), Roots: s.roots, Requested: req,
		look: lookups{m.options.Runner}, env: s.options.Env,
	}}
	decision := Decision{Verdict: Allow}
	var answer *Answer // nil: nobody was asked
	var err error
	if s.policy != nil {
		decision, answer, err = m.decide(ctx, s.policy, &a)
	}
	if err != nil {
		decision.Verdict = Deny // whatever a policy said of it before it was cancelled, it does not run
	}
	a.decision = newDecisionEvent(id, a.proposal, decision, answer)
	if err == nil && decision.Verdict != Allow {
		err = &Error{Kind: ErrDenied, Rule: decision.Rule, Reason: decision.Reason}
	}
	if err != nil {
		a.held.release()
		a.decision.Err = err
	}
	return a, err
}

// decide asks until nothing is changed, and leaves in a what was decided on. The answer is nil if nobody was asked.
func (m *Manager) decide(ctx context.Context, policy Policy, a *authorized) (Decision, *Answer, error) {
	for range maxChanges {
		if err := a.hold(); err != nil {
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
		if d.Change != nil && d.Verdict != Deny {
			a.proposal.Command = d.Change.withArgs()
			a.proposal.Name = filepath.Base(d.Change.Path)
			continue
		}
		if d.Verdict != Ask {
			return d, nil, nil
		}
		answer, err := m.approve(ctx, a, Question{Proposal: a.proposal, Rule: d.Rule, Reason: d.Reason})
		switch {
		case err != nil:
			return d, nil, err
		case answer == nil:
			return Decision{Rule: d.Rule, Reason: "it takes an approval, and there is nobody to ask"}, nil, nil
		case !answer.Approval.allows():
			return Decision{Rule: d.Rule, Reason: answer.refusal()}, answer, nil
		}
		d.Verdict = Allow
		return d, answer, nil
	}
	return Decision{Reason: "the policies go on changing the command"}, nil, nil
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
		if a.examined, q.Unverified, err = m.examine(ctx, q.Command.Path, q.Command.Dir); err != nil {
			return nil, err
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

// hold resolves the proposal's program and directory, and holds on to what they are.
func (a *authorized) hold() error {
	a.held.release()
	a.held = nil
	if a.proposal.look.runner != nil {
		return nil // there is nothing here to hold
	}
	c := &a.proposal.Command
	path, err := filepath.EvalSymlinks(c.Path)
	if err != nil {
		return &Error{Kind: ErrCommandNotFound, Command: a.proposal.Requested.Command, Err: err}
	}
	dir, err := filepath.EvalSymlinks(c.Dir)
	if err != nil {
		return fieldError("cwd", err)
	}
	if !setsVariable(a.proposal.Requested.Env, "PWD") && lookup.Getenv(c.Env, "PWD") == c.Dir {
		c.Env = mergeEnv(lookup.Once(c.Env), dir, nil) // a policy may have set it
	}
	c.Path, c.Dir = path, dir
	a.held, err = holdFast(path, dir)
	return err
}

func setsVariable(set []EnvVariable, name string) bool {
	return slices.ContainsFunc(set, func(v EnvVariable) bool { return v.Name == name })
}

// held is a program and a directory as they were when they were decided on. A nil one is neither.
type held struct {
	program, dir         string
	programInfo, dirInfo os.FileInfo
	open                 heldDir
}

// holdFast looks at a program and a directory, both without symbolic links in their paths.
func holdFast(program, dir string) (*held, error) {
	programInfo, err := os.Stat(program)
	if err != nil {
		return nil, fieldError("command", err)
	}
	open, err := openDir(dir)
	if err != nil {
		return nil, fieldError("cwd", err)
	}
	h := &held{program: program, dir: dir, programInfo: programInfo, open: open}
	if h.dirInfo, err = os.Stat(open.path(dir)); err != nil {
		h.release()
		return nil, fieldError("cwd", err)
	}
	return h, nil
}

// errChanged is why a command does not run that is not what was decided on any more.
var errChanged error = &Error{Kind: ErrDenied, Rule: "unchanged",
	Reason: "the program or the directory has been replaced or changed since it was looked at"}

// unchanged reports whether both names still lead to the same: no link on the way, the same file, not written to.
func (h *held) unchanged() bool {
	same := func(path string, was os.FileInfo) bool {
		resolved, err := filepath.EvalSymlinks(path)
		if err != nil || resolved != path {
			return false
		}
		info, err := os.Stat(path)
		return err == nil && sameFile(was, info)
	}
	return h == nil || same(h.program, h.programInfo) && same(h.dir, h.dirInfo)
}

// start returns the command to start, if it is still what was decided on.
func (h *held) start(c Command) (Command, error) {
	if !h.unchanged() {
		return c, errChanged
	}
	if h != nil && c.Dir == h.dir {
		c.Dir = h.open.path(h.dir)
	}
	return c, nil
}

func (h *held) release() {
	if h != nil {
		h.open.close()
	}
}

// newDecisionEvent is the record of a decision.
func newDecisionEvent(id TerminalID, p Proposal, d Decision, answer *Answer) *DecisionEvent {
	e := &DecisionEvent{
		Subject: Subject{
			TerminalID: id, SessionID: p.SessionID,
			Path: p.Command.Path, Args: p.Command.Args, Dir: p.Command.Dir, ShellLine: p.Command.ShellLine,
		},
		Time: time.Now(), Verdict: d.Verdict, Rule: d.Rule, Reason: d.Reason,
	}
	if answer != nil {
		e.Approval, e.Approver = answer.Approval.String(), answer.By
	}
	for _, v := range p.Requested.Env {
		e.Variables = append(e.Variables, v.Name)
	}
	return e
}

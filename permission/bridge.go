package permission

// Remembered answers, and the creates that they apply to.

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/acpterm/acpterm"
)

// A Bridge remembers the user's answers to session/request_permission and uses them to answer the Manager's questions.
// An answer is remembered for one minute, and a Bridge remembers up to 256 answers, the most recent ones, for commands
// of up to 64 KiB. The zero value is ready to use. Since a Bridge does not start any goroutines, it need not be closed.
// Its methods are safe for concurrent use by multiple goroutines. A Bridge must not be copied after first use.
type Bridge struct {
	mu    sync.Mutex
	given []*given // the oldest first
}

// given is an unused answer.
type given struct {
	session acpterm.SessionID
	command Command
	answer  acpterm.Answer
	until   time.Time
}

const (
	lifetime = time.Minute // of an answer
	maxGiven = 256
	maxSize  = 64 << 10 // bytes of the texts of a command
)

// A Choice is the user's response to a Request.
type Choice struct {
	// Option is the option selected by the user. If it is not one of the request's options, the user is considered not
	// to have answered.
	Option Option
	// By is the name of the user who answered. It is recorded as acpterm.Answer.By.
	By string
}

// Response is the response to session/request_permission (schema type RequestPermissionResponse).
type Response struct {
	Outcome Outcome `json:"outcome"`
}

// Outcome is the user's answer (schema type RequestPermissionOutcome).
type Outcome struct {
	// Outcome is "selected", or "cancelled" if the user did not answer.
	Outcome string `json:"outcome"`
	// OptionID is the ID of the option selected by the user, or empty if the user did not answer.
	OptionID string `json:"optionId,omitempty"`
}

// Answer calls choose to ask the user, remembers the choice as described in the package comment, and returns the
// response for the agent. The choose function may block until ctx is done. The host should cancel ctx when the turn is
// cancelled, or when the session or the connection ends. In that case, or if the user did not select any of the
// options, the outcome is "cancelled", as required by ACP, and nothing is remembered. Answer does not recover from
// panics in choose.
func (b *Bridge) Answer(ctx context.Context, r Request, choose func(context.Context, Request) Choice) Response {
	command, hasCommand := r.Command() // as Text shows it
	choice := choose(ctx, r)
	if ctx.Err() != nil || choice.Option.ID == "" || !slices.Contains(r.Options, choice.Option) {
		return Response{Outcome{Outcome: "cancelled"}}
	}
	if approval, known := choice.Option.Kind.approval(); known && hasCommand {
		answer := acpterm.Answer{Approval: approval, By: choice.By}
		if !allows(answer) {
			answer.Reason = "it was rejected when permission was requested"
		}
		if r.Subject.TerminalID != "" && allows(answer) { // the agent runs the command itself
			return Response{Outcome{"selected", choice.Option.ID}}
		}
		b.remember(ctx, &given{session: r.SessionID, command: command, answer: answer})
	}
	return Response{Outcome{"selected", choice.Option.ID}}
}

// allows reports whether an answer given by this package allows a command.
func allows(a acpterm.Answer) bool {
	return a.Approval == acpterm.ApprovalAllowOnce || a.Approval == acpterm.ApprovalSession
}

// remember keeps an answer. A rejection revokes permissions for the command in any directory; a permission revokes
// rejections in its own directory. If ctx is done, nothing is kept: Forget may have been called before.
func (b *Bridge) remember(ctx context.Context, g *given) {
	size := len(g.session) + len(g.command.Line) + len(g.command.Dir)
	for _, word := range g.command.Args {
		size += len(word) + 16 // the string itself
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.given = slices.DeleteFunc(b.given, func(old *given) bool {
		takesBack := allows(old.answer) != allows(g.answer) && (!allows(g.answer) || old.command.Dir == g.command.Dir)
		return old.expired() || takesBack && old.session == g.session && old.command.runsSame(g.command)
	})
	if ctx.Err() != nil || size > maxSize {
		return
	}
	g.until = time.Now().Add(lifetime)
	b.given = append(b.given, g)
	b.given = slices.Delete(b.given, 0, max(0, len(b.given)-maxGiven))
}

func (g *given) expired() bool { return !time.Now().Before(g.until) }

// Forget discards the remembered answers of a session. Be sure to cancel pending calls to Answer before calling Forget;
// otherwise, they may add more answers.
func (b *Bridge) Forget(session acpterm.SessionID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.given = slices.DeleteFunc(b.given, func(g *given) bool { return g.session == session })
}

// Approve returns a function for Options.Approve that answers questions using remembered answers. Each answer is used
// at most once. All other questions are passed to next. If next is nil, they are denied.
func (b *Bridge) Approve(
	next func(context.Context, acpterm.Question) acpterm.Answer,
) func(context.Context, acpterm.Question) acpterm.Answer {
	return func(ctx context.Context, q acpterm.Question) acpterm.Answer {
		if answer, ok := b.take(ctx, q); ok {
			return answer
		}
		if next == nil {
			return acpterm.Answer{Reason: "approval required, but there is no function that asks"}
		}
		return next(ctx, q)
	}
}

// take returns the answer to a question, and forgets it. If several match, the oldest counts: remember never leaves a
// permission before a rejection.
func (b *Bridge) take(ctx context.Context, q acpterm.Question) (answer acpterm.Answer, ok bool) {
	runs, ok := willRun(ctx, q)
	if !ok {
		return acpterm.Answer{}, false
	}
	b.mu.Lock()
	candidates := slices.Clone(b.given)
	b.mu.Unlock()
	for _, g := range candidates { // without the lock: runsIn asks the system
		if g.session != q.SessionID || !g.command.runsSame(runs) || !runsIn(q, g.command.Dir) {
			continue
		}
		b.mu.Lock()
		i := slices.Index(b.given, g)
		if ok = i >= 0 && ctx.Err() == nil && !g.expired(); ok {
			b.given = slices.Delete(b.given, i, i+1)
		}
		b.mu.Unlock()
		if ok {
			return g.answer, true
		}
	}
	return acpterm.Answer{}, false
}

// willRun returns the command of a question, without its directory. ok is false if that command could not have been
// shown: the agent sets variables, or a policy has substituted another program or other arguments.
func willRun(ctx context.Context, q acpterm.Question) (c Command, ok bool) {
	line, args := q.Command.ShellLine, q.Command.Args
	switch {
	case len(q.Requested.Env) > 0 || len(args) == 0:
		return Command{}, false
	case line != "":
		return newLine(line), args[len(args)-1] == line
	}
	path, err := q.LookPath(ctx, args[0])
	return Command{Args: args}, err == nil && path == q.Command.Path
}

// runsSame reports whether two commands are the same except for the directory, word for word.
func (c Command) runsSame(as Command) bool { return c.Line == as.Line && slices.Equal(c.Args, as.Args) }

// runsIn reports whether the command of a question runs in the directory shown to the user.
func runsIn(q acpterm.Question, shown string) bool {
	asked := q.Requested.Cwd
	if shown == "" || asked != "" && asked != shown {
		return shown == asked
	}
	if q.Remote() || q.Command.Dir == shown {
		return q.Command.Dir == shown
	}
	dir, err := filepath.EvalSymlinks(shown)
	return err == nil && dir == q.Command.Dir
}

package permission

// What people have answered, and for which creates it counts.

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/acpterm/acpterm"
)

// Bridge remembers answers to session/request_permission, and gives them to a manager's questions. The zero value is
// ready. Its methods may be called concurrently; then its fields must not change. It must not be copied after its first
// use. It starts no goroutine and needs no closing.
type Bridge struct {
	// Lifetime is how long an answer is remembered, from when it was given. 0: one minute. Negative: not at all.
	Lifetime time.Duration

	// Max is how many answers are remembered at once, each with a command of at most 64 KiB, beyond which it is not
	// remembered. The oldest goes first. 0: 256. Negative: none.
	Max int

	mu    sync.Mutex
	given []*given // the oldest first
}

// given is an answer that was given and not used yet.
type given struct {
	session acpterm.SessionID
	command Command
	answer  acpterm.Answer
	until   time.Time
}

// maxSize is how many bytes the texts of a command have at most if an answer is remembered.
const maxSize = 64 << 10

// Choice is what a person chose.
type Choice struct {
	// Option is one of the request's. The zero value, and what is none of them, is no answer.
	Option Option
	// By names the person, for the record: it becomes acpterm.Answer.By.
	By string
}

// Response answers a session/request_permission (schema type RequestPermissionResponse).
type Response struct {
	Outcome Outcome `json:"outcome"`
}

// Outcome is a person's answer (schema type RequestPermissionOutcome).
type Outcome struct {
	// Outcome is "selected", or "cancelled" if there was no answer.
	Outcome string `json:"outcome"`
	// OptionID is the option that was selected. Empty: none.
	OptionID string `json:"optionId,omitempty"`
}

// Answer has the host's function choose ask a person, remembers what was chosen as the package's comment says, and
// returns what to send to the agent. choose may take as long as a person does, until ctx ends. End ctx when the turn is
// cancelled, the session ends or the connection does: the outcome is then "cancelled", as ACP requires, and nothing is
// remembered; the same holds if the person chose none of the options. A panic in choose goes on to the caller.
func (b *Bridge) Answer(ctx context.Context, r Request, choose func(context.Context, Request) Choice) Response {
	command, hasCommand := r.Command() // what Text shows
	choice := choose(ctx, r)
	if ctx.Err() != nil || choice.Option.ID == "" || !slices.Contains(r.Options, choice.Option) {
		return Response{Outcome{Outcome: "cancelled"}}
	}
	if approval, known := choice.Option.Kind.approval(); known && hasCommand {
		answer := acpterm.Answer{Approval: approval, By: choice.By}
		if !allows(answer) {
			answer.Reason = "it was rejected when permission was requested"
		}
		b.remember(ctx, &given{session: r.SessionID, command: command, answer: answer})
	}
	return Response{Outcome{"selected", choice.Option.ID}}
}

// allows reports whether an answer of this package's allows a command.
func allows(a acpterm.Answer) bool {
	return a.Approval == acpterm.ApprovalAllowOnce || a.Approval == acpterm.ApprovalSession
}

// remember keeps an answer. A rejection takes back what was allowed in any directory, and an allowance what was
// rejected in this one. When ctx has ended, nothing is kept: Forget may have come before.
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
	g.until = time.Now().Add(cmp.Or(b.Lifetime, time.Minute))
	b.given = append(b.given, g)
	b.given = slices.Delete(b.given, 0, max(0, len(b.given)-max(0, cmp.Or(b.Max, 256))))
}

func (g *given) expired() bool { return !time.Now().Before(g.until) }

// Forget forgets what was answered in a session and not used. An Answer that is under way remembers nothing after it if
// its ctx has ended before.
func (b *Bridge) Forget(session acpterm.SessionID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.given = slices.DeleteFunc(b.given, func(g *given) bool { return g.session == session })
}

// Approve returns a function for Options.Approve. It answers questions with what is remembered, each answer once, and
// calls next with all others. Without next it denies those.
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

// take returns the answer to a question, and forgets it. Of several it is the oldest: remember has left none that
// allows before one that denies.
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

// willRun is the command that a question is about, without its directory. It is not ok where that could not have been
// shown: the agent sets variables, or a policy has put another program or other arguments in its place.
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

// runsSame reports whether two commands are the same but for the directory, word for word.
func (c Command) runsSame(as Command) bool { return c.Line == as.Line && slices.Equal(c.Args, as.Args) }

// runsIn reports whether the command of a question runs in the directory that was shown.
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

package embedtest

// Questions about commands: the effect of an answer, and how long it is remembered.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/terminaltest"
	"github.com/acpterm/acpterm/policy"
)

// asking returns a manager that asks about everything, answers each question by a function and remembers the answers.
func asking(t testing.TB, approve func(ctx context.Context, q acpterm.Question) acpterm.Answer) (
	*acpterm.Manager, chan acpterm.Event) {
	hook, events := hosttest.Record()
	var approvals policy.Approvals
	options := &acpterm.Options{Policy: approvals.Policy(&terminaltest.Verdict{
		Decision: acpterm.Decision{Verdict: acpterm.VerdictAsk, Rule: "ask", Reason: "because"},
	})}
	if approve != nil {
		options.Approve = approvals.Approve(approve)
	}
	return hosttest.NewManager(t, options, hook), events
}

func TestApprovalsAreRememberedAsFarAsTheyGo(t *testing.T) {
	type step struct {
		session acpterm.SessionID
		text    string
		env     string
	}
	first := step{"s", "x", ""}
	for _, c := range []struct {
		approval acpterm.Approval
		again    map[step]bool // whether the user is asked
	}{
		{acpterm.ApprovalAllowOnce, map[step]bool{first: true, {"other", "x", ""}: true}},
		{acpterm.ApprovalRejectOnce, map[step]bool{first: true}},
		{acpterm.ApprovalSession, map[step]bool{first: false, {"other", "x", ""}: true, {"s", "y", ""}: true, {"s", "x", "LD_PRELOAD"}: true}},
		{acpterm.ApprovalAllowAlways, map[step]bool{first: false, {"other", "x", ""}: false, {"s", "y", ""}: true, {"s", "x", "LD_PRELOAD"}: true}},
		{acpterm.ApprovalRejectAlways, map[step]bool{first: false, {"other", "x", ""}: false, {"s", "y", ""}: true}},
	} {
		t.Run(c.approval.String(), func(t *testing.T) {
			asked := 0
			m, events := asking(t, func(_ context.Context, q acpterm.Question) acpterm.Answer {
				asked++
				require.Equal(t, "ask", q.Rule)
				require.Equal(t, "because", q.Reason)
				return acpterm.Answer{Approval: c.approval, By: "a person"}
			})
			try := func(s step) {
				req := hosttest.InSession(s.session, hosttest.ChildRequest("print", s.text))
				if s.env != "" {
					req.Env = []acpterm.EnvVariable{{Name: s.env, Value: "1"}}
				}
				_, err := m.Create(t.Context(), req, nil)
				if c.approval == acpterm.ApprovalRejectOnce || c.approval == acpterm.ApprovalRejectAlways {
					require.ErrorIs(t, err, acpterm.ErrDenied)
				} else {
					require.NoError(t, err)
				}
			}
			try(first)
			require.Equal(t, 1, asked)
			d := (<-events).(*acpterm.DecisionEvent)
			require.Equal(t, c.approval.String(), d.Approval)
			require.Equal(t, "a person", d.Approver)
			for s, wants := range c.again {
				before := asked
				try(s)
				require.Equal(t, wants, asked > before, "%+v", s)
				if wants {
					asked = before + 1
				}
			}
			if c.approval == acpterm.ApprovalSession {
				require.NoError(t, m.OpenSession("s", nil))
				for range 2 {
					before := asked
					try(first)
					try(first)
					require.Equal(t, before+1, asked, "it is another session")
					require.NoError(t, m.CloseSession(t.Context(), "s"))
					require.NoError(t, m.OpenSession("s", nil))
				}
			}
		})
	}
}

// Two names that differ only in invalid UTF-8 look the same in JSON, but are different.
func TestAnApprovalIsOfTheVeryBytes(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("names are text here")
	}
	dir, asked := hosttest.RealTempDir(t), 0
	m, _ := asking(t, func(context.Context, acpterm.Question) acpterm.Answer {
		asked++
		return acpterm.Answer{Approval: acpterm.ApprovalAllowAlways}
	})
	for i, name := range []string{"\xfe", "\xff"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		link := filepath.Join(dir, fmt.Sprint("link", i))
		require.NoError(t, os.Symlink(name, link))
		req := hosttest.ChildRequest("exit", "0")
		req.Cwd = link
		hosttest.Create(t, m, req)
		require.Equal(t, i+1, asked)
	}
}

func TestNobodyToAskDenies(t *testing.T) {
	m, _ := asking(t, nil)
	_, err := m.Create(t.Context(), hosttest.ChildRequest("print", "x"), nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
	require.ErrorContains(t, err, "Options.Approve is not set")
}

// An answer that denies can have a reason.
func TestTheAgentIsToldWhyNot(t *testing.T) {
	for reason, want := range map[string]string{"": "it was not approved", "not on a Friday": "not on a Friday"} {
		t.Run(want, func(t *testing.T) {
			m, _ := asking(t, func(context.Context, acpterm.Question) acpterm.Answer { return acpterm.Answer{Reason: reason} })
			_, err := m.Create(t.Context(), hosttest.ChildRequest("print", "x"), nil)
			require.ErrorIs(t, err, acpterm.ErrDenied)
			require.ErrorContains(t, err, want)
		})
	}
}

// An answer that arrives after its request was cancelled has no effect, now or later. A pending question blocks nothing
// else.
func TestAnAnswerThatComesTooLate(t *testing.T) {
	questions, answers := make(chan context.Context), make(chan acpterm.Answer)
	m, events := asking(t, func(ctx context.Context, _ acpterm.Question) acpterm.Answer {
		questions <- ctx
		return <-answers
	})
	p := hosttest.ConnectPeer(t, m, nil)
	ask := func() context.Context {
		p.Write(hosttest.Request(`"c"`, acpterm.MethodCreate, hosttest.ChildRequest("print", "x")))
		return <-questions
	}
	ctx := ask()
	p.Works() // while the question has no answer
	p.Write(hosttest.Cancel(`"c"`))
	<-ctx.Done()
	answers <- acpterm.Answer{Approval: acpterm.ApprovalAllowAlways}
	r := p.Read()
	require.EqualValues(t, -32800, r.Error.Code)
	require.Empty(t, m.Terminals())
	require.Equal(t, acpterm.VerdictDeny, (<-events).(*acpterm.DecisionEvent).Verdict, "a record of what ran has nothing that did not")

	ask() // again: nothing was remembered
	require.NoError(t, m.ReleaseSession(t.Context(), "s"))
	answers <- acpterm.Answer{Approval: acpterm.ApprovalAllowOnce}
	require.Nil(t, p.Read().Error)

	// The end of the session, and of the manager, end the question.
	require.NoError(t, m.OpenSession("s", nil))
	ctx = ask()
	require.NoError(t, m.CloseSession(t.Context(), "s"))
	<-ctx.Done()
	answers <- acpterm.Answer{Approval: acpterm.ApprovalAllowAlways}
	require.EqualValues(t, -32002, p.Read().Error.Code)
	ctx = ask()
	closed := make(chan error)
	go func() { closed <- m.Close() }()
	<-ctx.Done()
	answers <- acpterm.Answer{Approval: acpterm.ApprovalAllowAlways}
	require.EqualValues(t, -32800, p.Read().Error.Code)
	require.NoError(t, <-closed)
	var last *acpterm.DecisionEvent
	for len(events) > 0 {
		if decision, ok := (<-events).(*acpterm.DecisionEvent); ok {
			last = decision
		}
	}
	require.ErrorIs(t, last.Err, acpterm.ErrClosing, "the decision is on record when Close returns")
}

// Two questions at once have two answers.
func TestTwoApprovalsAtOnce(t *testing.T) {
	asked := make(chan acpterm.Question, 2)
	answer := map[string]chan acpterm.Answer{"good": make(chan acpterm.Answer), "bad": make(chan acpterm.Answer)}
	m, _ := asking(t, func(_ context.Context, q acpterm.Question) acpterm.Answer {
		asked <- q
		return <-answer[q.Command.Args[len(q.Command.Args)-1]]
	})
	p := hosttest.ConnectPeer(t, m, nil)
	p.Write(hosttest.Request(`"bad"`, acpterm.MethodCreate, hosttest.ChildRequest("print", "bad")))
	p.Write(hosttest.Request(`"good"`, acpterm.MethodCreate, hosttest.ChildRequest("print", "good")))
	<-asked
	<-asked
	answer["good"] <- acpterm.Answer{Approval: acpterm.ApprovalAllowAlways}
	r := p.Read()
	require.Equal(t, `"good"`, string(r.ID))
	require.Nil(t, r.Error)
	answer["bad"] <- acpterm.Answer{Approval: acpterm.ApprovalRejectOnce}
	r = p.Read()
	require.Equal(t, `"bad"`, string(r.ID))
	require.EqualValues(t, -32602, r.Error.Code)
}

// An answer that arrives while its session is being closed does not apply to the next session of that name.
func TestAnApprovalDoesNotOutliveItsSession(t *testing.T) {
	var m *acpterm.Manager
	closes, asked := true, 0
	m, _ = asking(t, func(ctx context.Context, _ acpterm.Question) acpterm.Answer {
		asked++
		if closes {
			require.NoError(t, m.CloseSession(context.WithoutCancel(ctx), "s"))
		}
		return acpterm.Answer{Approval: acpterm.ApprovalSession}
	})
	require.NoError(t, m.OpenSession("s", nil))
	_, err := m.Create(t.Context(), hosttest.ChildRequest("print", "x"), nil)
	require.ErrorIs(t, err, acpterm.ErrSessionNotFound)

	closes = false
	require.NoError(t, m.OpenSession("s", nil))
	hosttest.Create(t, m, hosttest.ChildRequest("print", "x"))
	require.Equal(t, 2, asked, "the first answer is not remembered")
	hosttest.Create(t, m, hosttest.ChildRequest("print", "x"))
	require.Equal(t, 2, asked, "the second one is")
}

// An approval for all sessions does not end with one of them, not even with one without a name.
func TestAnApprovalForAllSessionsOutlivesEach(t *testing.T) {
	asked := 0
	m, _ := asking(t, func(context.Context, acpterm.Question) acpterm.Answer {
		asked++
		return acpterm.Answer{Approval: acpterm.ApprovalAllowAlways}
	})
	hosttest.Create(t, m, hosttest.ChildRequest("print", "x"))
	require.NoError(t, m.CloseSession(t.Context(), "s"))
	require.NoError(t, m.CloseSession(t.Context(), ""))
	hosttest.Create(t, m, hosttest.ChildRequest("print", "x"))
	require.Equal(t, 1, asked)
}

// Remembered approvals can be listed, without the values of variables, and revoked. Then the user is asked again.
func TestApprovalsAreListedAndRevoked(t *testing.T) {
	asked := 0
	var approvals policy.Approvals
	m := hosttest.NewManager(t, &acpterm.Options{
		Policy: approvals.Policy(acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
			return acpterm.Decision{Verdict: acpterm.VerdictAsk, Rule: "ask"}
		})),
		Approve: approvals.Approve(func(_ context.Context, q acpterm.Question) acpterm.Answer {
			asked++
			if q.SessionID == "always" {
				return acpterm.Answer{Approval: acpterm.ApprovalAllowAlways, By: "a person"}
			}
			return acpterm.Answer{Approval: acpterm.ApprovalSession}
		}),
	})
	require.NoError(t, m.OpenSession("one", nil))
	require.Empty(t, approvals.List())
	in := func(session acpterm.SessionID) acpterm.CreateTerminalRequest {
		req := hosttest.InSession(session, hosttest.ChildRequest("exit", "0"))
		req.Env = []acpterm.EnvVariable{{Name: "SECRET", Value: "hidden-" + string(session)}}
		return req
	}
	hosttest.Finish(t, m, in("one"))
	always := hosttest.Finish(t, m, in("always"))
	require.Equal(t, 2, asked)

	list := approvals.List()
	require.Len(t, list, 2)
	require.Equal(t, acpterm.SessionID("one"), list[0].SessionID)
	require.Empty(t, list[1].SessionID)
	require.Equal(t, always.Command().Args, list[1].Command.Args)
	require.Equal(t, []string{"SECRET"}, list[1].Variables)
	require.Equal(t, acpterm.Answer{Approval: acpterm.ApprovalAllowAlways, By: "a person"}, list[1].Answer)
	require.Equal(t, "ask", list[1].Rule)
	require.NotContains(t, fmt.Sprintf("%+v", list), "hidden")

	hosttest.Finish(t, m, in("always"))
	require.Equal(t, 2, asked, "it is remembered")
	require.True(t, approvals.Revoke(list[1].ID))
	require.False(t, approvals.Revoke(list[1].ID))
	hosttest.Finish(t, m, in("always"))
	require.Equal(t, 3, asked)
	hosttest.Finish(t, m, in("one"))
	require.Equal(t, 3, asked, "the other one is remembered still")
	require.NoError(t, m.CloseSession(t.Context(), "one"))
	require.Len(t, approvals.List(), 1)

	hosttest.Finish(t, m, in("one")) // not open now
	hosttest.Finish(t, m, in("one"))
	require.Equal(t, 4, asked)
	approvals.Forget("one")
	hosttest.Finish(t, m, in("one"))
	require.Equal(t, 5, asked)
}

package embedtest

// Values other than the named ones: verdicts, approvals, states.

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/stretchr/testify/require"
)

func TestUnknownValuesArePrintedAsNumbers(t *testing.T) {
	require.Equal(t, "Verdict(9)", acpterm.Verdict(9).String())
	require.Equal(t, "Verdict(-1)", acpterm.Verdict(-1).String())
	require.Equal(t, "Approval(9)", acpterm.Approval(9).String())
	require.Equal(t, "Approval(-1)", acpterm.Approval(-1).String())
	require.Equal(t, "State(9)", acpterm.State(9).String())
	require.Equal(t, "State(-1)", acpterm.State(-1).String())
	text, err := json.Marshal(acpterm.Verdict(9))
	require.NoError(t, err)
	require.Equal(t, `"Verdict(9)"`, string(text))
	var v acpterm.Verdict
	require.Error(t, json.Unmarshal(text, &v))
}

func TestUnknownVerdictDenies(t *testing.T) {
	for _, unknown := range []acpterm.Verdict{-1, 3, 9} {
		say := func(v acpterm.Verdict) acpterm.Policy {
			return acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
				return acpterm.Decision{Verdict: v, Rule: "rule " + v.String(), Reason: "fine"}
			})
		}
		changing := acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
			c := p.Command
			return acpterm.Decision{Verdict: unknown, Rule: "rule " + unknown.String(), Change: &c}
		})
		for name, policy := range map[string]acpterm.Policy{
			"alone": say(unknown), "before": acpterm.Policies{say(unknown), say(acpterm.VerdictAllow)},
			"after": acpterm.Policies{say(acpterm.VerdictAllow), say(unknown)}, "ask": acpterm.Policies{say(acpterm.VerdictAsk), say(unknown)},
			"change": changing,
		} {
			t.Run(name+" "+unknown.String(), func(t *testing.T) {
				hook, events := hosttest.Record()
				once := func(context.Context, acpterm.Question) acpterm.Answer {
					return acpterm.Answer{Approval: acpterm.ApprovalAllowOnce}
				}
				m := hosttest.NewManager(t, &acpterm.Options{Policy: policy, Approve: once}, hook)
				_, err := m.Create(t.Context(), hosttest.ChildRequest("print", "x"), nil)
				require.ErrorIs(t, err, acpterm.ErrDenied)
				require.ErrorContains(t, err, unknown.String())
				d := (<-events).(*acpterm.DecisionEvent)
				require.Equal(t, acpterm.VerdictDeny, d.Verdict)
				require.Equal(t, "rule "+unknown.String(), d.Rule)
				require.Contains(t, d.Reason, unknown.String())
				require.ErrorIs(t, d.Err, acpterm.ErrDenied)
			})
		}
	}
}

func TestUnknownApprovalDenies(t *testing.T) {
	for _, unknown := range []acpterm.Approval{-1, 5, 9} {
		t.Run(unknown.String(), func(t *testing.T) {
			asked := 0
			m, events := asking(t, func(context.Context, acpterm.Question) acpterm.Answer {
				asked++
				return acpterm.Answer{Approval: unknown, By: "a person"}
			})
			for i := range 2 {
				_, err := m.Create(t.Context(), hosttest.ChildRequest("print", "x"), nil)
				require.ErrorIs(t, err, acpterm.ErrDenied)
				require.ErrorContains(t, err, unknown.String())
				require.Equal(t, i+1, asked, "it is not remembered")
				d := (<-events).(*acpterm.DecisionEvent)
				require.Equal(t, acpterm.VerdictDeny, d.Verdict)
				require.Equal(t, unknown.String(), d.Approval)
				require.Equal(t, "a person", d.Approver)
			}
		})
	}
}

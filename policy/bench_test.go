package policy_test

// The cost of a decision, with and without the start that it is about.
//
//	go test -run '^$' -bench Policy -benchtime 300x ./policy

import (
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/policy"
	"github.com/stretchr/testify/require"
)

func BenchmarkPolicy(b *testing.B) {
	rules := policy.Rules{Rules: []policy.Rule{
		{Name: "git", Verdict: acpterm.VerdictAllow, Program: "git", Args: []string{"status"}},
		{Name: "true", Verdict: acpterm.VerdictAllow, Program: "true", Args: []string{"*", "..."}},
		{Name: "no force", Verdict: acpterm.VerdictDeny, Program: "git", AnyArg: []string{"--force*"}},
	}}
	compiled, err := rules.Compile(nil)
	require.NoError(b, err)
	all := acpterm.Policies{compiled, policy.AllowVariables(policy.SafeVariables()...), policy.NoShell()}
	req := acpterm.CreateTerminalRequest{SessionID: "s", Command: "true", Args: []string{"a", "b"}, Cwd: "/"}
	for _, way := range []struct {
		name    string
		options acpterm.Options
	}{{"without", acpterm.Options{}}, {"with", acpterm.Options{Policy: all}}} {
		b.Run("start/"+way.name, func(b *testing.B) {
			m := acptermtest.NewManager(b, &way.options)
			for b.Loop() {
				term, err := m.Create(b.Context(), req, nil)
				require.NoError(b, err)
				b.StopTimer()
				require.NoError(b, m.Release(b.Context(), "s", term.ID()))
				b.StartTimer()
			}
		})
		// Everything but the start, which a quota refuses.
		b.Run("no-start/"+way.name, func(b *testing.B) {
			way.options.MaxTerminals = 1
			m := acptermtest.NewManager(b, &way.options)
			_, err := m.Create(b.Context(), req, nil)
			require.NoError(b, err)
			for b.Loop() {
				if _, err := m.Create(b.Context(), req, nil); err == nil {
					b.Fatal("started")
				}
			}
		})
	}
}

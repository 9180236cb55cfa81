package embedtest

// Terminals attached by an embedder, and texts of their owner.

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
)

// The owner of a terminal cannot choose an empty id, or one that the Manager has assigned in any session.
func TestIDsThatCannotBeAttached(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	h := acpterm.NewHandler(m, nil)
	assigned := hosttest.Create(t, m, hosttest.ChildRequest("sleep")).ID()
	require.NoError(t, m.Release(t.Context(), "s", assigned))
	for name, c := range map[string]struct {
		session acpterm.SessionID
		id      acpterm.TerminalID
		field   string
	}{
		"no session":          {"", "mine", "sessionId"},
		"no id":               {"s", "", "terminalId"},
		"the Manager's":       {"s", assigned, "terminalId"},
		"in another session":  {"other", assigned, "terminalId"},
		"in use":              {"s", "used", "terminalId"},
		"in use, not another": {"other", "used", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if c.id == "used" {
				h.Attach(acpterm.TerminalInfo{SessionID: "s", ID: "used"}, nil, nil)
			}
			_, err := h.Attach(acpterm.TerminalInfo{SessionID: c.session, ID: c.id}, nil, nil)
			if c.field == "" {
				require.NoError(t, err)
				return
			}
			refused, ok := errors.AsType[*acpterm.Error](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, acpterm.ErrInvalidParams, refused.Kind)
			require.Equal(t, c.field, refused.Field)
		})
	}
}

// An exit status can be printed, whoever has made it.
func TestExitStatusesArePrintable(t *testing.T) {
	for signal, want := range map[string]string{
		"SIGTERM": "signal SIGTERM", "SIGRTMIN+3": "signal SIGRTMIN+3", "": `signal ""`,
		"X\x1b[2J\x1b]52;c;RVZJTA==\a\r[1] $ rm -rf ~": `signal "X\x1b[2J\x1b]52;c;RVZJTA==\a\r[1] $ rm -"`,
		"SIG\u202eTERM\u009b\xff":                      `signal "SIG\u202eTERM\u009b\xff"`,
	} {
		require.Equal(t, want, acpterm.TerminalExitStatus{Signal: &signal}.String())
	}
}

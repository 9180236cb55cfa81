package acpsdk_test

import (
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acpsdk"
	"github.com/acpterm/acpterm/acptermtest"
	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
)

func TestTerminalsOutliveTheirConnection(t *testing.T) {
	m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{"block": acptermtest.Block}})
	options := &acpsdk.Options{KeepOnClose: time.Hour, SessionPrefix: "a/"}
	first := acpsdk.New(m, options)
	created, err := first.CreateTerminal(t.Context(), acp.CreateTerminalRequest{SessionId: "s", Command: "block"})
	require.NoError(t, err)
	require.NoError(t, first.CloseTerminals(t.Context()))
	output := acp.TerminalOutputRequest{SessionId: "s", TerminalId: created.TerminalId}
	next := acpsdk.New(m, options)
	_, err = next.TerminalOutput(t.Context(), output)
	require.ErrorIs(t, acpsdk.Cause(err), acpterm.ErrTerminalNotFound)
	require.Len(t, next.TakeOver("s"), 1)
	_, err = next.TerminalOutput(t.Context(), output)
	require.NoError(t, err)
	require.NoError(t, next.CloseTerminals(t.Context()))
	require.Len(t, m.Terminals(), 1, "kept again")
	var none *acpsdk.Terminals
	require.Empty(t, none.TakeOver("s"))
}

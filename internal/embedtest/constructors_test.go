package embedtest

// Constructors turn nil and meaningless values into something that fails or refuses, without a panic.

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
)

func TestHandlerWithoutAManager(t *testing.T) {
	h := acpterm.NewHandler(nil, nil)
	for _, method := range []string{acpterm.MethodCreate, acpterm.MethodOutput, acpterm.MethodRelease} {
		_, err := h.Dispatch(t.Context(), method, json.RawMessage(`{"sessionId":"s","terminalId":"x","command":"x"}`))
		require.ErrorIs(t, err, acpterm.ErrInternal, method)
	}
	require.NoError(t, h.Close())
}

func TestFilterWithoutAConnection(t *testing.T) {
	for _, conn := range []io.ReadWriteCloser{nil, agentproc.JoinStdio(nil, nil)} {
		r := hosttest.Rest(t, conn, nil)
		_, err := r.Read(make([]byte, 10))
		require.ErrorIs(t, err, io.EOF)
		_, err = io.WriteString(r, "1\n")
		require.ErrorIs(t, err, os.ErrClosed)
		require.NoError(t, r.Close())
	}
}

// A negative limit allows no line, rather than any line.
func TestNegativeLimits(t *testing.T) {
	skipped := 0
	conn := &hosttest.BytesConn{Reader: strings.NewReader(`{"jsonrpc":"2.0","method":"x"}` + "\n" + strings.Repeat("x", 100_000) + "\n")}
	all, err := io.ReadAll(hosttest.Rest(t, conn, &acpterm.HandlerOptions{
		LineLimit: -1, SkippedLines: func([]byte, int64, string) { skipped++ },
	}))
	require.NoError(t, err)
	require.Empty(t, all)
	require.Equal(t, 2, skipped)

	p := hosttest.ConnectPeer(t, hosttest.NewManager(t, nil), &acpterm.HandlerOptions{MaxPending: -1})
	p.Write(hosttest.Request(`1`, acpterm.MethodOutput, hosttest.Of("none")))
	p.Refused("pending_requests", -1)
	p = hosttest.ConnectPeer(t, hosttest.NewManager(t, nil), &acpterm.HandlerOptions{LineLimit: math.MaxInt64})
	require.Nil(t, p.Ask(`1`, acpterm.MethodCreate, hosttest.ChildRequest("exit", "0")).Error)
}

// A Handler keeps the options it was created with.
func TestHandlerOptionsAreCopied(t *testing.T) {
	offer := acpterm.ClientCapabilities{}
	h := acpterm.NewHandler(hosttest.NewManager(t, nil), &acpterm.HandlerOptions{Capabilities: &offer})
	offer.Terminal = true
	_, err := h.Dispatch(t.Context(), acpterm.MethodOutput, json.RawMessage(`{}`))
	var refused *acpterm.CapabilityError
	require.ErrorAs(t, err, &refused)
}

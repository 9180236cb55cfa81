package main

// What only Linux has: to find again what a host left that was killed, and the sandbox.

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A host that is killed leaves a grandchild behind. The next one ends it, and says so.
func TestTheNextHostRecovers(t *testing.T) {
	c := newConfig(t)
	host, _, pid := startHost(t, c, "leave")
	require.NoError(t, host.Process.Kill())
	require.Error(t, host.Wait())
	require.True(t, lives(pid))

	var out, log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	require.NoError(t, serve(c, strings.NewReader(""), &out))
	require.Contains(t, log.String(), "msg=recovered")
	require.Eventually(t, func() bool { return !lives(pid) }, time.Minute, time.Millisecond) // until its new parent has reaped it
}

// Without bwrap nothing is run unsandboxed: there is no host.
func TestASandboxThatIsMissing(t *testing.T) {
	c := newConfig(t)
	c.sandbox = true
	t.Setenv("PATH", t.TempDir())
	require.ErrorContains(t, serve(c, strings.NewReader(""), nil), "bwrap")
}

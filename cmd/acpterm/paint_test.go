package main

// The client's colours, and how it says how long something took.

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPaint(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("COLORTERM", "")
	s := newScreen(nil, nil, true, nil)
	require.Equal(t, "\x1b[35m[1] |\x1b[m ", s.paint("[1] | "))
	require.Equal(t, "\x1b[35m[11] =\x1b[m ", s.paint("[11] = "), "the same again after all others")
	require.Equal(t, "\x1b[32m[agent 2] $\x1b[m ", s.paint("[agent 2] $ "))
	require.Equal(t, "> ", s.paint("> "))
	s.colours = false
	require.Equal(t, "[1] | ", s.paint("[1] | "))
	require.Equal(t, "x", s.paintFailure("x"))
}

func TestInWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 400 * time.Microsecond: "0 ms", 12*time.Millisecond + 600*time.Microsecond: "13 ms",
		999 * time.Millisecond: "999 ms", time.Second: "1 s", 1260 * time.Millisecond: "1.2 s", 59990 * time.Millisecond: "59.9 s",
		time.Minute: "1 min 0 s", 200*time.Second + time.Millisecond: "3 min 20 s", 2*time.Hour + 5*time.Minute: "2 h 5 min",
	} {
		require.Equal(t, want, inWords(d), d)
	}
}

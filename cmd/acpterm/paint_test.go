package main

// The client's colours, and how it says how long something took.

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The colours of commands are readable on white and on black, and differ from one another.
func TestColoursOfCommandsAreReadable(t *testing.T) {
	luminance := func(n int) float64 { // of a colour of xterm's cube of 6x6x6, as WCAG defines it
		total := 0.0
		for i, weight := range []float64{0.0722, 0.7152, 0.2126} {
			level := (n - 16) / []int{1, 6, 36}[i] % 6
			c := 0.0
			if level > 0 {
				c = (55 + 40*float64(level)) / 255
			}
			if c <= 0.04045 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			total += weight * c
		}
		return total
	}
	seen := make(map[int]bool)
	for _, n := range palette256 {
		require.GreaterOrEqual(t, 1.05/(luminance(n)+0.05), 4.0, "%d on white", n)
		require.GreaterOrEqual(t, (luminance(n)+0.05)/0.05, 4.0, "%d on black", n)
		require.False(t, seen[n])
		seen[n] = true
	}
}

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

package acpsdk_test

// The agent's reader takes 10 MiB, to the byte, and ends its connection over a longer line.

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/acpterm/acpterm/acpsdk"
	"github.com/stretchr/testify/require"
)

func TestOutputOverTheLine(t *testing.T) {
	for name, text := range map[string]string{
		"control characters": "\x01",
		"CJK":                "終端",
		"what HTML has":      "<é>",
		"one that fits":      "x",
	} {
		t.Run(name, func(t *testing.T) {
			times := 15 << 20 / len(text) // which is less than the limit
			if text == "x" {
				times = 10<<20 - 4<<10
			}
			c := converse(t, settings{})
			req := request("flood", fmt.Sprint(times), fmt.Sprintf("%q", text))
			req.OutputByteLimit = new(16 << 20)
			id, _ := c.create(req)
			require.Equal(t, new(0), c.wait(id).ExitCode)
			out := c.output(id)
			require.NotNil(t, out.ExitStatus)
			require.Equal(t, text != "x", out.Truncated)
			whole := strings.Repeat(text, times)
			require.True(t, utf8.ValidString(out.Output))
			require.True(t, strings.HasSuffix(whole, out.Output))
			require.Equal(t, out.Truncated, len(out.Output) < len(whole))
			require.LessOrEqual(t, c.longestLine(), 10<<20)
			require.Greater(t, c.longestLine(), 10<<20-4<<10, "more would have gone in")
			c.output(id) // the connection lives
		})
	}
}

func TestMaxLineBytes(t *testing.T) {
	c := converse(t, settings{terminals: &acpsdk.Options{MaxLineBytes: 4<<10 + 10}})
	id, _ := c.create(request("print", "ab\x01é\n<"))
	c.wait(id)
	out := c.output(id)
	require.Equal(t, "é\n<", out.Output) // which take 2, 2 and 6 bytes there
	require.True(t, out.Truncated)
}

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
	const sdks = 10 << 20 // what the SDK reads of a line
	for name, of := range map[string]struct {
		text  string
		limit int // of a line
	}{
		"control characters": {"\x01", sdks},
		"CJK":                {"終端", 1 << 20},
		"what HTML has":      {"<é>", 1 << 20},
		"one that fits":      {"x", sdks},
	} {
		t.Run(name, func(t *testing.T) {
			text, options := of.text, &acpsdk.Options{MaxLineBytes: of.limit}
			if of.limit == sdks {
				options = nil // it is the default
			}
			times := of.limit / 2 * 3 / len(text) // more than fits, and less than OutputByteLimit
			if text == "x" {
				times = of.limit - 4<<10
			}
			c := converse(t, settings{terminals: options})
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
			require.LessOrEqual(t, c.longestLine(), of.limit)
			require.Greater(t, c.longestLine(), of.limit-4<<10, "more would have gone in")
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

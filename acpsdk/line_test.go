package acpsdk_test

// The agent closes its connection after a line of more than 10 MiB.

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/acpterm/acpterm/acpsdk"
	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
)

func TestOutputOverTheLine(t *testing.T) {
	const sdkLimit = 10 << 20 // of a line
	for name, of := range map[string]struct {
		text    string
		encoded int // bytes in a line
		limit   int // of a line
	}{
		"control characters": {"\x01", len(`\u0001`), sdkLimit},
		"CJK":                {"終端", len("終端"), 1 << 20},
		"escaped for HTML":   {"<é>", len(`\u003cé\u003e`), 1 << 20},
		"output that fits":   {"x", len("x"), 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			text, options := of.text, &acpsdk.Options{MaxLineBytes: of.limit}
			if of.limit == sdkLimit {
				options = nil // the default
			}
			times := of.limit / 2 * 3 / of.encoded // more than fits, but less than OutputByteLimit
			if text == "x" {
				times = of.limit - 4<<10
			}
			c := converse(t, settings{terminals: options})
			req := request("repeat", fmt.Sprint(times), fmt.Sprintf("%q", text))
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
			require.LessOrEqual(t, int(c.longestLine.Load()), of.limit)
			require.Greater(t, int(c.longestLine.Load()), of.limit-4<<10, "the output is as long as fits")
			_, err := c.ReleaseTerminal(t.Context(), acp.ReleaseTerminalRequest{SessionId: "s", TerminalId: id})
			require.NoError(t, err, "the connection is open")
		})
	}
}

// The answer contains the requested head of the output if both fit.
func TestOutputWithItsHead(t *testing.T) {
	for _, test := range []struct {
		room        int
		output      string
		head        map[string]any
		whyNotWhole string
	}{
		{100, "ab\x01é\n<", map[string]any{"head": "ab", "headEnd": 2.0, "outputStart": 0.0}, ""},
		{30, "ab\x01é\n<", nil, "of 30 bytes, 13 are for the output"},
	} {
		c := converse(t, settings{terminals: &acpsdk.Options{MaxLineBytes: 4<<10 + test.room}})
		req := request("print", test.output)
		req.Meta = map[string]any{"acpterm": map[string]any{"headBytes": 2}}
		id, _ := c.create(req)
		c.wait(id)
		out := c.output(id)
		require.Equal(t, test.output, out.Output)
		if test.head == nil {
			require.Nil(t, out.Meta, test.whyNotWhole)
		} else {
			require.Equal(t, map[string]any{"acpterm": test.head}, out.Meta)
		}
		require.LessOrEqual(t, int(c.longestLine.Load()), 4<<10+test.room)
	}
}

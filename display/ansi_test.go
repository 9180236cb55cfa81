package display_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/display"
)

func TestStripANSI(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"plain, 日本語 é ✓ © \u00a0\n": "plain, 日本語 é ✓ © \u00a0\n",
		// CSI.
		"\x1b[1;31mred\x1b[0m":        "red",
		"\x1b[38:2::1:2:3mx\x1b[m":    "x",
		"\x1b[?25l\x1b[2J\x1b[1;1Hx":  "x",
		"\x1b[ q\x1b[!p\x1b[>4;2mx":   "x",
		"a\x1b[3\n1mb":                "a\nb", // a control character inside takes effect
		"a\x1b[3\x181mb\x1b[3\x1a1mc": "a1mb1mc",
		"a\x1b[3\x1b[1mb":             "ab",
		"a\x1b[3é":                    "aé",
		"a\x1b[3日":                    "a日",
		// OSC.
		"\x1b]0;title\ax":     "x",
		"\x1b]0;title\x1b\\x": "x",
		"\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\!": "link!",
		"\x1b]8;id=1;file:///é©\alink\x1b]8;;\a!":              "link!",
		"\x1b]0;title\u009cx":                                  "x",
		"\x1b]0;cut\nnext line":                                "\nnext line",
		"\x1b]0;a\x1b[1mx":                                     "x",
		"\x1b]0;a\x18x":                                        "x",
		// The other strings.
		"\x1bPq#0~\n~\a~\x1b\\x":                "x",
		"\x1bXsos\x1b\\a\x1b^pm\x1b\\b":         "ab",
		"\x1b_Gi=1;AAAA\x1b\\x":                 "x",
		"\u0090dcs\u009ca\u0098sos\u009cb":      "ab",
		"\u009epm\u009ca\u009fapc\x1b\\b":       "ab",
		"\u009d0;title\ax\u009b1;31mred\u009bm": "xred",
		// Two bytes, and more.
		"\x1b7\x1b8\x1bc\x1b=\x1b>\x1bMx": "x",
		"\x1b(B\x1b)0\x1b#8\x1b%Gx":       "x",
		"\x1b\x1b[mx":                     "x",
		"a\x1b\nZb":                       "a\nb",
		"a\x1b\x7fZb":                     "ab",
		"\u0085\u0084\u008dx\u009cy":      "xy",
		// Unfinished.
		"a\x1b": "a", "a\x1b[": "a", "a\x1b[1;3": "a", "a\x1b]0;ti": "a", "a\x1bPx\n": "a", "a\x1b(": "a",
		"a\x1b]0;x\x1b": "a",
		// Kept.
		"50%\r100%\b\a\x00\x7f\t": "50%\r100%\b\a\x00\x7f\t",
		// Not UTF-8.
		"a\xff\x9b31m":       "a\xff\x9b31m",
		"a\xc2":              "a",
		"a\xc2z\xc2\xc2z":    "a\uFFFDz\uFFFD\uFFFDz",
		"\xc2\x1b[m\x9b31mx": "\uFFFD\x9b31mx", // the bytes around a sequence do not form another
	} {
		require.Equal(t, want, display.StripANSI(text), "%q", text)
	}
}

// Unchanged text is not copied.
func TestStripANSIOfPlainText(t *testing.T) {
	text := strings.Repeat("plain 日本語\n", 1000)
	require.Zero(t, testing.AllocsPerRun(10, func() { _ = display.StripANSI(text) }))
}

func FuzzStripANSI(f *testing.F) {
	for _, seed := range []string{
		"\x1b[1;31mred\x1b[0m", "\x1b]8;;u\x1b\\l\x1b]8;;\a", "\u009b1m\u0090x\u009c", "\xc2\x1b[m\x9bx", "é©\xff\x1b(",
	} {
		f.Add(seed, uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		whole := display.StripANSI(text)
		require.NotContains(t, whole, "\x1b")
		for r := rune(0x80); r < 0xa0; r++ {
			require.NotContains(t, whole, string(r))
		}
		require.Equal(t, whole, display.StripANSI(whole))
		if utf8.ValidString(text) {
			require.True(t, utf8.ValidString(whole), "%q", whole)
		}
		var s display.ANSIStripper
		var chunked strings.Builder
		for rest := text; rest != ""; {
			n := min(int(size)%16+1, len(rest))
			chunked.WriteString(s.Strip(rest[:n]))
			rest = rest[n:]
		}
		require.Equal(t, whole, chunked.String())
	})
}

func ExampleStripANSI() {
	output := "\x1b[32mok\x1b[0m  \x1b]8;;https://example.org\x1b\\example.org\x1b]8;;\x1b\\"
	fmt.Println(display.StripANSI(output))
	// Output: ok  example.org
}

func ExampleANSIStripper() {
	var s display.ANSIStripper
	for _, chunk := range []string{"\x1b[3", "2mok\x1b", "[0m\n"} {
		fmt.Print(s.Strip(chunk))
	}
	// Output: ok
}

// colours writes a sequence in two pieces, and waits until it is ended.
func colours(p *acptermtest.Process) int {
	fmt.Fprint(p, "\x1b[3")
	p.Sleep(time.Millisecond)
	fmt.Fprint(p, "1mred\n")
	return acptermtest.Block(p)
}

func TestFollow(t *testing.T) {
	broken := errors.New("broken")
	for name, want := range map[string]error{
		"the terminal ends": nil, "ctx ends": context.Canceled, "the writer fails": broken,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{"colours": colours}})
				terminal, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "colours"}, nil)
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var w failingWriter
				if want == broken {
					w.err = broken
				}
				followed := make(chan error, 1)
				go func() { followed <- display.Follow(ctx, &w, terminal) }()
				time.Sleep(time.Second) // in the bubble's time: everything is written
				switch want {
				case nil:
					m.Close()
				case context.Canceled:
					cancel()
				}
				require.ErrorIs(t, <-followed, want)
				if w.err == nil {
					require.Equal(t, "red\n", w.String())
				}
			})
		})
	}
}

type failingWriter struct {
	strings.Builder
	err error
}

func (w *failingWriter) WriteString(text string) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	return w.Builder.WriteString(text)
}

var _ io.StringWriter = (*failingWriter)(nil)

// A sequence cut off by a replacement of the output does not hide the new output.
func TestFollowReplacedOutput(t *testing.T) {
	m := acptermtest.NewManager(t, nil)
	h := acpterm.NewHandler(m, nil)
	terminals := agentterm.New(h, nil)
	snapshot := func(text string) {
		data, _ := json.Marshal([]byte(text))
		_, err := terminals.Update(fmt.Appendf(nil, `{"sessionId":"s","update":{"sessionUpdate":"terminal_update",
			"terminalId":"t","output":{"data":%s}}}`, data))
		require.NoError(t, err)
	}
	snapshot("one\x1b]0;title")
	r, w := io.Pipe()
	followed := make(chan error, 1)
	go func() { followed <- display.Follow(t.Context(), w, m.Terminals()[0]) }()
	read := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		_, err := io.ReadFull(r, got)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	read("one")
	snapshot("two")
	read("two")
	require.NoError(t, h.Close())
	require.NoError(t, <-followed)
}

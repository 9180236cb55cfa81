package terminaltest

// Reading the output.

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/stretchr/testify/require"
)

func outputTests() []test {
	return []test{
		{"BothOutputsShareOneOrder", TestBothOutputsShareOneOrder},
		{"OutputLimits", TestOutputLimits},
		{"HeadOfTheOutput", TestHeadOfTheOutput},
		{"CharacterSplitByAPause", TestCharacterSplitByAPause},
		{"PlainOutput", TestPlainOutput},
		{"ThirtyTerminalsDoNotMix", TestThirtyTerminalsDoNotMix},
		{"FollowIsLive", TestFollowIsLive},
		{"FollowTellsWhatWasMissed", TestFollowTellsWhatWasMissed},
		{"FollowEndsWithItsContextAndItsLoop", TestFollowEndsWithItsContextAndItsLoop},
	}
}

// 200 writes, alternating between standard output and standard error, arrive in exactly this order.
func TestBothOutputsShareOneOrder(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	var want strings.Builder
	for i := range 200 {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	require.Equal(t, want.String(), RunToEnd(t, m, p.Child("alternate", "200")).Output)
}

func TestOutputLimits(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	for text, wants := range map[string]map[uint64]string{
		"aé✓😀": {0: "", 1: "", 2: "", 3: "", 4: "😀", 5: "😀", 100: "aé✓😀"},
		"😀✓é":  {0: "", 1: "", 2: "é", 3: "é", 4: "é", 5: "✓é", 100: "😀✓é"},
		"ééé":  {0: "", 1: "", 2: "é", 3: "é", 4: "éé", 5: "éé", 100: "ééé"},
	} {
		for limit, want := range wants {
			req := p.Child("print", text)
			req.OutputByteLimit = new(limit)
			out := RunToEnd(t, m, req)
			require.Equal(t, want, out.Output, "%s at %d", text, limit)
			require.Equal(t, want != text, out.Truncated, "%s at %d", text, limit)
		}
	}
	for limit, want := range map[uint64]int{10: 3, 100: 33, 10_000: 1000} {
		req := p.Child("print", strings.Repeat("\xff", 1000))
		req.OutputByteLimit = new(limit)
		out := RunToEnd(t, m, req)
		require.Equal(t, strings.Repeat("\uFFFD", want), out.Output, "at %d", limit)
		require.Equal(t, want < 1000, out.Truncated, "at %d", limit)
	}
}

// The first bytes are kept in addition to the last: as many as the host wants for itself, and as many as the agent
// requests.
func TestHeadOfTheOutput(t *testing.T, p Place) {
	const text = "aé✓😀 and the end"
	for _, c := range []struct {
		asked int64
		head  string
	}{
		{0, ""}, {2, "a"}, {3, "aé"}, {5, "aé"}, {6, "aé✓"}, {10, "aé✓😀"}, {100, text}, {1 << 62, text},
	} {
		t.Run(fmt.Sprint(c.asked), func(t *testing.T) { // each manager ends before the next
			m := p.NewManager(t, nil)
			req := p.Child("print", text)
			req.OutputByteLimit = new(uint64(7))
			if c.asked > 0 {
				agent.AskForHead(&req, c.asked)
			}
			term := Finish(t, m, req)
			head, end := term.Head()
			require.Equal(t, c.head, head)
			require.EqualValues(t, len(head), end)
			out := term.Output()
			require.Equal(t, "the end", out.Output)
			if c.asked == 0 {
				require.Nil(t, out.Meta)
				require.Nil(t, agent.ReadHead(out))
				return
			}
			start := int64(len(text) - len(out.Output))
			want := &agent.Head{Text: c.head, End: int64(len(c.head)), OutputStart: start}
			require.Equal(t, want, agent.ReadHead(out))
		})
	}
}

// A character written in two parts is never seen in half, and an unfinished one is shown at the end.
func TestCharacterSplitByAPause(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	file := filepath.Join(p.TempDir(t), "go")
	for _, split := range []struct{ first, second, before, after string }{
		{"a\xe2\x9c", "\x93b", "a", "a✓b"},
		{"a\xf0", "\x9f\x98\x80", "a", "a😀"},
		{"a\xe2\x9c", "b", "a", "a\uFFFD\uFFFDb"},
		{"é", "\xf0\x9f\x98", "é", "é\uFFFD\uFFFD\uFFFD"},
	} {
		if runtime.GOOS == "windows" && strings.Contains(split.after, "\uFFFD") {
			continue // that is text in the console's code page
		}
		p.remove(file + ".0")
		term := Create(t, m, p.Child("pieces", file, strconv.Quote(split.first), strconv.Quote(split.second)))
		for term.OutputTotal() < int64(len(split.before)) { // Windows withholds bytes that may be invalid UTF-8
			runtime.Gosched()
		}
		for range 3 { // polling changes nothing
			require.Equal(t, split.before, term.Output().Output)
		}
		require.False(t, term.Output().Truncated)
		require.NoError(t, p.writeFile(file+".0", nil, 0o600))
		var followed strings.Builder
		for chunk := range term.Follow(t.Context(), 0) {
			require.True(t, utf8.ValidString(chunk.Text))
			followed.WriteString(chunk.Text)
		}
		require.Equal(t, split.after, term.Output().Output)
		require.Equal(t, split.after, followed.String())
	}
}

// PlainOutput removes escape sequences from the text of agents only, even if they are written in two parts, and shows
// an unfinished character at the end.
func TestPlainOutput(t *testing.T, p Place) {
	m := p.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{PlainOutput: true}})
	file := filepath.Join(p.TempDir(t), "go")
	for _, split := range []struct{ first, second, before, after string }{
		{"a\x1b[3", "1mb\x1b[m", "a", "ab"},
		{"\x1b]0;title", "\acé", "", "cé"},
		{"\x1b[1mé\x1b[m\xc2", "\xa9\x1b[", "é", "é©"},
		{"a", "\x1b[mé\xc2", "a", "aé\uFFFD"},
	} {
		if runtime.GOOS == "windows" && strings.Contains(split.after, "\uFFFD") {
			continue // that is text in the console's code page
		}
		p.remove(file + ".0")
		term := Create(t, m, p.Child("pieces", file, strconv.Quote(split.first), strconv.Quote(split.second)))
		for term.OutputTotal() < int64(len(strings.TrimSuffix(split.first, "\xc2"))) {
			runtime.Gosched()
		}
		require.Equal(t, split.before, term.Output().Output)
		require.NoError(t, p.writeFile(file+".0", nil, 0o600))
		var followed strings.Builder
		for chunk := range term.Follow(t.Context(), 0) {
			followed.WriteString(chunk.Raw)
		}
		require.Equal(t, split.first+split.second, followed.String())
		AwaitExit(t, term)
		require.Equal(t, split.after, term.Output().Output)
	}
}

func TestThirtyTerminalsDoNotMix(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	terms := make([]*acpterm.Terminal, 30)
	for i := range terms {
		terms[i] = Create(t, m, p.Child("print", strings.Repeat(fmt.Sprintf("<%d>", i), 1000)))
	}
	for i, term := range terms {
		AwaitExit(t, term)
		require.Equal(t, strings.Repeat(fmt.Sprintf("<%d>", i), 1000), term.Output().Output)
	}
}

// The reader gets the first piece live, while the command waits for it to be read.
func TestFollowIsLive(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	file := filepath.Join(p.TempDir(t), "go")
	term := Create(t, m, p.Child("pieces", file, `"1"`, `"2"`, `"3"`, `"4"`))
	var got []acpterm.Chunk
	for chunk := range term.Follow(t.Context(), 0) {
		require.NoError(t, p.writeFile(fmt.Sprint(file, ".", len(got)), nil, 0o600))
		got = append(got, chunk)
	}
	require.Equal(t, []acpterm.Chunk{
		{Offset: 0, End: 1, Text: "1", Raw: "1"}, {Offset: 1, End: 2, Text: "2", Raw: "2"},
		{Offset: 2, End: 3, Text: "3", Raw: "3"}, {Offset: 3, End: 4, Text: "4", Raw: "4"},
	}, got)
}

// A reader that is too slow learns exactly how many bytes it missed, and the command did not wait for it.
func TestFollowTellsWhatWasMissed(t *testing.T, p Place) {
	m := p.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{FollowBytes: 1000}})
	req := p.Child("flood", "1000000", "1000")
	req.OutputByteLimit = new(uint64(10))
	term := Finish(t, m, req) // nothing was read before
	var text, missed, at int64
	for chunk := range term.Follow(t.Context(), 0) {
		require.Equal(t, at+chunk.Missed, chunk.Offset)
		require.Equal(t, chunk.End-chunk.Offset, int64(len(chunk.Text)))
		text, missed, at = text+int64(len(chunk.Text)), missed+chunk.Missed, chunk.End
	}
	require.Equal(t, int64(1_000_000), text+missed)
	require.GreaterOrEqual(t, text, int64(1000), "FollowBytes were kept, whatever the agent's limit")
	require.Len(t, term.Output().Output, 10)
}

func TestFollowEndsWithItsContextAndItsLoop(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	term := Create(t, m, p.Child("sleep"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for chunk := range term.Follow(ctx, 0) {
		require.Equal(t, "ready\n", chunk.Text)
		cancel() // the loop ends, though there could be more
	}
	for range term.Follow(t.Context(), -5) {
		break
	}
}

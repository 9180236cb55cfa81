//go:build unix

package mcpserver

// Excerpts of output.

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
)

func TestLongOutputShowsHeadAndTailAndMarksTheCut(t *testing.T) {
	s := connect(t, newServer(t, nil, &Options{MaxText: 4096}), nil)
	r, text := call[commandResult](t, s, "run", object{"command": "seq 1 20000"})
	require.True(t, strings.HasPrefix(r.Output, "1\n2\n3\n"), r.Output)
	require.True(t, strings.HasSuffix(r.Output, "\n19999\n20000\n"), r.Output)
	mark := fmt.Sprintf("\n[… %d bytes omitted; to read them, call output with offset ", r.OmittedBytes)
	require.Equal(t, 1, strings.Count(r.Output, mark), r.Output)
	require.Less(t, len(text), 4096+512)

	var from int64
	_, after, _ := strings.Cut(r.Output, mark)
	fmt.Sscan(after, &from)
	shown := strings.Index(r.Output, "[…")
	require.EqualValues(t, shown, from) // the head is as it was written
	require.EqualValues(t, 108894, len(r.Output)-strings.Count(r.Output, mark)*markLength(r.Output)+int(r.OmittedBytes))
	more, _ := call[commandResult](t, s, "output", object{"id": r.ID, "offset": from, "show": "start"})
	last := strings.Fields(r.Output[:shown])
	var n int
	fmt.Sscan(last[len(last)-1], &n)
	require.True(t, strings.HasPrefix(more.Output, fmt.Sprintf("%d\n%d\n", n+1, n+2)), more.Output)
}

// markLength returns the length of the mark in an output.
func markLength(output string) int {
	from := strings.Index(output, "[…")
	return strings.Index(output[from:], "\n") + 1
}

func TestOutputCanBeReadInPartsWithoutGaps(t *testing.T) {
	s := connect(t, newServer(t, nil, &Options{MaxText: 1024}), nil)
	r, _ := call[commandResult](t, s, "run", object{"command": `i=0; while [ $i -lt 500 ]; do printf '%s äöü€😀' $i; i=$((i+1)); done`})
	want := ""
	for i := range 500 {
		want += fmt.Sprintf("%d äöü€😀", i)
	}
	got, offset := "", int64(0)
	for {
		p, _ := call[commandResult](t, s, "output", object{"id": r.ID, "offset": offset, "show": "start"})
		got += p.Output
		require.Equal(t, offset, p.Offset)
		require.Zero(t, p.OmittedBytes)
		if !p.More {
			break
		}
		offset = p.NextOffset
		require.NotEmpty(t, p.Output)
	}
	require.Equal(t, want, got)
	p, _ := call[commandResult](t, s, "output", object{"id": r.ID, "offset": -4})
	require.Equal(t, "😀", p.Output)
	p, _ = call[commandResult](t, s, "output", object{"id": r.ID, "offset": int64(1) << 60})
	require.Equal(t, "", p.Output)
	require.EqualValues(t, len(want), p.Offset)
}

// An offset inside of a character moves to its start.
func TestOffsetInsideOfACharacter(t *testing.T) {
	s := connect(t, newServer(t, nil, nil), nil)
	const output = "aé漢😀"
	r, _ := call[commandResult](t, s, "run", object{"command": "printf " + output})
	for at := range len(output) {
		start := at
		for !utf8.RuneStart(output[start]) {
			start--
		}
		want := output[start:]
		for _, offset := range []int{at, at - len(output)} {
			p, _ := call[commandResult](t, s, "output", object{"id": r.ID, "offset": offset})
			require.Equal(t, want, p.Output, offset)
			require.EqualValues(t, len(output)-len(want), p.Offset)
		}
	}
	r, _ = call[commandResult](t, s, "run", object{"command": `printf 'a\377\242\242b'`}) // not characters
	p, _ := call[commandResult](t, s, "output", object{"id": r.ID, "offset": 2})
	require.EqualValues(t, 2, p.Offset)
	require.Equal(t, "\uFFFD\uFFFDb", p.Output)
}

// cutMarks matches the marks of output that is both lost and omitted.
var cutMarks = regexp.MustCompile(`\n\[… (\d+) bytes are no longer kept …\]\n` +
	`\[… (\d+) bytes omitted(?:; to read them, call output with offset (\d+) and show "start")? …\]\n`)

// requireCut checks the marks of r, and that they account for all of total. It returns the offset in them, if any.
func requireCut(t *testing.T, r commandResult, total int64) (offset int64) {
	t.Helper()
	require.Len(t, cutMarks.FindAllString(r.Output, -1), 1, r.Output)
	mark := cutMarks.FindStringSubmatch(r.Output)
	var lost, omitted int64
	fmt.Sscan(mark[1], &lost)
	fmt.Sscan(mark[2], &omitted)
	fmt.Sscan(mark[3], &offset)
	require.Positive(t, r.LostBytes)
	require.Equal(t, r.LostBytes, lost)
	require.Positive(t, r.OmittedBytes)
	require.Equal(t, r.OmittedBytes, omitted)
	shown := len(r.Output) - len(mark[0])
	require.InDelta(t, total, int64(shown)+lost+omitted, 1, r.Output) // the first mark may have begun a line
	return offset
}

func TestBeginningOfVeryLongOutputIsKept(t *testing.T) {
	const total = 14888896 + 11
	s := connect(t, newServer(t, nil, nil), nil)
	r, _ := call[commandResult](t, s, "run", object{"command": "echo first; seq 1 2000000; echo last"})
	require.True(t, strings.HasPrefix(r.Output, "first\n1\n"), r.Output)
	require.True(t, strings.HasSuffix(r.Output, "\n2000000\nlast\n"), r.Output)
	kept := requireCut(t, r, total)
	p, _ := call[commandResult](t, s, "output", object{"id": r.ID, "offset": kept, "show": "start"})
	require.Zero(t, p.LostBytes)
	require.True(t, p.More)

	p, _ = call[commandResult](t, s, "output", object{"id": r.ID, "offset": 100000, "show": "start"})
	require.Positive(t, p.LostBytes)
	require.True(t, strings.HasPrefix(p.Output, fmt.Sprintf("[… %d bytes are no longer kept …]\n", p.LostBytes)), p.Output)
}

func TestBeginningWithInvalidBytesIsKept(t *testing.T) {
	small := &acpterm.Options{Commands: acpterm.CommandOptions{OutputByteLimit: 4096, FollowBytes: 4096}}
	s := connect(t, newServer(t, small, nil), nil)
	r, _ := call[commandResult](t, s, "run", object{"command": `printf 'f\377\376irst\n'; seq 1 20000`})
	require.True(t, strings.HasPrefix(r.Output, "f\uFFFD\uFFFDirst\n1\n2\n"), r.Output)
	p, _ := call[commandResult](t, s, "output", object{"id": r.ID, "offset": 8})
	require.True(t, strings.HasPrefix(p.Output, "1\n2\n"), p.Output)
	require.Equal(t, r.LostBytes, p.LostBytes)
}

func TestCharactersAndSequencesSplitAcrossReadsStayWhole(t *testing.T) {
	s := connect(t, newServer(t, nil, nil), nil)
	// The command writes the halves on request, by means of a named pipe.
	dir := t.TempDir()
	r, _ := call[commandResult](t, s, "run", object{
		"command": `mkfifo p; printf 'a\303'; cat p >/dev/null; printf '\244 \033[3'; cat p >/dev/null; printf '1mred\033[m'`,
		"cwd":     dir, "wait_ms": 0,
	})
	step := func() { call[commandResult](t, s, "run", object{"command": ": >p", "cwd": dir}) }
	wait := func(until string) commandResult {
		w, _ := call[commandResult](t, s, "wait", object{"id": r.ID, "until": until, "offset": 0})
		require.True(t, *w.Matched)
		return w
	}
	first := wait("a")
	require.Equal(t, "a", first.Output)
	require.EqualValues(t, 1, first.NextOffset)
	step()
	second := wait("ä ")
	require.Equal(t, "aä ", second.Output) // whole, and without a piece of the sequence
	p, _ := call[commandResult](t, s, "output", object{"id": r.ID, "offset": first.NextOffset})
	require.NotContains(t, p.Output, "[")
	step()
	call[commandResult](t, s, "wait", object{"id": r.ID})
	rest, _ := call[commandResult](t, s, "output", object{"id": r.ID, "offset": p.NextOffset})
	require.Equal(t, "red", strings.TrimLeft(rest.Output, "ä "))
	all, _ := call[commandResult](t, s, "output", object{"id": r.ID})
	require.Equal(t, "aä red", all.Output)
}

func TestModelsReadPlainText(t *testing.T) {
	for written, want := range map[string]string{
		`\033[1;31mred\033[0m\r\n`:                 "red\n",
		`10%%\r50%%\r100%%\n`:                      "100%\n",
		`100 MB left\r9\033[K\n50%%\r`:             "9\n50%",
		`a\033[2;5Hb\033[1A\033[2Kc\tend  \n`:      "a\n    b\n     c\tend  \n",
		`\033]0;title\007text`:                     "text",
		`bo\bold x\bxx`:                            "bold xx",
		`a\000b\001\tc`:                            "ab\tc",
		`\377\376 bad`:                             "\uFFFD\uFFFD bad",
		`\033]8;;http://a\033\\link\033]8;;\033\\`: "link",
		``: "",
	} {
		s := connect(t, newServer(t, nil, nil), nil)
		r, _ := call[commandResult](t, s, "run", object{"command": "printf '" + written + "'"})
		require.Equal(t, want, r.Output, written)
	}
}

// Progress that overwrites itself is one line, however long the output and however short the excerpt.
func TestProgressIsOneLine(t *testing.T) {
	s := connect(t, newServer(t, nil, nil), nil)
	for _, updates := range []int{100, 20_000} {
		line := fmt.Sprintf("%d/%d [========]\n", updates, updates)
		r, _ := call[commandResult](t, s, "run", object{"command": fmt.Sprintf(
			`i=0; while [ $i -lt %[1]d ]; do i=$((i+1)); printf '\r%%d/%[1]d [========]' $i; done; echo`, updates),
		})
		require.Equal(t, line, r.Output)
		for _, part := range []string{"ends", "start", "end"} {
			p, _ := call[commandResult](t, s, "output", object{"id": r.ID, "max_bytes": 1024, "show": part})
			require.Equal(t, line, p.Output, part)
			require.Zero(t, p.OmittedBytes)
		}
		w, _ := call[commandResult](t, s, "wait", object{"id": r.ID, "until_regexp": `^\d+/\d+ \[=*\]$`})
		require.True(t, *w.Matched)
	}
}

func TestPTYShowsTheScreen(t *testing.T) {
	pty := &acpterm.Options{Commands: acpterm.CommandOptions{PTY: &acpterm.PTYOptions{}}}
	s := connect(t, newServer(t, pty, nil), nil)
	r, _ := call[commandResult](t, s, "run", object{"command": `printf 'one\rTWO\033[1;8Hright\033[2Hnext'`})
	require.Equal(t, "TWO    right\nnext", strings.TrimSpace(r.Output))
	p, _ := call[commandResult](t, s, "output", object{"id": r.ID, "offset": int64(1) << 60})
	require.Empty(t, p.Output)
}

func TestEachCutOfAScreenIsMarked(t *testing.T) {
	const total = 108894 // of seq 1 20000
	pty := acpterm.CommandOptions{PTY: &acpterm.PTYOptions{}}
	s := connect(t, newServer(t, &acpterm.Options{Commands: pty}, nil), nil)
	r, _ := call[commandResult](t, s, "run", object{"command": "seq 1 20000"})
	p, _ := call[commandResult](t, s, "output", object{"id": r.ID, "show": "start"})
	require.True(t, strings.HasPrefix(p.Output, "1\n2\n"), p.Output)
	mark := fmt.Sprintf("\n[… %d bytes omitted …]\n", p.OmittedBytes)
	require.True(t, strings.HasSuffix(p.Output, mark), p.Output)
	require.InDelta(t, total, int64(len(p.Output)-len(mark))+p.OmittedBytes, 1)
	require.False(t, p.More)

	pty.OutputByteLimit = 32 << 10
	s = connect(t, newServer(t, &acpterm.Options{Commands: pty}, nil), nil)
	r, _ = call[commandResult](t, s, "run", object{"command": "seq 1 20000"})
	require.True(t, strings.HasPrefix(r.Output, "1\n2\n"), r.Output)
	require.True(t, strings.HasSuffix(r.Output, "\n20000\n"), r.Output)
	requireCut(t, r, total)
	p, _ = call[commandResult](t, s, "output", object{"id": r.ID, "show": "start"})
	require.Equal(t, r.LostBytes, p.LostBytes)
	require.Contains(t, p.Output, lostMark(p.LostBytes))
}

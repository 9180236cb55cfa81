package display_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
	"github.com/acpterm/acpterm/internal/racetest"
)

func TestMain(m *testing.M) { racetest.Main(m) }

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "",
		"plain text, 日本語 é ✓ \\ \"'": "plain text, 日本語 é ✓ \\ \"'",
		"e\u0301 \u0e01\u0e34\u0e48": "e\u0301 \u0e01\u0e34\u0e48", // marks on letters
		"a\nb\r\tc\x1b[2J\x00\x7f":   `a\nb\r\tc\x1b[2J\x00\x7f`,
		"\xff\u00e9\xc3":             `\xffé\xc3`,
		"\ufffd":                     "\ufffd",
		// C1 controls, marks of direction, separators, blanks.
		"\u009b2J \u061c\u200e\u200f":                            `\u009b2J \u061c\u200e\u200f`,
		"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069": `\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069`,
		"\u2028\u2029\u00a0\u2003\u3000":                         `\u2028\u2029\u00a0\u2003\u3000`,
		"\u2800\u115f\u1160\u3164\uffa0":                         `\u2800\u115f\u1160\u3164\uffa0`,
		// Characters without a shape.
		"a\u034fb\ufe0f\u00ad\u200b\u200d\u2060\ufeff\u180e": `a\u034fb\ufe0f\u00ad\u200b\u200d\u2060\ufeff\u180e`,
		"\u17b4\U000e0100\U000e0041\U0001d159\U0001d173":     `\u17b4\U000e0100\U000e0041\U0001d159\U0001d173`,
		// Marks without a letter, and too many.
		"\u0301a \u0301":                  `\u0301a \u0301`,
		"a" + strings.Repeat("\u0301", 6): "a" + strings.Repeat("\u0301", 4) + `\u0301\u0301`,
	} {
		require.Equal(t, want, display.Visible(text, 0), "%q", text)
	}
}

// Quoted text is exact: Go reads it back.
func TestQuoteIsExact(t *testing.T) {
	for _, text := range []string{
		"", `a"b\c`, "\\n", "\n", "\u3164x\u202e\xff\xed\xa0\x80",
		"e\u0301\u0301\u0301\u0301\u0301\u0301", "\"\u0301", "\U000e0001",
	} {
		quoted := display.Quote(text, 0)
		back, err := strconv.Unquote(quoted)
		require.NoError(t, err, quoted)
		require.Equal(t, text, back)
	}
}

func TestWhatIsTooLongIsCutInTheMiddle(t *testing.T) {
	text := "first" + strings.Repeat("x", 1<<20) + "last"
	require.Equal(t, text, display.Visible(text, 0))
	require.Equal(t, text, display.Visible(text, len(text)))
	require.Equal(t, `"firstxxxxxxxxxxxxxxx" ... 1048555 bytes not shown ... "xxxxxxlast"`, display.Quote(text, 30))
	require.Equal(t, "firstxxxxxxxxxxxxxxx ... 1048555 bytes not shown ... xxxxxxlast", display.Visible(text, 30))
	// Escapes count with their length, and characters stay whole.
	require.Equal(t, `\x00\x00 ... 997 bytes not shown ... \x00`, display.Visible(strings.Repeat("\x00", 1000), 12))
	for most := 1; most < 40; most++ {
		shown := display.Visible(strings.Repeat("aé日🎉", 1000), most)
		require.True(t, utf8.ValidString(shown), shown)
		head, rest, _ := strings.Cut(shown, " ... ")
		_, tail, _ := strings.Cut(rest, " ... ")
		require.LessOrEqual(t, len(head)+len(tail), most)
	}
}

// question returns a question about a program with arguments.
func question(args ...string) acpterm.Question {
	q := acpterm.Question{Reason: "no rule allows this"}
	q.Name = "program"
	q.Command = acpterm.Command{Path: "/bin/program", Args: append([]string{"program"}, args...), Dir: "/dir"}
	return q
}

// Everything that an agent sends stays within its quotes.
func TestAQuestionShowsTheCommandExactly(t *testing.T) {
	q := question("two words", "\r? Run \"/bin/true\"?", "\u202egnp\n", "\u009b1A", "\xff", "\u3164")
	q.Command.Path, q.Name = "/bin/ec\x1b[2Jho", "sh"
	q.Requested.Env = []acpterm.EnvVariable{{Name: "A\nB", Value: "\ttab\u2800"}, {Name: "EMPTY"}}
	q.Unverified, q.PTY = []string{"/bin/large"}, &acpterm.PTYOptions{Attended: true}
	text, omitted := display.Question(q, 1000)
	require.Equal(t, `program    "/bin/ec\x1b[2Jho"
called     "sh"
arguments  "two words" "\r? Run \"/bin/true\"?" "\u202egnp\n" "\u009b1A" "\xff" "\u3164"
directory  "/dir"
variables  "A\nB"="\ttab\u2800" "EMPTY"=""
input      can be typed into it while it runs
unverified "/bin/large": its contents cannot be compared, and may be changed before it runs
because    "no rule allows this"
`, text)
	require.Zero(t, omitted)

	q = question("-c", "go vet &&\nrm x")
	q.Command.ShellLine = q.Command.Args[2]
	text, _ = display.Question(q, 1000)
	require.Contains(t, text, `line       "go vet &&\nrm x"`+"\n")
	q = question()
	q.Reason = ""
	text, _ = display.Question(q, 1000)
	require.Contains(t, text, "arguments  none\n")
	require.NotContains(t, text, "because")
}

// A question of any size is cut to about the given limit, and shows the omitted sizes.
func TestALargeQuestionIsCut(t *testing.T) {
	large := "begin" + strings.Repeat("x", 1<<18) + "end"
	var many []string
	var variables []acpterm.EnvVariable
	for i := range 10_000 {
		many = append(many, fmt.Sprint("argument", i))
		variables = append(variables, acpterm.EnvVariable{Name: fmt.Sprint("NAME", i), Value: "\x00"})
	}
	line := question("-c", large)
	line.Command.ShellLine = large
	with := question()
	with.Requested.Env = variables
	wide := question()
	wide.Requested.Env = []acpterm.EnvVariable{{Name: large, Value: large}}
	paths := question()
	paths.Command.Path, paths.Command.Dir, paths.Name, paths.Reason = large, large, large, large
	paths.Unverified = []string{large}
	manySize := len(strings.Join(many, ""))
	for name, c := range map[string]struct {
		question acpterm.Question
		shown    []string
		size     int // of shown and omitted text
	}{
		"one argument":   {question(large), []string{`"beginxxx`, `xxxend"`}, len(large)},
		"three":          {question("-c", large, "z"), []string{`"-c" "beginxxx`, `xxxend" "z"`}, len(large)},
		"two large":      {question(large, large), []string{`"beginxxx`, `xxxend"`}, 2 * len(large)},
		"many arguments": {question(many...), []string{`"argument0" "argument1"`, `"argument9999"`}, manySize},
		"line":           {line, []string{`"beginxxx`, `xxxend"`}, len(large)},
		"many variables": {with, []string{`"NAME0"="\x00"`, `"NAME9999"="\x00"`}, 89_000},
		"large variable": {wide, []string{`"beginxxx`, `xxxend"`}, 2 * len(large)},
		"paths":          {paths, []string{`program    "beginxxx`, `because    "beginxxx`}, 4 * len(large)},
	} {
		t.Run(name, func(t *testing.T) {
			text, omitted := display.Question(c.question, 1200)
			require.Less(t, len(text), 3500)
			for _, want := range append(c.shown, "directory  ", " bytes not shown ") {
				require.Contains(t, text, want)
			}
			require.InDelta(t, c.size, omitted, 0.2*float64(c.size)+3000)
			require.Positive(t, omitted)

			whole, omitted := display.Question(c.question, 0)
			require.Zero(t, omitted)
			require.Greater(t, len(whole), c.size)
			require.NotContains(t, whole, "not shown")
		})
	}
}

// A list that fits is shown completely, however it is divided.
func TestAQuestionThatFitsIsWhole(t *testing.T) {
	for _, args := range [][]string{
		{strings.Repeat("x", 900)}, {"-c", strings.Repeat("x", 900)}, strings.Split(strings.Repeat("x", 200), ""),
	} {
		text, omitted := display.Question(question(args...), 1000)
		require.Zero(t, omitted, text)
		require.NotContains(t, text, "not shown")
	}
}

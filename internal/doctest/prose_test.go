package doctest

// The language of comments and documents: habits that make English hard to read, counted per 1,000 words. A habit is no
// error, and one sentence may need it: the test prints the figure, and fails only when it has doubled.

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/doctest/pages"
)

// habits are expressions, each with a better way to write.
var habits = []struct{ name, pattern, instead string }{
	{"what as a noun", `\b[Ww]hat(ever)?\s+(is|are|was|has|have|had|can|may|must|it|they|the|a|an|came|comes|stands|runs|` +
		`ran|remains|waits|left|passes|follows)\b`, "name the thing: the output, other requests"},
	{"that is", `\b\w+\s+that\s+(is|are|was|were|has|have|had)\b`, "an adjective or a participle: a released terminal"},
	{"is no", `\b(is|are|was|were)\s+(no|none)\b`, "is not a, does not exist"},
	{"of which", `\b(of|by|from|to|in|for|with|at|on|through|after|before)\s+which\b`, "two sentences"},
	{"has it do", `\b(has|have|had)\s+(the|a|an|it|its|them|their|this|each|every|all|others?)\s+(\w+\s+){0,2}(do|be|run|` +
		`start|end|kill|call|send|ask|read|write|close|show|make|take|wait|stop|find)\b`, "makes, lets, tells it to"},
	{"nobody", `\b([Tt]he person|[Aa] person|[Nn]obody|[Ss]omebody|[Ww]hoever|[Pp]eople)\b`, "user, caller, no one"},
	{"anew", `\b(anew|besides|[Ii]n place of|far end|near end|[Ll]ikewise|thereby|hence|of (its|their) own)\b`,
		"again, also, instead of, remote"},
	{"Nil:", `(^|[.] )(Nil|Empty|False|True|Negative|0|The zero value)(,[^:.]{0,60})?:\s`, "if nil, the default is"},
	{"as far as", `\b([Ii]t takes|[Ff]or who|[Aa]s far as|[Ii]t is for|[Ss]o (is|do|does|has))\b`, "say it directly"},
	{"Of X it is", `(^|[.] )(Of|To|By|At|From)\s+[^.,]{3,40},?\s+(is|are|has|only|there|it|they)\b`, "the subject first"},
}

// The most habits per 1,000 words: of the pages and the root package, which users read first, and of all files. The
// figures were 1.4 and 1.0 when these were set.
const (
	maxHabitsOfTheFace = 2.8
	maxHabits          = 2.0
)

func TestProse(t *testing.T) {
	pages.AtRoot(t)
	t.Parallel()
	var expressions []*regexp.Regexp
	for _, h := range habits {
		expressions = append(expressions, regexp.MustCompile(h.pattern))
	}
	var face, all struct{ words, habits int }
	pages.Walk(t, func(name string) {
		isFace := path.Ext(name) == ".md" && path.Base(name) != "CHANGELOG.md" ||
			path.Ext(name) == ".go" && path.Dir(name) == "."
		if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") ||
			strings.Contains(name, "node_modules/") || strings.Contains(name, "assets/") {
			return
		}
		for number, text := range proseOf(t, name) {
			words, found := len(strings.Fields(text)), 0
			for i, e := range expressions {
				for _, hit := range e.FindAllString(text, -1) {
					if strings.HasPrefix(hit, "so that") {
						continue
					}
					found++
					if isFace && testing.Verbose() {
						t.Logf("%s:%d: %s: %q; write %s", name, number+1, habits[i].name, hit, habits[i].instead)
					}
				}
			}
			all.words, all.habits = all.words+words, all.habits+found
			if isFace {
				face.words, face.habits = face.words+words, face.habits+found
			}
		}
	})
	require.Greater(t, face.words, 10_000)
	perThousand := func(habits, words int) float64 { return 1000 * float64(habits) / float64(words) }
	t.Logf("%.1f habits per 1,000 words, %.1f in pages and the root", perThousand(all.habits, all.words),
		perThousand(face.habits, face.words))
	require.LessOrEqual(t, perThousand(face.habits, face.words), maxHabitsOfTheFace, "go test -v shows them")
	require.LessOrEqual(t, perThousand(all.habits, all.words), maxHabits, "go test -v shows those of pages and the root")
}

var (
	commentText = regexp.MustCompile(`(?:^\s*//\s?|\s//\s)(.*)`)
	notProse    = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)")
)

// proseOf returns the comments of a Go file, or the text of a Markdown file, by line.
func proseOf(t *testing.T, name string) map[int]string {
	prose := make(map[int]string)
	extension := path.Ext(name)
	if extension != ".go" && extension != ".md" {
		return prose
	}
	data, err := os.ReadFile(filepath.FromSlash(name))
	require.NoError(t, err)
	code := false
	for i, line := range strings.Split(string(data), "\n") {
		switch {
		case extension == ".go":
			if found := commentText.FindStringSubmatch(line); found != nil && !strings.HasPrefix(found[1], "go:") {
				prose[i] = found[1]
			}
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			code = !code
		case !code && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "<!--"):
			prose[i] = notProse.ReplaceAllString(line, " X ")
		}
	}
	return prose
}

package doctest

// The statements of documents hold: every link has a target, every piece of Go is an excerpt of a compiled file, and
// every command names existing things, and every name of a test, a file, a member or a package's declaration
// ("policy.Rules") in code quotes exists. These tests only read files; documents_run_test.go runs commands.

import (
	"fmt"
	"go/parser"
	"go/token"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/doctest/pages"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/policy"
)

func TestMain(m *testing.M) { racetest.Main(m) }

func TestDocumentLinks(t *testing.T) {
	pages.AtRoot(t)
	all := pages.Documents(t)
	for _, doc := range all {
		for _, l := range doc.Prose {
			for _, link := range linkPattern.FindAllStringSubmatch(codeSpan.ReplaceAllString(l.Text, ""), -1) {
				if wrong := checkLink(doc, all, link[1]); wrong != "" {
					t.Errorf("%s:%d: %s: %s", doc.Path, l.Number, link[1], wrong)
				}
			}
		}
	}
}

// The badges of README.md say what go.mod and the documents say.
func TestBadges(t *testing.T) {
	pages.AtRoot(t)
	for badge, from := range map[string][2]string{
		"go":    {"go.mod", `(?m)^go (\d+\.\d+)`},
		"acp":   {"README.md", `ACP (v\d+)\. v2, a preview`},
		"linux": {"docs/platforms.md", `\| Linux, kernel ([\d.]+), amd64 \| every change`},
	} {
		text, err := os.ReadFile(from[0])
		require.NoError(t, err)
		found := regexp.MustCompile(from[1]).FindSubmatch(text)
		require.NotNil(t, found, from)
		picture, err := os.ReadFile("internal/checks/browsertest/screenshots/" + badge + ".svg")
		require.NoError(t, err)
		require.Contains(t, string(picture), ">"+string(found[1])+"</text>")
	}
}

func TestDocumentExcerpts(t *testing.T) {
	pages.AtRoot(t)
	for _, doc := range pages.Documents(t) {
		for _, b := range doc.Blocks {
			if b.Language != "go" {
				continue
			}
			if wrong := checkGo(b); wrong != "" {
				t.Errorf("%s:%d: %s", doc.Path, b.Number, wrong)
			}
		}
	}
}

func TestDocumentCommands(t *testing.T) {
	pages.AtRoot(t)
	t.Parallel()
	for _, doc := range pages.Documents(t) {
		for _, b := range doc.Blocks {
			if !slices.Contains([]string{"", "sh", "console"}, b.Language) {
				continue
			}
			for _, command := range b.Lines {
				if wrong := checkCommand(strings.TrimPrefix(strings.TrimSpace(command), "$ ")); wrong != "" {
					t.Errorf("%s:%d: %s: %s", doc.Path, b.Number, command, wrong)
				}
			}
		}
	}
}

// Rules in documents can be loaded, with their examples.
func TestDocumentRules(t *testing.T) {
	pages.AtRoot(t)
	for _, doc := range pages.Documents(t) {
		for _, b := range doc.Blocks {
			if b.Language != "json" {
				continue
			}
			rules, err := policy.ParseRules([]byte(strings.Join(b.Lines, "\n")))
			if err == nil {
				_, err = rules.Compile(nil)
			}
			if err != nil {
				t.Errorf("%s:%d: %v", doc.Path, b.Number, err)
			}
		}
	}
}

func TestDocumentNames(t *testing.T) {
	pages.AtRoot(t)
	t.Parallel()
	all := declared(t)
	for _, doc := range pages.Documents(t) {
		for _, l := range doc.Prose {
			for _, span := range codeSpan.FindAllString(l.Text, -1) {
				if wrong := all.wrong(strings.Trim(span, "`")); wrong != "" {
					t.Errorf("%s:%d: %s", doc.Path, l.Number, wrong)
				}
			}
		}
	}
}

var (
	linkPattern    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	codeSpan       = regexp.MustCompile("`[^`]+`")
	testName       = regexp.MustCompile(`^(Test|Fuzz|Example|Benchmark)[A-Z_]\w*$`)
	fileName       = regexp.MustCompile(`^[\w./*-]+\.go$`)
	memberName     = regexp.MustCompile(`^\w+\.\w+$`)
	qualifiedName  = regexp.MustCompile(`^[a-z]\w*\.\w+(\.\w+)?$`)
	testDeclared   = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example|Benchmark)\w*)\(`)
	excerptComment = regexp.MustCompile(`^(?:wrong, )?from (\S+\.go)$`)
)

// checkLink describes the problem with a link within the repository, or returns "".
func checkLink(doc pages.Document, all []pages.Document, target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return err.Error()
	}
	if u.Scheme != "" {
		return ""
	}
	to := doc.Path
	if u.Path != "" {
		to = path.Join(path.Dir(doc.Path), u.Path)
		if _, err := os.Stat(filepath.FromSlash(to)); err != nil || strings.HasPrefix(to, "..") {
			return "there is no such file in the repository"
		}
	}
	if u.Fragment == "" {
		return ""
	}
	i := slices.IndexFunc(all, func(d pages.Document) bool { return d.Path == to })
	if i < 0 || !slices.Contains(all[i].Anchors, u.Fragment) {
		return "there is no such heading"
	}
	return ""
}

// checkGo describes the problem with a piece of Go, or returns "".
func checkGo(b pages.Block) string {
	if b.Comment == "wrong" {
		if !parses(strings.Join(b.Lines, "\n")) {
			return "it shows the wrong way, and does not even parse"
		}
		return ""
	}
	m := excerptComment.FindStringSubmatch(b.Comment)
	if m == nil {
		return "the line before a block of Go says <!-- from FILE.go -->, or <!-- wrong -->"
	}
	source, err := pages.ReadLines(m[1])
	if err != nil {
		return err.Error()
	}
	pieces := split(b.Lines)
	if len(pieces) == 0 {
		return "there is nothing in it"
	}
	for _, piece := range pieces {
		at := find(source, piece)
		if at < 0 {
			return fmt.Sprintf("this is not in %s, or not in this order:\n%s", m[1], strings.Join(piece, "\n"))
		}
		source = source[at+len(piece):]
	}
	return ""
}

// split returns the pieces of an excerpt, between lines that stand for an omission.
func split(lines []string) (pieces [][]string) {
	var piece []string
	end := func() {
		for len(piece) > 0 && piece[0] == "" {
			piece = piece[1:]
		}
		for len(piece) > 0 && piece[len(piece)-1] == "" {
			piece = piece[:len(piece)-1]
		}
		if len(piece) > 0 {
			pieces = append(pieces, piece)
		}
		piece = nil
	}
	for _, l := range lines {
		if text := strings.TrimSpace(l); text == "…" || text == "// …" {
			end()
			continue
		}
		piece = append(piece, strings.TrimRight(l, " \t"))
	}
	end()
	return pieces
}

// find returns the position of consecutive lines in a file, ignoring the indentation of both, or -1.
func find(source, piece []string) int {
	want := dedent(piece)
	for i := 0; i+len(piece) <= len(source); i++ {
		if slices.Equal(dedent(source[i:i+len(piece)]), want) {
			return i
		}
	}
	return -1
}

// dedent removes the common indentation of all lines.
func dedent(lines []string) []string {
	indent, first := "", true
	for _, l := range lines {
		own := l[:len(l)-len(strings.TrimLeft(l, "\t "))]
		switch {
		case strings.TrimSpace(l) == "":
		case first:
			indent, first = own, false
		default:
			for !strings.HasPrefix(own, indent) {
				indent = indent[:len(indent)-1]
			}
		}
	}
	dedented := make([]string, len(lines))
	for i, l := range lines {
		dedented[i] = strings.TrimRight(strings.TrimPrefix(l, indent), "\t ")
	}
	return dedented
}

// parses reports whether the code is Go: declarations or statements.
func parses(code string) bool {
	for _, file := range []string{"package p\n" + code, "package p\nfunc _() {\n" + code + "\n}"} {
		if _, err := parser.ParseFile(token.NewFileSet(), "", file, 0); err == nil {
			return true
		}
	}
	return false
}

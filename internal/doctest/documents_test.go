package doctest

// The statements of documents hold: every link has a target, every piece of Go is an excerpt of a compiled file, and
// every command names existing things, and every name of a test, a file, a member or a package's declaration
// ("policy.Rules") in code quotes exists. These tests only read files; documents_run_test.go runs commands.

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/acpterm/acpterm/policy"
	"github.com/stretchr/testify/require"
)

// document is a parsed Markdown file.
type document struct {
	path    string // from the repository's root, with slashes
	prose   []line // everything except code and comments
	blocks  []block
	anchors []string // of its headings, as GitHub names them
}

// line is a line of a document.
type line struct {
	number int
	text   string
}

// block is a piece of code: fenced, or indented, which has no language and no comment.
type block struct {
	line
	language string
	comment  string // the text of an HTML comment in the line before it
	lines    []string
}

func TestDocumentLinks(t *testing.T) {
	atRoot(t)
	all := documents(t)
	for _, doc := range all {
		for _, l := range doc.prose {
			for _, link := range linkPattern.FindAllStringSubmatch(codeSpan.ReplaceAllString(l.text, ""), -1) {
				if wrong := doc.checkLink(all, link[1]); wrong != "" {
					t.Errorf("%s:%d: %s: %s", doc.path, l.number, link[1], wrong)
				}
			}
		}
	}
}

func TestDocumentExcerpts(t *testing.T) {
	atRoot(t)
	for _, doc := range documents(t) {
		for _, b := range doc.blocks {
			if b.language != "go" {
				continue
			}
			if wrong := checkGo(b); wrong != "" {
				t.Errorf("%s:%d: %s", doc.path, b.number, wrong)
			}
		}
	}
}

func TestDocumentCommands(t *testing.T) {
	atRoot(t)
	t.Parallel()
	for _, doc := range documents(t) {
		for _, b := range doc.blocks {
			if !slices.Contains([]string{"", "sh", "console"}, b.language) {
				continue
			}
			for _, command := range b.lines {
				if wrong := checkCommand(strings.TrimPrefix(strings.TrimSpace(command), "$ ")); wrong != "" {
					t.Errorf("%s:%d: %s: %s", doc.path, b.number, command, wrong)
				}
			}
		}
	}
}

// Rules in documents can be loaded, with their examples.
func TestDocumentRules(t *testing.T) {
	atRoot(t)
	for _, doc := range documents(t) {
		for _, b := range doc.blocks {
			if b.language != "json" {
				continue
			}
			rules, err := policy.ParseRules([]byte(strings.Join(b.lines, "\n")))
			if err == nil {
				_, err = rules.Compile(nil)
			}
			if err != nil {
				t.Errorf("%s:%d: %v", doc.path, b.number, err)
			}
		}
	}
}

func TestDocumentNames(t *testing.T) {
	atRoot(t)
	t.Parallel()
	all := declared(t)
	for _, doc := range documents(t) {
		for _, l := range doc.prose {
			for _, span := range codeSpan.FindAllString(l.text, -1) {
				if wrong := all.wrong(strings.Trim(span, "`")); wrong != "" {
					t.Errorf("%s:%d: %s", doc.path, l.number, wrong)
				}
			}
		}
	}
}

var (
	linkPattern    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	codeSpan       = regexp.MustCompile("`[^`]+`")
	commentLine    = regexp.MustCompile(`^<!--\s*(.*?)\s*-->$`)
	headingLine    = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*$`)
	linkedText     = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	testName       = regexp.MustCompile(`^(Test|Fuzz|Example|Benchmark)[A-Z_]\w*$`)
	fileName       = regexp.MustCompile(`^[\w./*-]+\.go$`)
	memberName     = regexp.MustCompile(`^\w+\.\w+$`)
	qualifiedName  = regexp.MustCompile(`^[a-z]\w*\.\w+(\.\w+)?$`)
	testDeclared   = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example|Benchmark)\w*)\(`)
	excerptComment = regexp.MustCompile(`^(?:wrong, )?from (\S+\.go)$`)
)

// documents returns all Markdown files of the repository, except those from elsewhere.
func documents(t *testing.T) []document {
	var all []document
	walk(t, func(name string) {
		if path.Ext(name) == ".md" {
			all = append(all, readDocument(t, name))
		}
	})
	require.NotEmpty(t, all)
	return all
}

// walk visits the repository's files, by their names with slashes.
func walk(t *testing.T, visit func(name string)) {
	require.NoError(t, filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !entry.IsDir():
			visit(filepath.ToSlash(name))
		case name != "." && strings.HasPrefix(entry.Name(), "."), entry.Name() == "node_modules", entry.Name() == "testdata":
			return fs.SkipDir
		}
		return nil
	}))
}

// readLines reads a file without its line ends, which may differ on Windows.
func readLines(name string) ([]string, error) {
	data, err := os.ReadFile(filepath.FromSlash(name))
	return strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n"), err
}

func readDocument(t *testing.T, name string) document {
	lines, err := readLines(name)
	require.NoError(t, err)
	doc := document{path: name}
	seen := make(map[string]int)
	comment, paragraph := "", false
	for i := 0; i < len(lines); i++ {
		text := lines[i]
		here := line{i + 1, text}
		if language, fenced := strings.CutPrefix(text, "```"); fenced {
			b := block{line: here, language: language, comment: comment}
			for i++; i < len(lines) && lines[i] != "```"; i++ {
				b.lines = append(b.lines, lines[i])
			}
			require.Less(t, i, len(lines), "%s:%d: the block does not end", name, here.number)
			doc.blocks = append(doc.blocks, b)
			comment, paragraph = "", false
			continue
		}
		if strings.HasPrefix(text, "    ") && !paragraph {
			doc.blocks = append(doc.blocks, block{line: here, lines: []string{text}})
			continue
		}
		comment, paragraph = "", text != ""
		if m := commentLine.FindStringSubmatch(text); m != nil {
			comment, paragraph = m[1], false
			continue
		}
		if m := headingLine.FindStringSubmatch(text); m != nil {
			slug := slug(m[1])
			if n := seen[slug]; n > 0 {
				doc.anchors = append(doc.anchors, fmt.Sprintf("%s-%d", slug, n))
			} else {
				doc.anchors = append(doc.anchors, slug)
			}
			seen[slug]++
			paragraph = false
		}
		doc.prose = append(doc.prose, here)
	}
	return doc
}

// slug returns the anchor that GitHub gives a heading.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, linkedText.ReplaceAllString(heading, "$1"))
}

// checkLink describes the problem with a link within the repository, or returns "".
func (doc document) checkLink(all []document, target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return err.Error()
	}
	if u.Scheme != "" {
		return ""
	}
	to := doc.path
	if u.Path != "" {
		to = path.Join(path.Dir(doc.path), u.Path)
		if _, err := os.Stat(filepath.FromSlash(to)); err != nil || strings.HasPrefix(to, "..") {
			return "there is no such file in the repository"
		}
	}
	if u.Fragment == "" {
		return ""
	}
	i := slices.IndexFunc(all, func(d document) bool { return d.path == to })
	if i < 0 || !slices.Contains(all[i].anchors, u.Fragment) {
		return "there is no such heading"
	}
	return ""
}

// checkGo describes the problem with a piece of Go, or returns "".
func checkGo(b block) string {
	if b.comment == "wrong" {
		if !parses(strings.Join(b.lines, "\n")) {
			return "it shows the wrong way, and does not even parse"
		}
		return ""
	}
	m := excerptComment.FindStringSubmatch(b.comment)
	if m == nil {
		return "the line before a block of Go says <!-- from FILE.go -->, or <!-- wrong -->"
	}
	source, err := readLines(m[1])
	if err != nil {
		return err.Error()
	}
	pieces := split(b.lines)
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

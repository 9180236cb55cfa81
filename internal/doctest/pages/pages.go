// Package pages reads the Markdown files of the repository, for tests of documents.
package pages

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// Document is a parsed Markdown file.
type Document struct {
	Path    string // from the repository's root, with slashes
	Prose   []Line // everything except code and comments
	Blocks  []Block
	Anchors []string // of its headings, as GitHub names them
}

// Line is a line of a document.
type Line struct {
	Number int
	Text   string
}

// Block is a piece of code: fenced, or indented, which has no language and no comment.
type Block struct {
	Line
	Language string
	Comment  string // the text of an HTML comment in the line before it
	Lines    []string
}

// root is the directory of the repository, which has go.work.
var root, rootErr = findRoot()

func findRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err = os.Stat(filepath.Join(dir, "go.work")); err == nil {
			break
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir, err = parent, nil
		}
	}
	return dir, err
}

// AtRoot begins each test: names of files are relative to the root of the repository. In TestMain this would be too
// early: go test would not see which files the tests read, and would reuse their results after a change of the files.
func AtRoot(t *testing.T) {
	t.Helper()
	require.NoError(t, rootErr)
	require.NoError(t, os.Chdir(root))
}

var (
	commentLine = regexp.MustCompile(`^<!--\s*(.*?)\s*-->$`)
	headingLine = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*$`)
	linkedText  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// Documents returns all Markdown files of the repository, except those from elsewhere.
func Documents(t *testing.T) []Document {
	var all []Document
	Walk(t, func(name string) {
		if path.Ext(name) == ".md" {
			all = append(all, Read(t, name))
		}
	})
	require.NotEmpty(t, all)
	return all
}

// Walk visits the repository's files, by their names with slashes.
func Walk(t *testing.T, visit func(name string)) {
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

// ReadLines reads a file without its line ends, which may differ on Windows.
func ReadLines(name string) ([]string, error) {
	data, err := os.ReadFile(filepath.FromSlash(name))
	return strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n"), err
}

func Read(t *testing.T, name string) Document {
	lines, err := ReadLines(name)
	require.NoError(t, err)
	doc := Document{Path: name}
	seen := make(map[string]int)
	comment, paragraph := "", false
	for i := 0; i < len(lines); i++ {
		text := lines[i]
		here := Line{i + 1, text}
		if language, fenced := strings.CutPrefix(text, "```"); fenced {
			b := Block{Line: here, Language: language, Comment: comment}
			for i++; i < len(lines) && lines[i] != "```"; i++ {
				b.Lines = append(b.Lines, lines[i])
			}
			require.Less(t, i, len(lines), "%s:%d: the block does not end", name, here.Number)
			doc.Blocks = append(doc.Blocks, b)
			comment, paragraph = "", false
			continue
		}
		if strings.HasPrefix(text, "    ") && !paragraph {
			doc.Blocks = append(doc.Blocks, Block{Line: here, Lines: []string{text}})
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
				doc.Anchors = append(doc.Anchors, fmt.Sprintf("%s-%d", slug, n))
			} else {
				doc.Anchors = append(doc.Anchors, slug)
			}
			seen[slug]++
			paragraph = false
		}
		doc.Prose = append(doc.Prose, here)
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

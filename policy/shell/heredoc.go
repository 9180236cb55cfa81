package shell

// Here-documents. This file finds their start and end again, only by lines, because shells and the parser differ when
// another construct spans the end of the line.

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// plainDelimiter matches delimiters that all shells read alike.
var plainDelimiter = regexp.MustCompile(`^(?:\\?[A-Za-z0-9_.]+|'[A-Za-z0-9_. -]+'|"[A-Za-z0-9_. -]+")$`)

// isQuoted reports whether a here-document's delimiter is quoted, which makes its text literal.
func isQuoted(delimiter *syntax.Word) bool {
	for _, part := range delimiter.Parts {
		if lit, ok := part.(*syntax.Lit); !ok || strings.Contains(lit.Value, "\\") {
			return true
		}
	}
	return false
}

// checkHereDocument returns the offset of the end. It refuses a here-document whose text is not exactly the lines from
// the next one to the delimiter: if its line has two, or a quoted newline after it.
func (w *walker) checkHereDocument(n *syntax.Redirect) (uint, *refusal) {
	delimiter := w.text(n.Word)
	if !plainDelimiter.MatchString(delimiter) {
		return 0, w.refuse(errNotPortable, "the end of a here-document that is not a plain word", n.Word)
	}
	delimiter = strings.Trim(delimiter, `'"\`)
	elsewhere := w.refuse(errNotPortable, "not every shell begins or ends this here-document here", n.Word)
	at := int(n.OpPos.Offset())
	newline := strings.IndexByte(w.src[at:], '\n')
	if newline < 0 {
		return 0, elsewhere
	}
	from := at + newline + 1
	to, end := from, 0
	for {
		line, _, more := strings.Cut(w.src[to:], "\n")
		compared := line
		if n.Op == syntax.DashHdoc {
			compared = strings.TrimLeft(line, "\t")
		}
		if compared == delimiter {
			end = to + len(line)
			break
		}
		if !more {
			return 0, elsewhere
		}
		to += len(line) + 1
	}
	if n.Hdoc == nil || len(n.Hdoc.Parts) == 0 {
		return 0, elsewhere // an empty one does not have a position
	}
	first, last := int(n.Hdoc.Pos().Offset()), int(n.Hdoc.End().Offset())
	if first < from || last > end || last < to-1 || strings.Trim(w.src[from:first], "\t") != "" {
		return 0, elsewhere
	}
	if !isQuoted(n.Word) && strings.Contains(w.src[from:end], "\\\n") {
		return 0, w.refuse(errNotPortable, "here-document with a continued line", n.Word)
	}
	return uint(end), nil
}

// hereDocument walks the expansions in a here-document.
func (w *walker) hereDocument(n *syntax.Redirect) *refusal {
	if n.Hdoc == nil || isQuoted(n.Word) {
		return nil
	}
	return (&wordReader{walker: w, known: -1}).quoted(n.Hdoc.Parts)
}

package shell

// Checks of a line's bytes where the parser and shells differ. They refuse more than the dangerous lines, but few lines
// that agents write.

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// checkBytes checks lines before parsing. Its depth limit bounds the parser's recursion.
func checkBytes(line string) error {
	if len(line) > maxLine {
		return &refusal{Kind: errTooLarge, Reason: fmt.Sprintf("longer than %d bytes", maxLine), Line: 1, Column: 1}
	}
	at := func(kind kind, i int, reason string) error {
		row, column := lineColumn(line, uint(i))
		return &refusal{Kind: kind, Reason: reason, Line: row, Column: column, Text: strings.ToValidUTF8(line[i:i+1], "\uFFFD")}
	}
	depth := 0
	for i, r := range line {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(line[i:], "\uFFFD"):
			return at(errCharacter, i, "not UTF-8")
		case r < ' ' && r != '\t' && r != '\n', r == 0x7f:
			// The parser reads a carriage return as a blank, shells as a letter: backslash, CR, LF continues the line
			// only in the parser. bash uses \001 and \177 internally.
			return at(errCharacter, i, "control character")
		}
		switch r {
		case '(', '{':
			depth++
		case ')', '}':
			depth = max(depth-1, 0)
		}
		if depth > maxNest {
			return at(errTooLarge, i, "nested too deeply")
		}
	}
	return nil
}

// checkText refuses pieces of a line whose end differs between shells and the parser.
func (w *walker) checkText(file *syntax.File) *refusal {
	var refused *refusal
	var verbatim [][2]uint   // ranges where a backslash before a newline is literal
	var substitutions []uint // their ends; outer ones precede inner ones
	level := 0
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			level--
			return true
		}
		level++
		if refused != nil {
			return true
		}
		if level > maxNest*4 {
			refused = w.refuse(errTooLarge, "nested too deeply", n)
			return true
		}
		switch n := n.(type) {
		case *syntax.Comment:
			end := n.Hash.Offset()
			for end < uint(len(w.src)) && w.src[end] != '\n' {
				end++
			}
			if w.src[end-1] == '\\' {
				refused = w.refuse(errNotPortable, "comment ends in a backslash", n)
			}
		case *syntax.SglQuoted:
			verbatim = append(verbatim, [2]uint{n.Pos().Offset(), n.End().Offset()})
		case *syntax.Redirect:
			if n.Op != syntax.Hdoc && n.Op != syntax.DashHdoc {
				break
			}
			var end uint
			if end, refused = w.checkHereDocument(n); refused != nil {
				break
			}
			for _, around := range substitutions {
				if n.OpPos.Offset() < around && around <= end {
					refused = w.refuse(errNotPortable, "here-document that ends behind the substitution that it stands in", n.Word)
				}
			}
			if n.Hdoc != nil && isQuoted(n.Word) {
				verbatim = append(verbatim, [2]uint{n.Hdoc.Pos().Offset(), n.Hdoc.End().Offset()})
			}
		case *syntax.CmdSubst:
			substitutions = append(substitutions, n.Right.Offset())
			refused = w.checkSubstitution(n)
		}
		return true
	})
	if refused != nil {
		return refused
	}
	return w.checkContinuations(verbatim)
}

// checkContinuations refuses a backslash before a newline inside a token: shells join $ and (, & and &, > and > around
// it; the parser does not always.
func (w *walker) checkContinuations(verbatim [][2]uint) *refusal {
	for i := 0; ; i++ {
		j := strings.Index(w.src[i:], "\\\n")
		if j < 0 {
			return nil
		}
		i += j
		inside := false
		for _, span := range verbatim {
			inside = inside || span[0] <= uint(i) && uint(i) < span[1]
		}
		before := i > 0 && strings.IndexByte(" \t\n", w.src[i-1]) >= 0
		after := i+2 < len(w.src) && strings.IndexByte(" \t", w.src[i+2]) >= 0
		if !inside && !before && !after {
			row, column := lineColumn(w.src, uint(i))
			return &refusal{
				Kind: errNotPortable, Reason: "line is continued in the middle of a word or an operator",
				Line: row, Column: column, Text: "\\\n",
			}
		}
	}
}

// checkSubstitution checks that all shells end a command substitution where the parser does.
func (w *walker) checkSubstitution(n *syntax.CmdSubst) *refusal {
	if n.TempFile || n.ReplyVar {
		return w.refuse(errNotPortable, "this kind of substitution", n)
	}
	if n.Backquotes {
		// Shells end it at the next backquote without a backslash, and remove backslashes before they parse its text.
		inside := w.src[n.Left.Offset()+1 : n.Right.Offset()]
		if strings.ContainsAny(inside, "`\\") || strings.Contains(inside, "<<") {
			return w.refuse(errNotPortable, "backquotes around a backslash, a backquote or a here-document; use $( )", n)
		}
		return nil
	}
	// bash before 4.0 (the /bin/sh of macOS) finds the end by counting parentheses and quotes, and ignores
	// here-documents, comments and case. If it does not find the end, it runs nothing.
	if end := countedEnd(w.src, int(n.Left.Offset())+2); end >= 0 && end != int(n.Right.Offset()) {
		return w.refuse(errNotPortable, "older shells end this substitution elsewhere", n)
	}
	return nil
}

// countedEnd returns the end of a substitution whose text starts at i, found only by quotes and parentheses, or -1.
func countedEnd(s string, i int) int {
	depth := 1
	for i < len(s) {
		switch s[i] {
		case '\\':
			i++
		case '\'', '`':
			i = closing(s, i+1, s[i], s[i] == '`')
		case '"':
			i = countedQuote(s, i+1)
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
		if i < 0 {
			return -1
		}
		i++
	}
	return -1
}

// countedQuote returns the end of double quotes whose text starts at i, or -1.
func countedQuote(s string, i int) int {
	for i < len(s) {
		switch {
		case s[i] == '"':
			return i
		case s[i] == '\\':
			i++
		case s[i] == '`':
			i = closing(s, i+1, '`', true)
		case strings.HasPrefix(s[i:], "$("):
			i = countedEnd(s, i+2)
		}
		if i < 0 {
			return -1
		}
		i++
	}
	return -1
}

// closing returns the index of the next quote, or -1. With escapes, it skips a quote after a backslash.
func closing(s string, i int, quote byte, escapes bool) int {
	for ; i < len(s); i++ {
		if s[i] == '\\' && escapes {
			i++
		} else if s[i] == quote {
			return i
		}
	}
	return -1
}

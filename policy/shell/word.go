package shell

// The text of words after quote removal, or the part known before the line runs.

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is an argument with details for the checks of this package.
type word struct {
	arg
	start string // known prefix of each of its fields
	from  syntax.Pos
}

// dashless reports whether no field of the word can begin with a dash. Such a word is not an option.
func (a word) dashless() bool { return a.start != "" && a.start[0] != '-' }

// assignment splits NAME=value if the name is known.
func (a word) assignment() (assignment, bool) {
	name, value, ok := strings.Cut(a.start, "=")
	if !ok || !isName(name) || !a.One {
		return assignment{}, false
	}
	if a.Literal {
		return assignment{Name: name, Value: arg{Text: value, Literal: true, One: true}}, true
	}
	return assignment{Name: name, Value: arg{Text: a.Text, One: true}}, true
}

// wordReader reads the parts of a word.
type wordReader struct {
	*walker
	text   strings.Builder
	known  int // length of the known prefix of text, or -1 while all is known
	many   bool
	split  bool // there may be further fields with unknown text
	braced int  // 1 + index of the first unquoted {
}

func (r *wordReader) unknown() {
	if r.known < 0 {
		r.known = r.text.Len()
	}
}

// word reads a word, and walks the commands inside it.
func (w *walker) word(n *syntax.Word) (word, *refusal) {
	r := &wordReader{walker: w, known: -1}
	for i, part := range n.Parts {
		if err := r.part(part, i == 0); err != nil {
			return word{}, err
		}
	}
	text := r.text.String()
	if text == "[" && r.known == 0 && !r.many && !r.split {
		r.known = -1 // the command [
	}
	if text != "[" && strings.HasPrefix(text, "[") && r.known == 0 {
		r.many = true
	}
	if r.braced > 0 &&
		(strings.Contains(text[r.braced-1:], ",") || strings.Contains(text[r.braced-1:], "..") || r.known >= 0) {
		if r.known < 0 || r.known > r.braced-1 {
			r.known = r.braced - 1
		}
		r.many = true
	}
	result := word{arg: arg{Text: text, Literal: r.known < 0, One: !r.many && !r.split}, start: text, from: n.Pos()}
	if !result.Literal {
		result.Text = w.text(n)
		result.start = text[:r.known]
	}
	if r.split {
		result.start = ""
	}
	return result, nil
}

func (r *wordReader) part(part syntax.WordPart, first bool) *refusal {
	switch part := part.(type) {
	case *syntax.Lit:
		r.unquoted(part.Value, first)
	case *syntax.SglQuoted:
		if part.Dollar {
			r.unknown()
		}
		r.text.WriteString(part.Value)
	case *syntax.DblQuoted:
		if part.Dollar {
			r.unknown()
		}
		return r.quoted(part.Parts)
	default:
		return r.expansion(part, false)
	}
	return nil
}

// unquoted adds unquoted text. In it, a backslash quotes the next character.
func (r *wordReader) unquoted(text string, first bool) {
	before := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\\' && i+1 < len(text) {
			i++
			if text[i] != '\n' {
				r.text.WriteByte(text[i])
			}
			before = 0
			continue
		}
		switch c {
		case '*', '?', '[':
			r.unknown()
			r.many = r.many || c != '['
		case ']':
			r.many = r.many || r.known >= 0
		case '~':
			if first && i == 0 {
				r.text.WriteByte(c) // a home directory is an absolute path, so it does not start with a dash
				r.unknown()
				before = c
				continue
			}
			if before == '=' || before == ':' {
				r.unknown()
			}
		case '{':
			if r.braced == 0 {
				r.braced = 1 + r.text.Len()
			}
		}
		r.text.WriteByte(c)
		before = c
	}
}

// quoted adds the text of double quotes, or of a here-document.
func (r *wordReader) quoted(parts []syntax.WordPart) *refusal {
	for _, part := range parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			if err := r.expansion(part, true); err != nil {
				return err
			}
			continue
		}
		for i := 0; i < len(lit.Value); i++ {
			if lit.Value[i] == '\\' && i+1 < len(lit.Value) && strings.IndexByte("$`\"\\\n", lit.Value[i+1]) >= 0 {
				i++
				if lit.Value[i] == '\n' {
					continue
				}
			}
			r.text.WriteByte(lit.Value[i])
		}
	}
	return nil
}

// expansion walks an expansion.
func (r *wordReader) expansion(part syntax.WordPart, quoted bool) *refusal {
	first := r.known < 0 // everything before it is known
	r.unknown()
	switch part := part.(type) {
	case *syntax.CmdSubst:
		r.split = r.split || !quoted
		return r.subshell(part.Stmts)
	case *syntax.ArithmExp:
		return r.arithmetic(part)
	case *syntax.ParamExp:
		return r.parameter(part, quoted, first)
	}
	return r.refuse(errNotPortable, "not POSIX shell", part)
}

// numeric are the parameters with a number as value; $! may be empty.
const numeric = "#?$!"

// parameter walks $x and ${x...}. It refuses operators outside POSIX: those of bash evaluate the value as a prompt
// (@P), as a name (!) or as arithmetic.
func (r *wordReader) parameter(n *syntax.ParamExp, quoted, first bool) *refusal {
	if n.Param == nil || n.Flags != nil || n.Excl || n.Width || n.IsSet ||
		n.Split != 0 || n.GlobSubst != 0 || n.RcExpand != 0 ||
		n.NestedParam != nil || n.Index != nil || n.Modifiers != nil || n.Slice != nil || n.Repl != nil || n.Names != 0 {
		return r.refuse(errNotPortable, "an expansion that is not POSIX shell", n)
	}
	name := n.Param.Value
	isNumber := n.Length || n.Exp == nil && strings.Contains(numeric, name)
	switch {
	case n.Length && (name == "@" || name == "*"):
		return r.refuse(errNotPortable, "an expansion that is not POSIX shell", n)
	case isNumber:
		r.many = r.many || name == "!" && !quoted
		if first {
			r.text.WriteByte('0') // the first character is a digit
			r.known = r.text.Len()
		}
	case !quoted:
		r.split = true
	case name == "@":
		r.split = true
	}
	if n.Exp == nil {
		return nil
	}
	if !posixExpansions[n.Exp.Op] {
		return r.refuse(errNotPortable, "an expansion that is not POSIX shell", n)
	}
	var value arg
	if n.Exp.Word != nil {
		if err := r.checkOperand(n.Exp.Word, quoted); err != nil {
			return err
		}
		inner, err := r.word(n.Exp.Word)
		if err != nil {
			return err
		}
		value = arg{Text: inner.Text, Literal: inner.Literal, One: true}
		r.split = r.split || strings.Contains(r.walker.text(n.Exp.Word), "@")
	}
	if n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull {
		return r.assigned(n, assignment{Name: name, Value: value})
	}
	return nil
}

var posixExpansions = map[syntax.ParExpOperator]bool{
	syntax.AlternateUnset: true, syntax.AlternateUnsetOrNull: true,
	syntax.DefaultUnset: true, syntax.DefaultUnsetOrNull: true,
	syntax.ErrorUnset: true, syntax.ErrorUnsetOrNull: true,
	syntax.AssignUnset: true, syntax.AssignUnsetOrNull: true,
	syntax.RemSmallSuffix: true, syntax.RemLargeSuffix: true,
	syntax.RemSmallPrefix: true, syntax.RemLargePrefix: true,
}

// checkOperand refuses quotes and braces in the word of ${x:-word}: some shells treat them as quotes there, so the ends
// of the expansion differ.
func (r *wordReader) checkOperand(n *syntax.Word, quoted bool) *refusal {
	for _, part := range n.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if !strings.ContainsAny(part.Value, "\\'\"`{}<>&|;()") {
				continue
			}
		case *syntax.ParamExp:
			continue
		case *syntax.CmdSubst:
			if !part.Backquotes {
				continue
			}
		case *syntax.SglQuoted:
			if !quoted && !part.Dollar && !strings.ContainsAny(part.Value, "{}\\\"") {
				continue
			}
		case *syntax.DblQuoted:
			if !quoted && !part.Dollar && !strings.ContainsAny(r.walker.text(part), "{}\\'`(") {
				continue
			}
		}
		return r.refuse(errNotPortable, "quotes or braces inside of ${ }", n)
	}
	return nil
}

// constant matches arithmetic without variables.
var constant = regexp.MustCompile(`^(?:0[xX][0-9a-fA-F]+|[0-9]+|\$[#?]|[-+*/%()<>!&|^~?: \t]|==|!=)*$`)

// arithmetic allows only numbers. bash also evaluates the value of a variable as arithmetic, and runs the substitutions
// in it: x='a[$(rm y)]'; echo $((x)) runs rm.
func (r *wordReader) arithmetic(n *syntax.ArithmExp) *refusal {
	text := r.walker.text(n)
	if n.Bracket || n.Unsigned || !strings.HasPrefix(text, "$((") || !strings.HasSuffix(text, "))") {
		return r.refuse(errNotPortable, "not POSIX arithmetic", n)
	}
	text = text[3 : len(text)-2]
	depth := 0
	for _, c := range text {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth < 0 {
			return r.refuse(errNotPortable, "arithmetic that may be a command substitution", n)
		}
	}
	if !constant.MatchString(text) {
		const reason = "arithmetic on anything but numbers: bash runs substitutions in the values of variables"
		return r.refuse(errHidden, reason, n)
	}
	return nil
}

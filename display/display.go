// Package display makes text chosen by an agent safe to show to a user, so that no part of it is invisible, controls
// the terminal, reorders other text, or pushes the rest off the screen.
//
//	fmt.Println("$ " + display.Visible(t.Command().String(), 200)) // on one line
//	err := display.Follow(ctx, os.Stdout, t)                       // the output as it arrives
//	text, omitted := display.Question(q, 4096)                     // for a dialog
//
// The results must be displayed without modification. All functions in this package are safe for concurrent use.
package display

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
)

// Visible returns text with certain characters escaped in the same way as in a Go string literal. It escapes characters
// that are not visible on their own or that affect how other characters are displayed. These are control characters and
// line ends, directional marks, all whitespace except for the space character, characters without a glyph, stacked
// combining marks, and bytes of invalid UTF-8. If the result would be longer than most bytes, the middle of the text is
// replaced by the number of bytes omitted. If most is 0, the length is unlimited.
func Visible(text string, most int) string {
	shown, _ := show(text, most, "")
	return shown
}

// Quote is like Visible, but it returns the text in double quotes, and escapes double quotes and backslashes as well.
// This makes the text unambiguous and sets it apart from any surrounding text.
func Quote(text string, most int) string {
	shown, _ := show(text, most, `"`)
	return shown
}

// Links returns the links for a browser to the addresses that a command listens on, such as "http://localhost:5173".
// Whether a web server answers there is not known. Addresses of loopback and of all interfaces are called localhost. If
// remote is set, as acpterm.TerminalInfo.Remote says, they are another machine's, and returned without a link.
func Links(addresses []netip.AddrPort, remote bool) (links []string) {
	for _, a := range addresses {
		link := "http://" + a.String()
		if remote {
			link = a.String()
		} else if ip := a.Addr().Unmap(); ip.IsUnspecified() || ip.IsLoopback() {
			link = fmt.Sprintf("http://localhost:%d", a.Port())
		}
		if !slices.Contains(links, link) {
			links = append(links, link)
		}
	}
	return links
}

// Question returns a description of a question's command for display to the user, with one item per line: the program,
// the arguments or the shell line, the directory, any variables set by the agent, whether input can be typed, any
// Unverified files, and the reason. Values are formatted using Quote.
//
// The arguments or the shell line may take up to most bytes, the variables may take up to half of that, and each of the
// other values may take up to a sixth. Longer values are truncated, and the size of the omitted part is shown. If most
// is 0, nothing is omitted. The result omitted is the total number of bytes left out. If it is not 0, there should be a
// way for the user to see Question(q, 0).
func Question(q acpterm.Question, most int) (text string, omitted int) {
	var b strings.Builder
	line := func(what, shown string, left int) {
		fmt.Fprintf(&b, "%-10s %s\n", what, shown)
		omitted += left
	}
	value := func(what, text string, most int) {
		shown, left := show(text, most, `"`)
		line(what, shown, left)
	}
	value("program", q.Command.Path, part(most, 6))
	if q.Name != filepath.Base(q.Command.Path) {
		value("called", q.Name, part(most, 6))
	}
	switch {
	case q.Command.ShellLine != "":
		value("line", q.Command.ShellLine, most)
	case len(q.Command.Args) < 2:
		line("arguments", "none", 0)
	default:
		shown, left := showList(len(q.Command.Args)-1, most, "arguments", func(i, most int) (string, int, int) {
			arg := q.Command.Args[i+1]
			shown, left := show(arg, most, `"`)
			return shown, left, len(arg)
		})
		line("arguments", shown, left)
	}
	value("directory", q.Command.Dir, part(most, 6))
	if set := q.Requested.Env; len(set) > 0 {
		shown, left := showList(len(set), part(most, 2), "variables", func(i, most int) (string, int, int) {
			name, left := show(set[i].Name, part(most, 2), `"`)
			value, more := show(set[i].Value, part(most, 2), `"`)
			return name + "=" + value, left + more, len(set[i].Name) + len(set[i].Value)
		})
		line("variables", shown, left)
	}
	if q.PTY != nil && q.PTY.Attended || q.Stdin {
		line("input", "can be typed into it while it runs", 0)
	}
	for _, file := range q.Unverified {
		shown, left := show(file, part(most, 6), `"`)
		line("unverified", shown+": its contents cannot be compared, and may be changed before it runs", left)
	}
	if q.Reason != "" {
		value("because", q.Reason, part(most, 6))
	}
	return b.String(), omitted
}

// showItem shows item i. most limits its length in bytes; if 0, the length is unlimited. left is the number of omitted
// bytes, and size the length of the item.
type showItem func(i, most int) (shown string, left, size int)

// showList shows n items in about most bytes, or without a limit if most is 0. If they do not fit, it shows the first
// and the last ones.
func showList(n, most int, what string, of showItem) (shown string, omitted int) {
	var first, last []string
	add := func(to *[]string, i, most int) (length int) {
		text, left, _ := of(i, most)
		*to = append(*to, text)
		omitted += left
		return len(text) + 1
	}
	from, to, room := 0, n, most
	for ; from < n && omitted == 0 && (most <= 0 || room > 0); from++ {
		room -= add(&first, from, most)
	}
	if from == n && omitted == 0 && room >= 0 || most <= 0 {
		return strings.Join(first, " "), 0
	}
	first, omitted = nil, 0
	for from, room = 0, part(most, 2); from < to && room > 0; from++ {
		room -= add(&first, from, part(most, 2))
	}
	for room = part(most, 2); from < to && room > 0; to-- {
		room -= add(&last, to-1, part(most, 6))
	}
	slices.Reverse(last)
	if from < to {
		bytes := 0
		for i := from; i < to; i++ {
			_, _, size := of(i, 1)
			bytes += size
		}
		omitted += bytes
		first = append(first, fmt.Sprintf("... %d %s of %d bytes not shown ...", to-from, what, bytes))
	}
	return strings.Join(append(first, last...), " "), omitted
}

// part returns the n-th part of a limit. A limit of 0, which means unlimited, stays 0.
func part(most, n int) int {
	if most <= 0 {
		return 0
	}
	return max(most/n, 1)
}

// show makes text visible, in quotes if quote is not empty. left is the number of bytes omitted to fit into most bytes.
// If most is 0, the length is unlimited.
func show(text string, most int, quote string) (shown string, left int) {
	whole, end := makeVisible(text, most, quote)
	if end == len(text) {
		return quote + whole + quote, 0
	}
	tailRoom := part(most, 3)
	head, from := makeVisible(text, max(most-tailRoom, 1), quote)
	to := len(text)
	for to > from {
		_, size := utf8.DecodeLastRuneInString(text[from:to])
		if tailRoom -= len(escaped(text[to-size : to])); tailRoom < 0 {
			break
		}
		to -= size
	}
	tail, _ := makeVisible(text[to:], 0, quote)
	left = to - from
	return fmt.Sprintf("%s ... %d bytes not shown ... %s", quote+head+quote, left, quote+tail+quote), left
}

// maxMarks is the number of combining marks allowed on a character: more of them paint over other lines.
const maxMarks = 4

// makeVisible makes the beginning of text visible that fits into most bytes; end is its length in text. If most is 0,
// the length is unlimited.
func makeVisible(text string, most int, quote string) (shown string, end int) {
	var b strings.Builder
	marks := maxMarks // on the last character; only letters and digits may have marks
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		piece := text[end : end+size]
		switch isMark := unicode.IsMark(r); {
		case r == utf8.RuneError && size == 1, isHidden(r), isMark && marks == maxMarks:
			piece, marks = escaped(piece), maxMarks
		case isMark:
			marks++
		case unicode.IsLetter(r), unicode.IsNumber(r):
			marks = 0
		default:
			marks = maxMarks
			if quote != "" && (piece == `\` || piece == quote) {
				piece = `\` + piece
			}
		}
		if most > 0 && b.Len()+len(piece) > most {
			break
		}
		b.WriteString(piece)
		end += size
	}
	return b.String(), end
}

// escaped returns a character, or a byte of invalid UTF-8, as a Go escape sequence.
func escaped(piece string) string {
	r, size := utf8.DecodeRuneInString(piece)
	if r == utf8.RuneError && size == 1 {
		return fmt.Sprintf(`\x%02x`, piece[0])
	}
	quoted := strconv.QuoteRuneToASCII(r)
	return quoted[1 : len(quoted)-1]
}

// isHidden reports whether a character is invisible or changes how other characters are shown. unicode.IsPrint detects
// most of them.
func isHidden(r rune) bool {
	return !unicode.IsPrint(r) || unicode.In(r, shapeless...)
}

// shapeless lists characters that Unicode says are shown as nothing, and blanks.
var shapeless = []*unicode.RangeTable{unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, blanks}

// blanks lists characters that Unicode calls letters, symbols or marks, but look like nothing.
var blanks = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}, {Lo: 0xFFFC, Hi: 0xFFFC, Stride: 1}},
	R32: []unicode.Range32{
		{Lo: 0x13441, Hi: 0x13442, Stride: 1}, {Lo: 0x16FE4, Hi: 0x16FE4, Stride: 1},
		{Lo: 0x1D159, Hi: 0x1D159, Stride: 1},
	},
}

package display

// Styles set by SGR sequences (ECMA-48, 8.3.117), to be written again.

import (
	"slices"
	"strconv"
	"strings"
)

// resetStyle ends every style.
const resetStyle = "\x1b[m"

// style is the appearance of text. The zero value is the default. It does not include blinking and concealed text, nor
// fonts.
type style struct {
	attributes       [10]bool // by parameter: 1 bold, 2 faint, 3 italic, 4 underlined, 7 inverse, 9 crossed out
	text, background string   // the parameters of a colour, such as "31" or "38;5;208"
}

// write writes the SGR sequence that sets the style after a reset. The style must not be the default.
func (s *style) write(b *strings.Builder) {
	before := "\x1b["
	for n, set := range s.attributes {
		if set {
			b.WriteString(before)
			b.WriteByte('0' + byte(n))
			before = ";"
		}
	}
	for _, colour := range [...]string{s.text, s.background} {
		if colour != "" {
			b.WriteString(before)
			b.WriteString(colour)
			before = ";"
		}
	}
	b.WriteByte('m')
}

// change applies the parameters of an SGR sequence. It ignores unknown ones.
func (s *style) change(parameters string) {
	rest := slices.AppendSeq(make([]string, 0, 8), strings.SplitSeq(parameters, ";")) // mostly without an allocation
	for ; len(rest) > 0; rest = rest[1:] {
		first, _, _ := strings.Cut(rest[0], ":") // "4:3" is underlined in some way
		switch n, _ := strconv.Atoi(first); n {
		case 0:
			*s = style{}
		case 1, 2, 3, 4, 7, 9:
			s.attributes[n] = rest[0] != "4:0"
		case 22:
			s.attributes[1], s.attributes[2] = false, false
		case 23, 24, 27, 29:
			s.attributes[n-20] = false
		case 30, 31, 32, 33, 34, 35, 36, 37, 90, 91, 92, 93, 94, 95, 96, 97:
			s.text = strconv.Itoa(n)
		case 40, 41, 42, 43, 44, 45, 46, 47, 100, 101, 102, 103, 104, 105, 106, 107:
			s.background = strconv.Itoa(n)
		case 38, 48:
			colour, used := paletteColour(rest)
			if n == 38 {
				s.text = colour
			} else {
				s.background = colour
			}
			rest = rest[used-1:]
		case 39:
			s.text = ""
		case 49:
			s.background = ""
		}
	}
}

// paletteColour returns the colour at the beginning of parameters, and the number of parameters that it uses:
// "38:5:208"; "38", "5", "208"; or "38", "2" and three more. For other colours the rest of the sequence cannot be read.
func paletteColour(parameters []string) (colour string, used int) {
	if strings.Contains(parameters[0], ":") {
		return parameters[0], 1
	}
	if len(parameters) > 1 {
		used = map[string]int{"5": 3, "2": 5}[parameters[1]]
	}
	if used == 0 || used > len(parameters) {
		return "", len(parameters)
	}
	return strings.Join(parameters[:used], ";"), used
}

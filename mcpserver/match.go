package mcpserver

// Waiting for output that matches.

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
)

const (
	maxPattern = 4 << 10
	// maxLine is how much of an unfinished line is searched. Of a longer one, the first half is forgotten.
	maxLine = 16 << 10
)

// matcher returns a function that reports whether a line matches, or nil if neither argument is set.
func matcher(text, expression string) (func(line string) bool, error) {
	switch {
	case text != "" && expression != "":
		return nil, fmt.Errorf("until and until_regexp are both set; pass only one of them")
	case len(text)+len(expression) > maxPattern:
		return nil, fmt.Errorf("the text to wait for is longer than %d bytes; pass a shorter one", maxPattern)
	case text != "":
		return func(line string) bool { return strings.Contains(line, text) }, nil
	case expression != "":
		re, err := regexp.Compile(expression)
		if err != nil {
			return nil, fmt.Errorf("until_regexp is not a valid RE2 expression: %w; correct it", err)
		}
		return re.MatchString, nil
	}
	return nil, nil
}

// awaitLine returns the first line of the output from an offset on that matches. It also looks at an unfinished line.
// It stops when the output ends or ctx is done. Lines on both sides of missed output are separate.
func awaitLine(
	ctx context.Context, t *acpterm.Terminal, offset int64, match func(string) bool,
) (line string, found bool) {
	var text display.Renderer
	var begun string // parts of an unfinished long line
	for c := range t.Follow(ctx, offset) {
		if c.Missed > 0 {
			text, begun = display.Renderer{}, ""
		}
		for _, l := range text.Write(c.Text) {
			whole, ended := strings.CutSuffix(begun+l.Text, "\n")
			if match(whole) {
				return whole, true
			}
			if begun = whole; ended {
				begun = ""
			} else if len(begun) > maxLine {
				begun = strings.ToValidUTF8(begun[len(begun)-maxLine/2:], "")
			}
		}
		if rest := text.Rest(); rest.Size > 0 && match(begun+rest.Text) {
			return begun + rest.Text, true
		}
	}
	return "", false
}

package remote

// Splitting the command lines of users.

import (
	"errors"
	"strings"
)

// Split splits a command line, such as "ssh -p 22 'my host'" from the user's settings, into Command.Args. Arguments are
// separated by white space. Both kinds of quotes preserve all characters between them, except that a backslash within
// double quotes escapes a double quote or a backslash. Outside quotes, a backslash escapes the next character unless it
// is a letter or a digit, so Windows paths need no quotes. Nothing is expanded. Split returns an error if the line is
// empty or a quote is not closed.
func Split(line string) ([]string, error) {
	var args []string
	var arg strings.Builder
	inArg := false
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && escapes(quote, line[i+1:]):
			i++
			arg.WriteByte(line[i])
			inArg = true
		case quote != 0:
			arg.WriteByte(c)
		case c == '\'' || c == '"':
			quote, inArg = c, true
		case strings.IndexByte(" \t\r\n", c) < 0:
			arg.WriteByte(c)
			inArg = true
		case inArg:
			args = append(args, arg.String())
			arg.Reset()
			inArg = false
		}
	}
	switch {
	case quote != 0:
		return nil, errors.New("remote: a quote in the command line is not closed")
	case inArg:
		args = append(args, arg.String())
	}
	if len(args) == 0 {
		return nil, errors.New("remote: the command line is empty")
	}
	return args, nil
}

// escapes reports whether a backslash before rest escapes the next character.
func escapes(quote byte, rest string) bool {
	if rest == "" || quote == '\'' {
		return false
	}
	c := rest[0]
	if quote == '"' {
		return c == '"' || c == '\\'
	}
	return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9')
}

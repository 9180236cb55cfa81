package remote

// Command lines that a person writes.

import (
	"errors"
	"strings"
)

// Split takes a command line apart, such as "ssh -p 22 'my host'" that a user has set, into Command.Args. White space
// separates arguments. Single quotes keep all between them as it is; double quotes do too, but for a backslash before a
// double quote or a backslash. Outside of quotes a backslash keeps the next character as it is; before a letter or a
// digit it is a character as any other, so that paths of Windows need no quotes. Nothing is expanded. It fails for a
// line with nothing in it, or whose quotes are not closed.
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

// escapes reports whether a backslash with the rest of the line after it keeps a character as it is.
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

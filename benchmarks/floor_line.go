package main

// The floors of an answer: a ready line that goes through the pipe, one pass that escapes the output, and one copy of it.

import "bufio"

// serveLines SIZE: answers each line with one that is ready, and looks like the answer to terminal/output with so many
// bytes in it.
func serveLines(args []string) error {
	stdin, stdout := pollableStdio()
	line := answer(string(someOutput(number(args[0]))))
	for requests := bufio.NewReader(stdin); ; {
		if _, err := requests.ReadSlice('\n'); err != nil {
			return nil
		}
		if _, err := stdout.Write(line); err != nil {
			return nil
		}
	}
}

// escape appends text as it is within a JSON string. That it is valid UTF-8 it takes for granted.
func escape(to, text []byte) []byte {
	const hex = "0123456789abcdef"
	from := 0
	for i, c := range text {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		to = append(to, text[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			to = append(to, '\\', c)
		case '\n':
			to = append(to, '\\', 'n')
		case '\t':
			to = append(to, '\\', 't')
		case '\r':
			to = append(to, '\\', 'r')
		default:
			to = append(to, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(to, text[from:]...)
}

package main

// The benchmarks start this program again as their commands and clients.

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"
)

func children() map[string]func(args []string) error {
	return map[string]func(args []string) error{
		"write": write, "grow": grow, "stamp": stamp, "sessions": sessions, "page": page,
		"client": serveClient,
	}
}

// someOutput returns size bytes that look like the output of a test run, with colours, quotes, tabs and ticks.
func someOutput(size int) []byte {
	const lines = "\x1b[32m✓\x1b[0m \tTestParse/\"quoted\"_name \x1b[90m(0.03s)\x1b[39m\n" +
		"    parse_test.go:42: expected <nil> & got \"unexpected end of input\" at C:\\src\\parse.go:17\n" +
		"=== RUN   TestEverythingElse/with_a_rather_long_name_that_fills_the_line_as_they_do\n"
	text := strings.ToValidUTF8(strings.Repeat(lines, size/len(lines)+1)[:size], "") // drops an incomplete character
	return []byte(text + strings.Repeat(".", size-len(text)))
}

// write TOTAL CHUNK: writes TOTAL bytes, CHUNK at a time
func write(args []string) error {
	total, chunk := number(args[0]), number(args[1])
	text := someOutput(chunk)
	for written := 0; written < total; {
		n, err := os.Stdout.Write(text[:min(chunk, total-written)])
		if err != nil {
			return err
		}
		written += n
	}
	return nil
}

// kept returns the part of text that a terminal keeps: the last bytes, starting with a whole character.
func kept(text []byte) string {
	text = text[max(0, len(text)-outputLimit):]
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return string(text)
}

// grow ADDRESS TOTAL MORE: writes TOTAL bytes, and then MORE each time the listener at ADDRESS asks for it. The last
// line of each further write contains its number. The command ends with the connection.
func grow(args []string) error {
	conn, err := net.Dial("tcp", args[0])
	if err != nil {
		return err
	}
	defer conn.Close()
	os.Stdout.Write(someOutput(number(args[1])))
	said := make([]byte, 1)
	for n := 1; ; n++ {
		if _, err := conn.Write(said); err != nil {
			return nil
		}
		if _, err := conn.Read(said); err != nil {
			return nil
		}
		os.Stdout.Write(grown(number(args[2]), n))
	}
}

// grown returns the output of the nth write of the child grow.
func grown(size, n int) []byte {
	last := fmt.Sprintf("\ngrown %d times\n", n)
	return append(someOutput(size-len(last)), last...)
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

package main

// This program starts itself again as a command of the servers, and as a server of the second table.

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/acpterm/acpterm/internal/checks/benchmarks/bench"
)

func children() map[string]func(args []string) error {
	return map[string]func(args []string) error{
		"write": write, "log": writeLog,
		"serve-acp": serveACP, "serve-mcp": serveMCP, "serve-http": serveHTTP,
	}
}

// self returns the shell line of a child.
func self(name string, args ...any) string {
	line := bench.Self(name, args...)
	for i, word := range line {
		line[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(line, " ")
}

// lineSize is the length of each line of the child write, in bytes.
const lineSize = 80

// numberedLine returns line n of the child write. It has characters of two, three and four bytes.
func numberedLine(n int) string {
	line := fmt.Sprintf("%08d é ✓ 😀 ", n)
	return line + strings.Repeat("x", lineSize-1-len(line)) + "\n"
}

// write LINES FILE: writes numbered lines in parts of 4097 bytes, which split characters, and then creates FILE
func write(args []string) error {
	lines, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	const part = 4097
	pending := ""
	for n := range lines {
		if pending += numberedLine(n); len(pending) < part && n < lines-1 {
			continue
		}
		for len(pending) >= part || pending != "" && n == lines-1 {
			size := min(part, len(pending))
			if _, err := os.Stdout.WriteString(pending[:size]); err != nil {
				return err
			}
			pending = pending[size:]
		}
	}
	return os.WriteFile(args[1], nil, 0o666)
}

// The lines that a reader of a long log needs.
const (
	logFirst = "error: cannot find module example.test/missing"
	logLast  = "FAIL: one test failed"
)

// writeLog TESTS: writes a log like that of a test run, with colours and a progress line that overwrites itself
func writeLog(args []string) error {
	tests, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	w := bufio.NewWriter(os.Stdout)
	fmt.Fprintln(w, "\x1b[31m"+logFirst+"\x1b[0m")
	for n := range tests {
		for percent := 0; percent < 100; percent += 50 {
			fmt.Fprintf(w, "\r\x1b[K\x1b[33m[%5d/%d]\x1b[0m running %d %%", n, tests, percent)
		}
		fmt.Fprintf(w, "\r\x1b[K\x1b[32m✓\x1b[0m package%d/TestNumber%d \x1b[90m(0.0%d s)\x1b[39m\n", n/100, n, n%10)
	}
	fmt.Fprintln(w, "\x1b[31m"+logLast+"\x1b[0m")
	return w.Flush()
}

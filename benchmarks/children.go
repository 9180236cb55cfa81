package main

// This program as a command or a client of its own: what the benchmarks start is it, with another first argument.

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/acpterm/acpterm"
)

// childMark, as the first argument, makes this program one of the children.
const childMark = "acpterm-benchmark-child"

// child is one of the children if the arguments say so, and reports whether they did.
func child(args []string) bool {
	if len(args) < 3 || args[1] != childMark {
		return false
	}
	children := map[string]func(args []string) error{
		"write":   write,
		"grow":    grow,
		"wait":    wait,
		"nothing": func([]string) error { return nil },
		"lines":   serveLines,
		"starts":  serveStarts,
		"client":  serveClient,
	}
	maps.Copy(children, linuxChildren())
	err := fmt.Errorf("no such child")
	if do, ok := children[args[2]]; ok {
		err = do(args[3:])
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", strings.Join(args[1:], " "), err)
		os.Exit(1)
	}
	return true
}

// command is a program and its arguments.
type command struct {
	path string
	args []string
}

// self is this program as one of the children.
func self(name string, args ...any) command {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	c := command{path, []string{childMark, name}}
	for _, arg := range args {
		c.args = append(c.args, fmt.Sprint(arg))
	}
	return c
}

// system is a program of the system's.
func system(name string, args ...string) command { return command{name, args} }

// trueCommand does nothing.
func trueCommand() command {
	if runtime.GOOS == "windows" {
		return self("nothing")
	}
	return system("true")
}

func (c command) cmd() *exec.Cmd { return exec.Command(c.path, c.args...) }

// request asks for it in session "s".
func (c command) request(limit uint64) acpterm.CreateTerminalRequest {
	return acpterm.CreateTerminalRequest{SessionID: "s", Command: c.path, Args: c.args, OutputByteLimit: &limit}
}

// someOutput looks like a test run's output: colours, quotes, tabs and ticks.
func someOutput(size int) []byte {
	const lines = "\x1b[32m✓\x1b[0m \tTestParse/\"quoted\"_name \x1b[90m(0.03s)\x1b[39m\n" +
		"    parse_test.go:42: expected <nil> & got \"unexpected end of input\" at C:\\src\\parse.go:17\n" +
		"=== RUN   TestEverythingElse/with_a_rather_long_name_that_fills_the_line_as_they_do\n"
	return []byte(strings.Repeat(lines, size/len(lines)+1)[:size])
}

// write TOTAL CHUNK RATE: writes TOTAL bytes, CHUNK at a time, at most RATE a second unless that is 0.
func write(args []string) error {
	total, chunk, rate := number(args[0]), number(args[1]), number(args[2])
	text := someOutput(chunk)
	begin := time.Now()
	for written := 0; written < total; {
		n, err := os.Stdout.Write(text[:min(chunk, total-written)])
		if err != nil {
			return err
		}
		written += n
		if rate > 0 {
			time.Sleep(time.Until(begin.Add(time.Duration(float64(written) / float64(rate) * 1e9))))
		}
	}
	return nil
}

// wait: for five minutes; nobody waits that long, but it may be forgotten.
func wait([]string) error {
	time.Sleep(5 * time.Minute)
	return nil
}

// grow ADDRESS TOTAL MORE: writes TOTAL bytes, and MORE each time that whoever listens at the address says so; the last
// line of these is the number of the time. It ends when the connection does.
func grow(args []string) error {
	conn, err := net.Dial("tcp", args[0])
	if err != nil {
		return err
	}
	defer conn.Close()
	os.Stdout.Write(someOutput(number(args[1])))
	said := make([]byte, 1)
	for n := 0; ; n++ {
		if _, err := conn.Write(said); err != nil {
			return nil
		}
		if _, err := conn.Read(said); err != nil {
			return nil
		}
		last := growMark(n + 1)
		more := number(args[2])
		os.Stdout.Write(append(someOutput(more)[:more-len(last)], last...))
	}
}

// growMark is the last line of what the child grow writes.
func growMark(n int) string { return fmt.Sprintf("\ngrown %d times\n", n) }

// answer is a ready line that looks like the answer to terminal/output.
func answer(output string) []byte {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.Encode(map[string]any{"jsonrpc": "2.0", "id": 1, "result": map[string]any{"output": output, "truncated": false}})
	return []byte(b.String())
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

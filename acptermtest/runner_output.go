package acptermtest

// The laws of a Runner's output: it is complete, in order, and unchanged.

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/acpterm/acpterm"
)

// raw returns the bytes of an ended command's output.
func (s *runnerTest) raw(term *acpterm.Terminal) string {
	s.Helper()
	s.noError(term.Kill(s.context()))
	var raw strings.Builder
	for chunk := range term.Follow(s.context(), 0) {
		if chunk.Missed > 0 {
			s.Fatalf("%d bytes were missed", chunk.Missed)
		}
		raw.WriteString(chunk.Raw)
	}
	return raw.String()
}

// Every byte arrives unchanged, and standard output and standard error share one order.
func testOutput(s *runnerTest) {
	m := s.manager(acpterm.Options{})
	var octal, bytes strings.Builder
	for b := range 256 {
		fmt.Fprintf(&octal, `\%03o`, b)
		bytes.WriteByte(byte(b))
	}
	term := s.create(m, `printf "$1"`, octal.String())
	s.exit(term)
	equal(s, "all bytes", s.raw(term), bytes.String())

	const lines = 200
	var want strings.Builder
	for i := range lines {
		fmt.Fprintf(&want, "%d\n", i)
	}
	term = s.create(m, `i=0; while [ $i -lt $1 ]; do echo $i; echo $((i+1)) >&2; i=$((i+2)); done`, fmt.Sprint(lines))
	s.exit(term)
	equal(s, "the order of both outputs", term.Output().Output, want.String())

	req := shellRequest(`for c in a b c d e f g h i j k l m n o p; do head -c 524288 /dev/zero | tr '\000' $c; done`)
	req.OutputByteLimit = new(uint64(16 << 20))
	term, err := m.Create(s.context(), req, nil)
	s.noError(err)
	for range term.Follow(s.context(), 0) { // slowly
		runtime.Gosched()
	}
	s.exit(term)
	out := term.Output().Output
	equal(s, "the size of a large output", len(out), 8<<20)
	for i := range 16 {
		part, char := out[i<<19:(i+1)<<19], string(rune('a'+i))
		if rest := strings.Trim(part, char); rest != "" {
			s.Fatalf("part %d of a large output has %.20q among %q", i, rest, char)
		}
	}
}

// The outputs of commands that run at once do not mix.
func testOutputOfManyCommands(s *runnerTest) {
	m := s.manager(acpterm.Options{})
	var terms []*acpterm.Terminal
	for i := range 30 {
		terms = append(terms, s.create(m, `i=0; while [ $i -lt 100 ]; do echo "<$1>"; i=$((i+1)); done`, fmt.Sprint(i)))
	}
	for i, term := range terms {
		s.exit(term)
		equal(s, "the output", term.Output().Output, strings.Repeat(fmt.Sprintf("<%d>\n", i), 100))
	}
}

// A tree's output goes on after the command's exit, and ends with the last process that can write.
func testOutputAfterTheExit(s *runnerTest) {
	m := s.asking(soon)
	file := s.tempDir() + "/go"
	term := s.create(m, `(until test -e "$1"; do sleep 0.1 || sleep 1; done; echo late) & echo early`, file)
	equal(s, "the status", s.exit(term), "exit code 0")
	equal(s, "the output at the exit", term.Output().Output, "early\n")
	s.tool(`: >"$1"`, file)
	s.await(term, "early\nlate\n")
	ended := s.context()
	for range term.Follow(ended, 0) { // until Output is closed
	}
	if ended.Err() != nil {
		s.Error("StartRequest.Output is not closed, although no process can write to it")
	}
}

// The output of a command is complete when its exit is reported, even if a child keeps the output open.
func testExitBeforeTheTree(s *runnerTest) {
	m := s.asking(soon)
	seconds := s.sleeper()
	tail := strings.Repeat("x", 60_000) // more than one read, and it fits into a pipe
	for range 5 {
		term := s.create(m, `sleep $2 & printf %s "$1"; exit 4`, tail, seconds)
		equal(s, "the status", s.exit(term), "exit code 4")
		equal(s, "the size of the output", len(term.Output().Output), len(tail))
		s.awaitSleeper(seconds)
		s.noError(m.Release(s.context(), "s", term.ID()))
		s.noneLeft("a release after the exit", seconds)
	}
}

//go:build unix

package mcpserver

// The first errors of failed commands, and repeated lines.

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
)

// Lines as the tools write them.
func TestLinesAboutErrors(t *testing.T) {
	for _, line := range []string{
		"--- FAIL: TestX (0.00s)", "    --- FAIL: TestX/y (0.00s)", "FAIL\texample.org/x\t0.1s", "panic: no", // go test
		"./x.go:12:3: undefined: y", "x/y.go:12: no", "vet: ./x.go:3:2: no", // go build
		"E       assert 1 == 2", "FAILED tests/test_a.py::test_b - assert 1 == 2", "ERROR tests/test_a.py", // pytest
		"Traceback (most recent call last):", "ValueError: no", "pkg.mod.MyException: no", // Python
		"src/a.ts(1,2): error TS2304: Cannot find name 'x'.", "src/a.ts:1:2 - error TS2304: no", "error TS5023: no", // tsc
		"error[E0425]: cannot find value `x`", "error: could not compile `a`", // cargo
		"thread 'main' panicked at a.rs:1:2:",
		"npm ERR! code E404", "npm error code E404", // npm
		"#7 ERROR: process \"/bin/sh -c false\" did not complete", "#7 0.312 /bin/sh: 1: foo: not found", // docker build
		"ERROR: failed to solve: x", "ERROR in ./src/a.js 1:0", // webpack
		"FAILURE: Build failed with an exception.", "> Task :compileJava FAILED", "* What went wrong:", // Gradle
		"/src/A.java:3: error: ';' expected", "e: file:///a.kt:1:2 no",
		"│ Error: Unsupported argument", "Error: Invalid", // Terraform
		"curl: (6) Could not resolve host: x", "fatal: not a git repository",
		"a.c:1:2: error: no", "a.c:1:10: fatal error: x.h: No such file", "a.c:(.text+0x9): undefined reference to `x'",
		"make: *** [Makefile:2: all] Error 1", "make[1]: *** [x] Error 2", "CMake Error at x:1 (y):", // make
		"bash: line 1: foo: command not found", "[ERROR] Failed to execute goal", "TypeError: x is not a function",
		"  3:5  error  'x' is not defined  no-undef",
	} {
		require.True(t, isFailure(line+"\n"), line)
	}
	for _, line := range []string{
		"", "ok  \texample.org/x\t0.1s", "0 errors, 0 warnings", "ok errors_test.go", "test result: ok. 3 passed",
		"Compiling error-chain v0.12.4", "=== RUN   TestError", "--- PASS: TestFailure", "x.go: formatted",
		"https://example.org/a.go:b", "  at x (a.go:1)", "info: error handling is on", "│", "#7 0.312", "#7",
		"warning: unused variable: `error`", "PASSED tests/test_a.py::test_error",
	} {
		require.False(t, isFailure(line+"\n"), line)
	}
}

// omitted matches a mark of omitted bytes.
var omittedMark = regexp.MustCompile(`\[… (\d+) bytes (?:omitted|are no longer kept)`)

func TestFailedCommandShowsItsFirstErrors(t *testing.T) {
	for _, pty := range []*acpterm.PTYOptions{nil, {}} {
		options := &acpterm.Options{Commands: acpterm.CommandOptions{PTY: pty}}
		s := connect(t, newServer(t, options, nil), nil)
		const build = `seq 1 20000; echo 'a.c:1:2: error: first'; seq 1 20000; echo 'b.c:3:4: error: second'; ` +
			`seq 1 30000; echo 'make: *** [all] Error 1'; exit `
		r, text := call[commandResult](t, s, "run", object{"command": build + "2"})
		require.Regexp(t, `^\[\S+ exit code 2\]\n1\n2\n`, text)
		first := "\n[the first errors]\n19998\n19999\n20000\na.c:1:2: error: first\n1\n2\n3\n4\n5\n6\n7\n[… "
		require.Contains(t, r.Output, first)
		require.Contains(t, r.Output, " …]\n19998\n19999\n20000\nb.c:3:4: error: second\n1\n2\n3\n4\n5\n6\n7\n[… ")
		require.True(t, strings.HasSuffix(r.Output, "\n30000\nmake: *** [all] Error 1\n"))
		require.Less(t, len(text), 10<<10) // less than without errors
		total := 2*108894 + 168894 + len("a.c:1:2: error: first\nb.c:3:4: error: second\nmake: *** [all] Error 1\n")
		hidden := int64(0)
		for _, mark := range omittedMark.FindAllStringSubmatch(r.Output, -1) {
			var size int64
			fmt.Sscan(mark[1], &size)
			hidden += size
		}
		require.Equal(t, r.OmittedBytes+r.LostBytes, hidden)
		shown := 0
		for line := range strings.Lines(r.Output) {
			if !strings.HasPrefix(line, "[") {
				shown += len(line)
			}
		}
		require.EqualValues(t, total, hidden+int64(shown))

		p, _ := call[commandResult](t, s, "output", object{"id": r.ID, "show": "end"})
		require.NotContains(t, p.Output, "first errors")
		r, _ = call[commandResult](t, s, "run", object{"command": build + "0"})
		require.NotContains(t, r.Output, "first errors") // it has not failed
		r, _ = call[commandResult](t, s, "run", object{"command": "echo 'error: x'; seq 1 20000; exit 1"})
		require.NotContains(t, r.Output, "first errors") // the beginning shows it
	}
}

// Errors are found in output that the terminal has dropped since.
func TestErrorsInDroppedOutputAreShown(t *testing.T) {
	dropped := make(chan struct{})
	lines := strings.Repeat("one\ntwo\n", 10_000)
	m := acptermtest.NewManager(t, &acpterm.Options{
		Runner: acptermtest.Commands{"x": func(p *acptermtest.Process) int {
			fmt.Fprint(p, "begin\n", "1\n2\n3\n4\n", "error: no\n")
			<-dropped
			fmt.Fprint(p, lines, "end\n")
			return 1
		}},
		Commands: acpterm.CommandOptions{OutputByteLimit: 4096, FollowBytes: 4096},
	})
	terminal, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "x"}, nil)
	require.NoError(t, err)
	f := failures{terminal: terminal, more: make(chan struct{})}
	var searching sync.WaitGroup
	searching.Go(func() { f.search(t.Context(), 1<<10) })
	require.Len(t, f.await(t.Context(), 24), 4)
	close(dropped)
	<-terminal.Done()
	total := terminal.OutputTotal()
	e := readOutput(terminal, 0, 4096, showEnds, f.await(t.Context(), total))
	require.Regexp(t, `^\[… 8 bytes are no longer kept …\]\n\[the first errors\]\n2\n3\n4\nerror: no\n`, e.text)
	require.True(t, strings.HasSuffix(e.text, "one\ntwo\nend\n"))
	require.EqualValues(t, total, e.next)
	searching.Wait()
}

// A line about an error may be partly among the bytes that are lost.
func TestErrorAcrossTheEndOfLostOutput(t *testing.T) {
	pieces := []piece{{from: 0, to: 6, text: "begin\n"}, {from: 6, to: 20, text: lostMark(14), lost: true}}
	for at := int64(20); at < 5000; at += 10 {
		pieces = append(pieces, piece{from: at, to: at + 10, text: fmt.Sprintf("line %04d\n", at)})
	}
	failure := piece{from: 15, to: 30, text: "error: 15 byte\n"}
	e := collect(slices.Values(pieces), 0, 1024, showEnds, true, []piece{failure})
	require.True(t, strings.HasPrefix(e.text, "begin\n"+lostMark(9)+"[the first errors]\nerror: 15 byte\n[… "), e.text)
	require.EqualValues(t, 9, e.lost)
	shown := int64(len("begin\n") + len(failure.text) + 10*strings.Count(e.text, "line "))
	require.Equal(t, e.next, shown+e.lost+e.omitted)
}

func TestRepeatedLinesAreFolded(t *testing.T) {
	s := connect(t, newServer(t, nil, nil), nil)
	r, _ := call[commandResult](t, s, "run", object{
		"command": `echo a; yes 'the same' | head -n 5000; echo b; echo b; echo; yes '' | head -n 100; printf c`,
	})
	const folded = "a\nthe same\n[… the same line 4999 more times …]\nb\nb\n\n[… the same line 100 more times …]\nc"
	require.Equal(t, folded, r.Output)
	require.EqualValues(t, 4999*len("the same\n")+100, r.OmittedBytes)
	p, _ := call[commandResult](t, s, "output", object{"id": r.ID, "show": "start"})
	require.Zero(t, p.OmittedBytes)
	require.Contains(t, p.Output, strings.Repeat("the same\n", 1000)) // as it was written
}

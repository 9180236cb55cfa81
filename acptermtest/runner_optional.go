package acptermtest

// The laws of what a Runner need not have: PTYs, standard input, and lists of processes. Without it, they are skipped.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
)

// has skips the test if value, a Runner or a Process, does not have a method. It fails if value has another one of that
// name, or does not have all methods of T.
func has[T any](s *runnerTest, value any, method string) {
	s.Helper()
	if _, ok := value.(T); ok || value == nil { // the local system
		return
	}
	if _, named := reflect.TypeOf(value).MethodByName(method); named {
		s.Fatalf("%T has a method %s, but is no %v", value, method, reflect.TypeFor[T]())
	}
	s.Skipf("%T has no method %s: this is optional", value, method)
}

// createWith starts a line of sh with options.
func (s *runnerTest) createWith(
	m *acpterm.Manager, o acpterm.CommandOptions, line string, args ...string,
) *acpterm.Terminal {
	s.Helper()
	term, err := m.Create(s.context(), shellRequest(line, args...), &o)
	s.noError(err)
	return term
}

// write writes to a terminal.
func (s *runnerTest) write(term *acpterm.Terminal, text string) {
	s.Helper()
	n, err := io.WriteString(term, text)
	s.noError(err)
	equal(s, "the written bytes", n, len(text))
}

// writeMuch writes more to a terminal than any PTY or pipe holds. ended receives the error.
func (s *runnerTest) writeMuch(term *acpterm.Terminal) (ended <-chan error) {
	errs := make(chan error, 1)
	go func() { _, err := term.Write(make([]byte, 8<<20)); errs <- err }()
	return errs
}

// endsWrite ends a command, which must end the Write of its unread input.
func (s *runnerTest) endsWrite(what string, ended <-chan error, end func() error) {
	s.Helper()
	select {
	case err := <-ended:
		s.Fatalf("a Write that nothing reads returns: %v", err)
	default:
	}
	s.noError(end())
	select {
	case err := <-ended:
		equal(s, "the error of a Write after "+what+" is os.ErrClosed", errors.Is(err, os.ErrClosed), true)
	case <-s.context().Done():
		s.Fatalf("a Write blocks after %s", what)
	}
}

// A PTY is the command's terminal. It has the right size, its keys reach the foreground, and a kill ends its programs.
func testPTY(s *runnerTest) {
	has[acpterm.PTYRunner](s, s.runner, "StartPTY")
	m := s.manager(acpterm.Options{})
	pty := acpterm.CommandOptions{PTY: &acpterm.PTYOptions{Columns: 99, Rows: 33}}
	term := s.createWith(m, pty, `test -t 0 && test -t 1 && test -t 2 && stty size </dev/tty
		read x; echo "<$x>"; trap 'exit 7' INT; stty size; while :; do read x; done`)
	s.await(term, "33 99")
	s.noError(term.Resize(77, 22))
	s.write(term, "text\n")
	s.await(term, "22 77")
	s.write(term, "\x03")
	equal(s, "the status after an interrupt", s.exit(term), "exit code 7")
	if out := term.Output().Output; !strings.Contains(out, "<text>\n") {
		s.Errorf("the input has not arrived: %q", out)
	}
	_, err := io.WriteString(term, "late")
	equal(s, "the error of a Write after the exit is os.ErrClosed", errors.Is(err, os.ErrClosed), true)

	seconds := s.sleeper()
	term = s.createWith(m, pty, `stty raw -echo; sleep $1 & echo ready; exec sleep $1`, seconds)
	s.await(term, "ready")
	s.endsWrite("a kill", s.writeMuch(term), func() error { return term.Kill(s.context()) })
	s.noneLeft("a kill on a PTY", seconds)
}

// Standard input is a pipe: what is written arrives, and then its end. A command that does not read holds Writes back.
func testStdin(s *runnerTest) {
	has[acpterm.StdinRunner](s, s.runner, "StartStdin")
	m := s.manager(acpterm.Options{})
	stdin := func(from io.Reader) acpterm.CommandOptions {
		return acpterm.CommandOptions{Stdin: &acpterm.StdinOptions{Reader: from}}
	}
	term := s.createWith(m, stdin(nil), `cat; echo end`)
	for _, line := range []string{"Grüße\n", "\x00\x03\x04\xff\n"} {
		s.write(term, line)
		s.await(term, strings.ToValidUTF8(line, "\ufffd"))
	}
	s.noError(term.CloseStdin())
	s.noError(term.CloseStdin())
	equal(s, "the status after the end of the input", s.exit(term), "exit code 0")
	equal(s, "the output", s.raw(term), "Grüße\n\x00\x03\x04\xff\nend\n")
	_, err := io.WriteString(term, "late")
	equal(s, "the error of a Write after the exit is os.ErrClosed", errors.Is(err, os.ErrClosed), true)

	var text strings.Builder
	for i := range 50_000 {
		fmt.Fprintln(&text, i)
	}
	term = s.createWith(m, stdin(strings.NewReader(text.String())), `sleep 0.1; cat`)
	s.exit(term)
	if s.raw(term) != text.String() {
		s.Errorf("a large input has not arrived: %d bytes of %d", term.OutputTotal(), text.Len())
	}

	seconds := s.sleeper()
	for what, end := range map[string]func() error{
		"CloseStdin": func() error { return term.CloseStdin() },
		"a kill":     func() error { return term.Kill(s.context()) },
	} {
		term = s.createWith(m, stdin(nil), `exec sleep $1`, seconds)
		ended := s.writeMuch(term)
		s.tool("true") // meanwhile
		s.endsWrite(what, ended, end)
		s.noError(term.Kill(s.context()))
	}
	s.noneLeft("a command with input", seconds)
}

// The list of a tree has its processes with their parents and commands, also after the command's exit, and no others.
func testProcesses(s *runnerTest) {
	type lister interface {
		Processes(ctx context.Context) ([]acpterm.ProcessInfo, error)
	}
	m := s.manager(acpterm.Options{})
	seconds, other := s.sleeper(), s.sleeper()
	if s.runner != nil {
		p, err := s.runner.Start(s.context(), s.startRequest(new(recorder), `:`))
		s.noError(err)
		s.wait(p)
		p.Close()
		has[lister](s, p, "Processes")
	}
	s.create(m, `exec sleep $1`, other)
	const line = `sleep $1 & sleep $1 & echo ready; read x </dev/null; exec sleep $1`
	term := s.createReady(m, line, seconds)
	s.awaitSleeper(seconds)
	list := s.list(term)
	for ctx := s.context(); ctx.Err() == nil && !sleeping(list, 3, seconds); { // until the shell has become sleep
		list = s.list(term)
	}
	if !sleeping(list, 3, seconds) {
		s.Fatalf("the processes of %q are %+v", line, list)
	}
	pid := term.Info().PID
	for i, p := range list {
		switch {
		case pid != 0 && p.PID != pid && p.Parent != pid:
			s.Errorf("the parent of process %d is %d, want %d", p.PID, p.Parent, pid)
		case i > 0 && p.PID <= list[i-1].PID:
			s.Errorf("process %d follows process %d", p.PID, list[i-1].PID)
		}
	}
	term2 := s.create(m, `sleep $1 >/dev/null & true`, seconds)
	s.exit(term2)
	for ctx := s.context(); !sleeping(s.list(term2), 1, seconds); {
		if ctx.Err() != nil {
			s.Fatalf("the process that outlives its command is not in %+v", s.list(term2))
		}
	}
	for _, term := range []*acpterm.Terminal{term, term2} {
		s.noError(term.Kill(s.context()))
		equal(s, "the number of processes after a kill", len(s.list(term)), 0)
	}
}

// list returns the processes of a terminal. It skips the test if the local system cannot list them.
func (s *runnerTest) list(term *acpterm.Terminal) []acpterm.ProcessInfo {
	s.Helper()
	list, err := term.Processes(s.context())
	if s.runner == nil && list == nil && errors.Is(err, errors.ErrUnsupported) {
		s.Skip("the system does not list processes")
	}
	s.noError(err)
	return list
}

// sleeping reports whether a list has that many processes, which all sleep for so long.
func sleeping(list []acpterm.ProcessInfo, count int, seconds string) bool {
	return len(list) == count && !slices.ContainsFunc(list, func(p acpterm.ProcessInfo) bool {
		return p.PID <= 0 || p.Command != "sleep "+seconds
	})
}

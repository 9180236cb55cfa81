package acptermtest

// TestRunner tests a Runner. The tests themselves are in the files runner_*.go, by subject.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
)

// RunnerGaps declares what a Runner cannot do. The tests of a gap are skipped, or replaced by a test that the Runner
// refuses what it cannot do. The zero value declares nothing.
type RunnerGaps struct {
	// Limits lists the fields of acpterm.Limits that the Runner cannot enforce, such as "Memory". Start must fail for
	// each of them. The default is to enforce all of them.
	Limits []string
	// Signals means that the only signal is SIGKILL, so any other signal may end the tree by force, or do nothing.
	Signals bool
	// ExitSignals means that a command ended by a signal is reported with exit code 128 plus the number of the signal.
	ExitSignals bool
	// Pins means that the Runner cannot detect replaced programs and directories. Found.Pin must then be empty.
	Pins bool
	// Daemons means that the Runner cannot find processes that have left the command's session and lost their parent.
	Daemons bool
}

// TestRunner tests that a Runner keeps the promises of acpterm.Runner and acpterm.Process. Each subtest is about one of
// them. If gaps is nil, the Runner must keep all of them.
//
// PTYs, standard input and lists of processes are optional. They are tested if the Runner is an acpterm.PTYRunner, an
// acpterm.StdinRunner, or if its Process has the method Processes.
//
// Each subtest calls newRunner once. newRunner may return the same Runner each time, and can use t.Cleanup to close it.
// If it returns nil, the local system is tested in the same way.
//
// The commands of the tests are lines of sh, so nothing needs to be installed or copied. The machine must have a POSIX
// shell and the usual utilities (cat, env, head, mktemp, mkdir, mv, rm, sleep, tr, and ps if there is no /proc) in its
// PATH, and stty for PTYs. Tests of processes in their own session also need setsid, and are skipped without it. The
// commands create files in directories made by mktemp -d, and remove them.
func TestRunner(t *testing.T, newRunner func(t testing.TB) acpterm.Runner, gaps *RunnerGaps) {
	for _, law := range runnerLaws() {
		t.Run(law.name, func(t *testing.T) { law.check(newRunnerTest(t, newRunner, gaps, time.Minute)) })
	}
}

// runnerLaw is a subtest of TestRunner.
type runnerLaw struct {
	name  string
	check func(*runnerTest)
}

func runnerLaws() []runnerLaw {
	return []runnerLaw{
		{"Base", testBase},
		{"Directories", testDirectories},
		{"Programs", testPrograms},
		{"Environment", testEnvironment},
		{"Input", testInput},
		{"Output", testOutput},
		{"OutputOfManyCommands", testOutputOfManyCommands},
		{"OutputAfterTheExit", testOutputAfterTheExit},
		{"ExitStatus", testExitStatus},
		{"ExitBeforeTheTree", testExitBeforeTheTree},
		{"Kill", testKill},
		{"Trees", testTrees},
		{"Signals", testSignals},
		{"Release", testRelease},
		{"Close", testClose},
		{"CancelledCreate", testCancelledCreate},
		{"ReplacedFiles", testReplacedFiles},
		{"Limits", testLimits},
		{"Process", testProcess},
		{"PTY", testPTY},
		{"Stdin", testStdin},
		{"Processes", testProcesses},
	}
}

// runnerTest is one subtest. It fails, instead of blocking, if something takes longer than its patience.
type runnerTest struct {
	testing.TB
	gaps     RunnerGaps
	runner   acpterm.Runner // nil for the local system
	patience time.Duration
	tools    *acpterm.Manager // runs the lines that prepare and examine the machine
	sleepers []string         // the numbers of sleeper
}

func newRunnerTest(
	t testing.TB, newRunner func(testing.TB) acpterm.Runner, gaps *RunnerGaps, patience time.Duration,
) *runnerTest {
	t.Helper()
	s := &runnerTest{TB: t, runner: newRunner(t), patience: patience}
	if gaps != nil {
		s.gaps = *gaps
	}
	s.tools = s.manager(acpterm.Options{})
	s.Cleanup(func() { s.endSleepers(s.sleepers...) })
	return s
}

// manager returns a Manager with the Runner. It is closed at the end of the test.
func (s *runnerTest) manager(options acpterm.Options) *acpterm.Manager {
	s.Helper()
	options.Runner = s.runner
	m, err := acpterm.NewManager(&options)
	s.noError(err)
	s.Cleanup(func() { s.close(m) })
	return m
}

// close closes a Manager.
func (s *runnerTest) close(m *acpterm.Manager) {
	s.Helper()
	closed := make(chan error, 1)
	go func() { closed <- m.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			s.Errorf("the Manager's Close: %v", err)
		}
	case <-s.context().Done():
		s.Error("the Manager's Close does not return")
	}
}

// context returns a context that ends when the test's patience does.
func (s *runnerTest) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	s.Cleanup(cancel)
	return ctx
}

// create starts a line of sh. args become $1 and so on.
func (s *runnerTest) create(m *acpterm.Manager, line string, args ...string) *acpterm.Terminal {
	s.Helper()
	term, err := m.Create(s.context(), shellRequest(line, args...), nil)
	s.noError(err)
	return term
}

// shellRequest returns a request to run a line of sh.
func shellRequest(line string, args ...string) acpterm.CreateTerminalRequest {
	return acpterm.CreateTerminalRequest{
		SessionID: "s", Command: "sh", Args: append([]string{"-c", line, "sh"}, args...),
	}
}

// createReady starts a line that prints "ready", and waits for that.
func (s *runnerTest) createReady(m *acpterm.Manager, line string, args ...string) *acpterm.Terminal {
	s.Helper()
	term := s.create(m, line, args...)
	s.await(term, "ready\n")
	return term
}

// await follows a terminal until its output contains a text.
func (s *runnerTest) await(term *acpterm.Terminal, text string) {
	s.Helper()
	seen := ""
	for chunk := range term.Follow(s.context(), 0) {
		if seen += chunk.Text; strings.Contains(seen, text) {
			return
		}
	}
	s.Fatalf("%v never printed %q; its output is %q", term.Command(), text, seen)
}

// finish runs a request to its end.
func (s *runnerTest) finish(m *acpterm.Manager, req acpterm.CreateTerminalRequest) *acpterm.Terminal {
	s.Helper()
	term, err := m.Create(s.context(), req, nil)
	s.noError(err)
	s.exit(term)
	return term
}

// exit waits for the end of a command and returns its status.
func (s *runnerTest) exit(term *acpterm.Terminal) string {
	s.Helper()
	status, err := term.Wait(s.context())
	s.noError(err)
	return status.String()
}

// tool runs a line that must succeed, and returns its output without the last newline.
func (s *runnerTest) tool(line string, args ...string) string {
	s.Helper()
	term := s.create(s.tools, line, args...)
	status := s.exit(term)
	out := term.Output().Output
	s.noError(s.tools.Release(s.context(), "s", term.ID()))
	if status != "exit code 0" {
		s.Fatalf("%q: %s, output %q", line, status, out)
	}
	return strings.TrimSuffix(out, "\n")
}

// tempDir makes a directory on the machine, and returns its path without symbolic links.
func (s *runnerTest) tempDir() string {
	s.Helper()
	dir := s.tool(`dir=$(mktemp -d) && chmod 755 "$dir" && cd "$dir" && pwd -P`)
	s.Cleanup(func() { s.tool(`rm -rf "$1"`, dir) })
	return dir
}

// path returns the PATH of the machine.
func (s *runnerTest) path() string {
	if s.runner == nil {
		return os.Getenv("PATH")
	}
	_, env, err := s.runner.Base(s.context())
	s.noError(err)
	for _, variable := range env {
		if path, ok := strings.CutPrefix(variable, "PATH="); ok {
			return path
		}
	}
	s.Fatal("Base has no PATH")
	return ""
}

// sleeper returns a number of seconds, more than any test takes, that no other process sleeps. A process that sleeps
// for so long can be found by it, and is ended after the test.
func (s *runnerTest) sleeper() string {
	s.Helper()
	seconds := fmt.Sprint(100_000_000 + rand.IntN(900_000_000)) // other tests on the machine have sleepers, too
	s.sleepers = append(s.sleepers, seconds)
	return seconds
}

// endSleepers ends the processes that sleep for so long, which a Runner has left or abandoned.
func (s *runnerTest) endSleepers(seconds ...string) {
	s.Helper()
	if len(seconds) > 0 {
		s.tool(`kill -KILL $(ps -A -o pid= -o args= |
			awk -v all=" $1 " '$2 == "sleep" && index(all, " " $3 " ") {print $1}') 2>/dev/null
			true`, strings.Join(seconds, " "))
	}
}

// left returns those of the numbers of seconds that a process on the machine sleeps. No process has the text in its
// arguments otherwise: a line receives the numbers in its environment.
func (s *runnerTest) left(seconds ...string) []string {
	s.Helper()
	const line = `if [ -r /proc/self/cmdline ]; then all=$(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\000' ' ')
		else all=$(ps -A -o args=); fi
		for seconds in $SECONDS_ASLEEP; do
			case $all in *"sleep $seconds"*) echo $seconds;; esac
		done; echo end`
	req := shellRequest(line)
	req.Env = []acpterm.EnvVariable{{Name: "SECONDS_ASLEEP", Value: strings.Join(seconds, " ")}}
	term := s.finish(s.tools, req)
	found := strings.Fields(term.Output().Output)
	s.noError(s.tools.Release(s.context(), "s", term.ID()))
	if len(found) == 0 || found[len(found)-1] != "end" {
		s.Fatalf("the processes cannot be listed: %q", found)
	}
	return found[:len(found)-1]
}

// noneLeft fails if a process sleeps for that long, and tries to end it.
func (s *runnerTest) noneLeft(what, seconds string) {
	s.Helper()
	if len(s.left(seconds)) > 0 {
		s.Errorf("%s: a process of the tree is left", what)
		s.endSleepers(seconds)
	}
}

// awaitSleeper waits until a process sleeps for that long: one that a shell has just started may not do so yet.
func (s *runnerTest) awaitSleeper(seconds string) {
	s.Helper()
	for ctx := s.context(); len(s.left(seconds)) == 0; {
		if ctx.Err() != nil {
			s.Fatal("a process ends with the command, and not with its terminal")
		}
	}
}

func (s *runnerTest) noError(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// equal fails unless got is want.
func equal[T comparable](s *runnerTest, what string, got, want T) {
	s.Helper()
	if got != want {
		s.Fatalf("%s: %.1000s, want %.1000s", what, fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want))
	}
}

// kindOf returns the kind of an error, or an empty Kind.
func kindOf(err error) acpterm.Kind {
	if e, ok := errors.AsType[*acpterm.Error](err); ok {
		return e.Kind
	}
	return ""
}

// asking returns a Manager that asks with SIGTERM, and waits that long before it uses force.
func (s *runnerTest) asking(wait time.Duration) *acpterm.Manager {
	s.Helper()
	both := []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: wait}, {Signal: syscall.SIGKILL, Wait: s.patience}}
	return s.manager(acpterm.Options{Commands: acpterm.CommandOptions{Escalation: both}})
}

// soon is a grace period for processes that use all of it.
const soon = 50 * time.Millisecond

package acptermtest

// The laws of the end of a Runner's commands: exits, signals, kills of whole trees, releases.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/acpterm/acpterm"
)

// Every exit code is reported as the command chose it, and a signal as a signal.
func testExitStatus(s *runnerTest) {
	m := s.manager(acpterm.Options{})
	for _, code := range []int{
		0, 1, 2, 3, 64, 254, 255,
		125, 126, 127, 128, 129, 130, 137, 139, 143, 159, 160, // a shell derives some of these from signals
	} {
		equal(s, "the status of exit", s.exit(s.create(m, "exit $1", fmt.Sprint(code))), fmt.Sprint("exit code ", code))
	}
	for name, number := range map[string]int{"HUP": 1, "KILL": 9, "SEGV": 11, "TERM": 15} {
		want := "signal SIG" + name
		if s.gaps.ExitSignals {
			want = fmt.Sprint("exit code ", 128+number)
		}
		equal(s, "the status after a signal", s.exit(s.create(m, "ulimit -c 0; kill -$1 $$", name)), want)
	}
}

// killed returns the status of a command that a signal ended.
func (s *runnerTest) killed(name string, number int) string {
	if s.gaps.ExitSignals {
		return fmt.Sprint("exit code ", 128+number)
	}
	return "signal " + name
}

// sleeps prints "ready" once it can receive signals. A child of a shell with a trap may lose signals before its execve.
const sleeps = `sh -c 'echo ready; exec sleep $1' sh $1`

// A kill asks first and then uses force, and a second one uses force immediately.
func testKill(s *runnerTest) {
	seconds := s.sleeper()
	defer s.noneLeft("a kill", seconds)
	const stubborn = `trap '' TERM; echo ready; exec sleep $1`
	m := s.asking(soon)
	term := s.createReady(m, stubborn, seconds)
	s.noError(term.Kill(s.context()))
	equal(s, "the status of a process that ignores SIGTERM", s.exit(term), s.killed("SIGKILL", 9))
	s.noError(term.Kill(s.context()))
	if s.gaps.Signals {
		return
	}
	m = s.asking(time.Hour)
	term = s.createReady(m, `trap 'echo bye; exit 7' TERM; `+sleeps+` & wait`, seconds)
	s.noError(term.Kill(s.context()))
	equal(s, "the status of a process that handles SIGTERM", s.exit(term), "exit code 7")
	equal(s, "its output", term.Output().Output, "ready\nbye\n")

	term = s.createReady(m, stubborn, seconds)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	equal(s, "the error of a kill that is not waited for", kindOf(term.Kill(ctx)), acpterm.ErrCancelled)
	equal(s, "the state", term.State(), acpterm.StateRunning)
	s.noError(term.Kill(s.context()))
	equal(s, "the status after a second kill", s.exit(term), s.killed("SIGKILL", 9))
}

// trees are lines that print "ready" once they have started a process that is hard to end. Its sleep shows whether it
// is left. Those that need setsid leave the command's session.
var trees = []struct {
	name, line     string
	setsid, daemon bool
}{
	{"a process that ignores SIGTERM", `trap '' TERM; echo ready; exec sleep $1`, false, false},
	{"a grandchild", `sh -c 'sh -c "trap \"\" TERM; echo ready; exec sleep $1"; :' sh $1; :`, false, false},
	{"a process that outlives the command", `trap '' TERM; sleep $1 & echo ready`, false, false},
	{"a stopped process", `sh -c 'kill -STOP $$; exec sleep $1' sh $1 & sleep $1 & echo ready; wait`, false, false},
	{"many processes", `trap '' TERM; for i in 1 2 3 4 5 6 7 8 9; do (sleep $1 & wait) & done; echo ready; wait`,
		false, false},
	{"a process started on SIGTERM", `trap 'trap "" TERM; sleep $1 & exit 0' TERM; sleep $1 & echo ready; wait; wait`,
		false, false},
	{"another session", `setsid sh -c 'trap "" TERM; echo ready; exec sleep $1' sh $1 & wait`, true, false},
	{"a daemon", `(setsid sh -c 'echo ready; exec sleep $1 </dev/null >/dev/null 2>&1' sh $1 &)`, true, true},
	{"a daemon without the environment",
		`(env -i PATH="$PATH" setsid sh -c 'trap "" TERM; echo ready; exec sleep $1' sh $1 &)`, true, true},
}

// A kill, a release and the end of the Manager end the whole tree.
func testTrees(s *runnerTest) {
	hasSetsid := s.tool("command -v setsid || true") != ""
	if !hasSetsid {
		s.Log("the machine has no setsid, so trees with several sessions are not tested")
	}
	m := s.asking(soon)
	names := make(map[string]string) // of the trees that a release or the end of the Manager ends, by their sleepers
	start := func(m *acpterm.Manager, name, line string) *acpterm.Terminal {
		seconds := s.sleeper()
		names[seconds] = name
		return s.createReady(m, line, seconds)
	}
	closed := s.asking(soon)
	var released []*acpterm.Terminal
	for _, tree := range trees {
		if tree.setsid && !hasSetsid || tree.daemon && s.gaps.Daemons {
			continue
		}
		seconds := s.sleeper()
		s.noError(s.createReady(m, tree.line, seconds).Kill(s.context()))
		s.noneLeft(tree.name+", kill", seconds)
		released = append(released, start(m, tree.name+", release", tree.line))
		start(closed, tree.name+", close", tree.line)
	}
	s.noError(errors.Join(atOnce(released, func(term *acpterm.Terminal) error {
		return m.Release(s.context(), "s", term.ID())
	})...))
	s.close(closed)
	for _, seconds := range s.left(slices.Collect(maps.Keys(names))...) {
		s.Errorf("%s: a process of the tree is left", names[seconds])
	}
}

// atOnce calls a function for each of the terminals at once, and returns its errors.
func atOnce(terms []*acpterm.Terminal, f func(*acpterm.Terminal) error) []error {
	errs := make([]error, len(terms))
	var running sync.WaitGroup
	for i, term := range terms {
		running.Go(func() { errs[i] = f(term) })
	}
	running.Wait()
	return errs
}

// A signal goes to every process that exists, once, and not to those that clean up after it.
func testSignals(s *runnerTest) {
	if s.gaps.Signals {
		s.Skip("the Runner has no signals besides SIGKILL")
	}
	seconds := s.sleeper()
	defer s.noneLeft("a kill", seconds)
	m := s.asking(time.Hour)
	const cleans = `trap 'n=x$n' TERM
		sh -c 'trap "echo child; exit 0" TERM; sh -c "echo ready; exec sleep $1" sh $1 & wait' sh $1 &
		wait; sleep 1 || exit 1; echo $n; exit 7` // not in the trap: dash blocks signals there
	term := s.createReady(m, cleans, seconds)
	s.noError(term.Kill(s.context()))
	equal(s, "the status of a command that cleans up", s.exit(term), "exit code 7")
	out := term.Output().Output
	if strings.Count(out, "child\n") != 1 || strings.Count(out, "x\n") != 1 {
		s.Errorf("the output is %q: a process has not received SIGTERM exactly once", out)
	}

	// The clean-up itself takes too long, and is ended by force.
	term = s.createReady(m, `trap 'sleep $1 & echo cleans; wait' TERM; `+sleeps+` & wait`, seconds)
	killed := make(chan error, 1)
	go func() { killed <- term.Kill(s.context()) }()
	s.await(term, "cleans\n")
	s.noError(term.Kill(s.context()))
	s.noError(<-killed)
	equal(s, "the status after a second kill", s.exit(term), s.killed("SIGKILL", 9))

	// A stopped process is continued, so that it can end in its own way.
	term = s.createReady(m, `trap 'exit 9' TERM; echo ready; kill -STOP $$; :`)
	s.noError(term.Kill(s.context()))
	equal(s, "the status of a stopped command", s.exit(term), "exit code 9")

	// A shell that waits must not learn of its child's end before it receives the signal.
	for i := range 20 {
		child := []string{`sleep $1`, `(trap "" HUP; exec sleep $1)`}[i%2]
		term = s.createReady(m, child+" & echo ready; wait; exit 3", seconds)
		s.noError(term.Kill(s.context()))
		equal(s, "the status of a shell that waits", s.exit(term), s.killed("SIGTERM", 15))
	}
}

// After a release, waits have returned, and the holder of the terminal can still read.
func testRelease(s *runnerTest) {
	m := s.asking(soon)
	seconds := s.sleeper()
	defer s.noneLeft("a release", seconds)
	term := s.createReady(m, `trap '' TERM; echo ready; exec sleep $1`, seconds)
	waited := make(chan error, 1)
	go func() { _, err := term.Wait(s.context()); waited <- err }()
	s.noError(m.Release(s.context(), "s", term.ID()))
	s.noError(<-waited)
	equal(s, "the output after the release", term.Output().Output, "ready\n")
	_, err := m.Terminal("s", term.ID())
	if !errors.Is(err, acpterm.ErrTerminalNotFound) {
		s.Errorf("the terminal is still known: %v", err)
	}
}

// Close ends every command, also those that are being created, killed and released.
func testClose(s *runnerTest) {
	m := s.asking(soon)
	seconds := s.sleeper()
	done := make(chan struct{})
	const workers = 8
	for worker := range workers {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range 10 {
				line := []string{"exec sleep $1", "sleep $1 & exit 3", "exit 0"}[(worker+i)%3]
				term, err := m.Create(context.Background(), shellRequest(line, seconds), nil)
				if err != nil {
					return // it is closed
				}
				switch i % 3 {
				case 0:
					term.Kill(context.Background())
				case 1:
					m.Release(context.Background(), "s", term.ID())
				}
			}
		}()
	}
	<-done // some work is done
	s.close(m)
	for range workers - 1 {
		<-done
	}
	s.noneLeft("a Close", seconds)
}

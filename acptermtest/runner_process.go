package acptermtest

// The laws of acpterm.Process, and the limits that it reports.

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/acpterm/acpterm"
)

// recorder is a StartRequest.Output.
type recorder struct {
	mu     sync.Mutex
	text   bytes.Buffer
	closed bool
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, os.ErrClosed
	}
	return r.text.Write(p)
}

func (r *recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return nil
}

func (r *recorder) state() (text string, closed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String(), r.closed
}

// startRequest returns a request to start a line of sh, without a Manager.
func (s *runnerTest) startRequest(output *recorder, line string, args ...string) acpterm.StartRequest {
	s.Helper()
	dir, env, err := s.runner.Base(s.context())
	s.noError(err)
	id := acpterm.TerminalID("term_" + fmt.Sprintf("%026d", time.Now().UnixNano()))
	c := acpterm.Command{
		Args: append([]string{"sh", "-c", line, "sh"}, args...),
		Env:  append(slices.Clone(env), "ACPTERM_TERMINAL="+string(id)), Dir: dir,
	}
	found, err := s.runner.LookPath(s.context(), c)
	s.noError(err)
	c.Path = found.Path
	if found.Dir != "" {
		c.Dir = found.Dir
	}
	return acpterm.StartRequest{SessionID: "s", TerminalID: id, Command: c, Pin: found.Pin, Output: output}
}

// gone waits until a process says that its tree is gone.
func (s *runnerTest) gone(p acpterm.Process) {
	s.Helper()
	select {
	case <-p.Gone():
	case <-s.context().Done():
		s.Fatal("Gone is not closed")
	}
}

// wait returns the result of Wait.
func (s *runnerTest) wait(p acpterm.Process) (acpterm.TerminalExitStatus, error) {
	s.Helper()
	type result struct {
		status acpterm.TerminalExitStatus
		err    error
	}
	waited := make(chan result, 1)
	go func() { status, err := p.Wait(); waited <- result{status, err} }()
	select {
	case r := <-waited:
		return r.status, r.err
	case <-s.context().Done():
		s.Fatal("Wait does not return")
	}
	return acpterm.TerminalExitStatus{}, nil
}

// Wait, Gone, Err, PID and Close do what acpterm.Process says, without a Manager's help.
func testProcess(s *runnerTest) {
	if s.runner == nil {
		s.Skip("the local system has no Process")
	}
	seconds := s.sleeper()
	var output recorder
	p, err := s.runner.Start(s.context(), s.startRequest(&output, `echo $$; sleep $1 & exit 3`, seconds))
	s.noError(err)
	status, err := s.wait(p)
	s.noError(err)
	equal(s, "the status", status.String(), "exit code 3")
	text, closed := output.state()
	equal(s, "StartRequest.Output is closed while a process can write", closed, false)
	if pid := p.PID(); pid != 0 {
		equal(s, "the output, which is the PID", text, fmt.Sprintln(pid))
	}
	select {
	case <-p.Gone():
		s.Error("Gone is closed while a process of the tree runs")
	default:
	}
	p.Signal(syscall.SIGKILL)
	s.gone(p)
	s.noError(p.Err())
	s.noneLeft("SIGKILL", seconds)
	_, closed = output.state()
	equal(s, "StartRequest.Output is closed once the tree is gone", closed, true)
	p.Signal(syscall.SIGKILL) // reaches nobody
	p.Close()
	s.noError(p.Err())

	p, err = s.runner.Start(s.context(), s.startRequest(new(recorder), `exec sleep $1`, seconds))
	s.noError(err)
	p.Close()
	s.gone(p)
	s.wait(p)
}

// limits are small limits, and lines that print "beyond" if they are not enforced.
var limits = []struct {
	name   string
	limits acpterm.Limits
	line   string
}{
	{"CPUTime", acpterm.Limits{CPUTime: time.Second}, `test "$(ulimit -t)" = 1 && exit # the system's own limit
		i=0
		while [ $i -lt 30000000 ]; do i=$((i+1)); done; echo beyond`},
	{"Memory", acpterm.Limits{Memory: 32 << 20}, `x=0123456789abcdef; i=0
		while [ $i -lt 22 ]; do x=$x$x; i=$((i+1)); done; echo beyond`},
	{"Processes", acpterm.Limits{Processes: 8}, `for i in 1 2 3 4 5 6 7 8 9 10; do sleep $1 & done; echo beyond`},
	{"OpenFiles", acpterm.Limits{OpenFiles: 20}, `test $(ulimit -n) = 20 || echo beyond`},
	{"FileSize", acpterm.Limits{FileSize: 5120}, `cd "$2" && (head -c 100000 /dev/zero >file)
		test $(wc -c <file) -gt 5120 && echo beyond`},
	{"Nice", acpterm.Limits{Nice: 3}, `test $(nice) -lt 3 && echo beyond`},
}

// A limit is enforced and reported, or, if it is declared as a gap, refused.
func testLimits(s *runnerTest) {
	m := s.asking(soon)
	dir, seconds := s.tempDir(), s.sleeper()
	for _, limit := range limits {
		term, err := m.Create(s.context(), shellRequest(limit.line, seconds, dir), &acpterm.CommandOptions{
			Limits: &limit.limits,
		})
		if slices.Contains(s.gaps.Limits, limit.name) {
			if err == nil {
				s.Errorf("a command starts with the limit %s, which is declared as a gap", limit.name)
			}
			continue
		}
		s.noError(err)
		s.exit(term)
		s.noError(term.Kill(s.context()))
		if out := term.Output().Output; bytes.HasSuffix([]byte(out), []byte("beyond\n")) {
			s.Errorf("the limit %s is not enforced", limit.name)
		}
		reports := func(l acpterm.EnforcedLimit) bool { return l.Name == limit.name }
		if !slices.ContainsFunc(term.Info().Limits, reports) {
			s.Errorf("the limit %s is not in Process.Limits: %v", limit.name, term.Info().Limits)
		}
	}
	s.noneLeft("a command with limits", seconds)
}

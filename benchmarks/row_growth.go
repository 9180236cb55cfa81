package main

// Whether the cost of one more stays the same when there are ten and a hundred times as many.

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/acpterm/acpterm"
)

// growth is something that there can be more and more of.
type growth struct {
	name   string // of the row
	plot   string // the file's name
	unit   string // one of it
	rounds amounts
	sizes  [3]amounts
	ours   func(s *stage) func(n int, f findings) error
	beside series
	also   []metric
}

// series is who does the same.
type series struct {
	name string
	role role
	open func(s *stage) func(n int, f findings) error
}

const perUnit = "time for each"

// linear is by how much one of many may cost more than one of few. A fifth is for noise.
const linear = 1.2

func (g growth) row() row {
	r := row{name: g.name, rounds: g.rounds}
	r.plot = plot{name: g.plot, x: g.unit + "s", metric: perUnit}
	add := func(series string, role role, n amounts, open func(s *stage) func(int, findings) error) {
		name := strings.TrimSpace(fmt.Sprintf("%s %d", series, n.full))
		r.plot.points = append(r.plot.points, point{series: series, x: float64(n.full), subject: name})
		r.subjects = append(r.subjects, subject{name, role, func(s *stage) (turn, error) {
			do, n := open(s), s.scale.of(n)
			return averaged(s.scale.of(g.sizes[2])/n, func(f findings) error { return do(n, f) }), nil
		}})
	}
	for i, role := range []role{floor, floor, ours} {
		add("acpterm", role, g.sizes[i], g.ours)
	}
	for _, n := range g.sizes {
		add(g.beside.name, g.beside.role, n, g.beside.open)
	}
	first := r.subjects[0].name
	r.metrics = append(r.metrics, metric{perUnit, seconds, median, target{linear, first, ratioAtMost}})
	for _, m := range g.also {
		m.target = target{linear, first, ratioAtMost}
		r.metrics = append(r.metrics, m)
	}
	return r
}

// averaged is a turn that does something so many times, and finds the means, so that few take as long to measure as many, and
// are disturbed as much.
func averaged(times int, do turn) turn {
	return func(f findings) error {
		each := make(findings)
		for range times {
			if err := do(each); err != nil {
				return err
			}
		}
		for metric, all := range each {
			f.add(metric, sum(all)/float64(len(all)))
		}
		return nil
	}
}

const mebibyte = 1 << 20

// outputGrowth captures n MiB, keeps all of it, and reads it once.
func outputGrowth(s *stage) func(n int, f findings) error {
	m, ctx := s.manager(&acpterm.Options{MaxOutputByteLimit: 128 * mebibyte}), context.Background()
	return func(n int, f findings) error {
		began := time.Now()
		t, err := m.Create(ctx, self("write", n*mebibyte, 64<<10, 0).request(128*mebibyte))
		if err != nil {
			return err
		}
		if _, err := t.Wait(ctx); err != nil {
			return err
		}
		captured := time.Now()
		if got := len(t.Output().Output); got != n*mebibyte && got < n*mebibyte-3 {
			return fmt.Errorf("the output has %d bytes", got)
		}
		f.add(perUnit, time.Since(began).Seconds()/float64(n))
		f.add("of which the reading", time.Since(captured).Seconds()/float64(n))
		return m.Release(ctx, "s", t.ID())
	}
}

func naiveOutputGrowth(*stage) func(n int, f findings) error {
	return func(n int, f findings) error {
		began := time.Now()
		out := trimBuffer{limit: 128 * mebibyte}
		cmd := self("write", n*mebibyte, 64<<10, 0).cmd()
		cmd.Stdout = &out
		if err := cmd.Run(); err != nil {
			return err
		}
		captured := time.Now()
		out.text()
		f.add(perUnit, time.Since(began).Seconds()/float64(n))
		f.add("of which the reading", time.Since(captured).Seconds()/float64(n))
		return nil
	}
}

// waiting is a command that runs until it is ended.
func waiting() command {
	if runtime.GOOS == "windows" {
		return self("wait")
	}
	return system("sleep", "300")
}

// terminalGrowth has n terminals that run at once, and releases them all.
func terminalGrowth(s *stage) func(n int, f findings) error {
	m, ctx := s.manager(nil), context.Background()
	return func(n int, f findings) error {
		began := time.Now()
		for range n {
			if _, err := m.Create(ctx, waiting().request(captureLimit)); err != nil {
				return err
			}
		}
		created := time.Now()
		if err := m.ReleaseSession(ctx, "s"); err != nil {
			return err
		}
		f.add(perUnit, time.Since(began).Seconds()/float64(n))
		f.add("of which the release", time.Since(created).Seconds()/float64(n))
		return nil
	}
}

func naiveTerminalGrowth(*stage) func(n int, f findings) error {
	terminals := newNaiveTerminals()
	return func(n int, f findings) error {
		began := time.Now()
		for range n {
			c := waiting()
			if _, err := terminals.create(c.path, c.args, nil, "", captureLimit); err != nil {
				return err
			}
		}
		created := time.Now()
		terminals.releaseAll()
		f.add(perUnit, time.Since(began).Seconds()/float64(n))
		f.add("of which the release", time.Since(created).Seconds()/float64(n))
		return nil
	}
}

// sessionGrowth has n open sessions with a terminal each, whose command has ended, and closes them all.
func sessionGrowth(s *stage) func(n int, f findings) error {
	m, ctx := s.manager(nil), context.Background()
	return func(n int, f findings) error {
		began := time.Now()
		for i := range n {
			request := trueCommand().request(captureLimit)
			request.SessionID = acpterm.SessionID(fmt.Sprint("session ", i))
			if err := m.OpenSession(request.SessionID, nil); err != nil {
				return err
			}
			t, err := m.Create(ctx, request)
			if err != nil {
				return err
			}
			if _, err := t.Wait(ctx); err != nil {
				return err
			}
		}
		created := time.Now()
		for i := range n {
			if err := m.CloseSession(ctx, acpterm.SessionID(fmt.Sprint("session ", i))); err != nil {
				return err
			}
		}
		f.add(perUnit, time.Since(began).Seconds()/float64(n))
		f.add("of which the close", time.Since(created).Seconds()/float64(n))
		return nil
	}
}

// reapGrowth has n children that have exited and a pipe for each, and takes the children's zombies away and closes the pipes:
// what is left to do of a terminal whose command has ended cannot be less.
func reapGrowth(*stage) func(n int, f findings) error {
	path, pathErr := exec.LookPath(trueCommand().path)
	return func(n int, f findings) error {
		if pathErr != nil {
			return pathErr
		}
		began := time.Now()
		processes, pipes := make([]*os.Process, n), make([]*os.File, n)
		for i := range n {
			r, w, err := os.Pipe()
			if err != nil {
				return err
			}
			pipes[i] = r
			processes[i], err = os.StartProcess(path, append([]string{path}, trueCommand().args...), &os.ProcAttr{Files: []*os.File{nil, w, w}})
			w.Close()
			if err != nil {
				return err
			}
			if _, err := io.Copy(io.Discard, r); err != nil { // until it has exited, or is about to
				return err
			}
		}
		ended := time.Now()
		for i := range n {
			if _, err := processes[i].Wait(); err != nil {
				return err
			}
			if err := pipes[i].Close(); err != nil {
				return err
			}
		}
		f.add(perUnit, time.Since(began).Seconds()/float64(n))
		f.add("of which the close", time.Since(ended).Seconds()/float64(n))
		return nil
	}
}

func growthRows() []row {
	all := []growth{
		{
			name: "MiB of output, 1 to 100", plot: "output", rounds: amounts{5, 2, 1}, unit: "MiB",
			sizes: [3]amounts{{1, 1, 1}, {10, 10, 2}, {100, 100, 4}},
			ours:  outputGrowth, beside: series{"naive", peer, naiveOutputGrowth},
			also: []metric{{name: "of which the reading", unit: seconds, summary: median}},
		},
		{
			name: "running terminals, 10 to 1,000", plot: "terminals", rounds: amounts{5, 1, 1}, unit: "terminal",
			sizes: [3]amounts{{10, 10, 1}, {100, 100, 2}, {1000, 1000, 4}},
			ours:  terminalGrowth, beside: series{"naive", peer, naiveTerminalGrowth},
			also: []metric{{name: "of which the release", unit: seconds, summary: median}},
		},
		{
			name: "sessions, 10 to 1,000", plot: "sessions", rounds: amounts{5, 1, 1}, unit: "session",
			sizes: [3]amounts{{10, 10, 1}, {100, 100, 2}, {1000, 1000, 4}},
			ours:  sessionGrowth, beside: series{"reap and close", floor, reapGrowth},
			also: []metric{{name: "of which the close", unit: seconds, summary: median}},
		},
	}
	var rows []row
	for _, g := range all {
		rows = append(rows, g.row())
	}
	return rows
}

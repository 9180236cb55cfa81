package main

// Process trees that can be found again through /proc, and the manager they run in.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/acpterm/acpterm"
)

// treeVariable is in the environment of each process of a tree, and names the tree.
const treeVariable = "SOAK_TREE="

// tree is the process tree of one command.
type tree struct {
	mark    string // treeVariable with its value
	log     string // a file of lines from /proc/PID/stat
	session acpterm.SessionID
	counted bool // guarded by run.mu: something was left
}

// prefix returns the common prefix of the marks of the run's trees.
func (r *run) prefix() string {
	return fmt.Sprintf("%s%d-%s-%d-", treeVariable, os.Getpid(), r.scenario, r.begun.UnixNano())
}

// tree returns a new tree.
func (r *run) tree(i int) *tree {
	name := fmt.Sprintf("%s%d", r.prefix(), i)
	name = strings.TrimPrefix(name, treeVariable)
	t := &tree{mark: treeVariable + name + ";", log: filepath.Join(r.dir, name), session: acpterm.SessionID(name)}
	r.mu.Lock()
	r.trees[t.mark] = t
	r.mu.Unlock()
	return t
}

// script returns a create request for a role of trees.sh.
func (t *tree) script(r *run, role ...string) acpterm.CreateTerminalRequest {
	return t.command(r.script(), role...)
}

// child returns a create request for a child of this program.
func (t *tree) child(name string, args ...string) acpterm.CreateTerminalRequest {
	return t.command(executable(), append([]string{"children", name}, args...)...)
}

func (t *tree) command(path string, args ...string) acpterm.CreateTerminalRequest {
	return acpterm.CreateTerminalRequest{SessionID: t.session, Command: path, Args: args, Env: []acpterm.EnvVariable{
		{Name: strings.TrimSuffix(treeVariable, "="), Value: strings.TrimPrefix(t.mark, treeVariable)},
		{Name: "SOAK_LOG", Value: t.log},
	}}
}

// members returns the logged processes, each once.
func (t *tree) members() (all []process) {
	data, _ := os.ReadFile(t.log)
	var last process
	for line := range strings.Lines(string(data)) {
		p, ok := parseStat(line)
		if ok && (p.pid != last.pid || p.started != last.started) { // one that executes itself is logged repeatedly
			all, last = append(all, p), p
		}
	}
	return all
}

// left returns the running processes of the tree: those with its mark, and the logged ones.
func (t *tree) left() []process {
	found := withVariable(t.mark)
	for _, p := range t.members() {
		if !p.runs() || slices.ContainsFunc(found, func(f process) bool { return f.pid == p.pid }) {
			continue
		}
		// It no longer has an environment if it is about to end.
		time.Sleep(20 * time.Millisecond)
		if p.runs() {
			found = append(found, p)
		}
	}
	return found
}

// check counts an ended tree with remaining processes, unless an ErrSurvivors names them.
func (r *run) check(t *tree, named *survivors, how string) {
	if left := t.left(); len(left) > 0 {
		r.countLeft(t, left, named, how)
		return
	}
	os.Remove(t.log)
}

func (r *run) countLeft(t *tree, left []process, named *survivors, how string) {
	r.mu.Lock()
	again := t.counted
	t.counted = true
	r.mu.Unlock()
	if again {
		return
	}
	if named == nil {
		named = new(survivors)
	}
	if r.serving != nil {
		r.serving.awaitSurvivors(t.session, named)
	}
	var unnamed []process
	for _, p := range left {
		if !named.has(p.pid) {
			unnamed = append(unnamed, p)
		}
	}
	if len(unnamed) > 0 {
		r.fail("trees with some left", 1, "%s: %v; survivors named: %v", how, unnamed, named)
	} else {
		r.note("trees with survivors named", 1)
	}
}

// excuse stops counting a tree whose end failed where no end can be promised.
func (r *run) excuse(t *tree) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.counted = true
}

// sweep looks for all of the run's trees, counts those not counted before, and ends them.
func (r *run) sweep() {
	left := withVariable(r.prefix())
	r.mu.Lock()
	trees := make(map[string]*tree)
	for mark, t := range r.trees {
		trees[mark] = t
	}
	r.mu.Unlock()
	if len(trees) > 0 {
		r.zero("trees with some left")
	}
	for range 20 {
		for _, p := range left {
			environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
			for variable := range strings.SplitSeq(string(environ), "\x00") {
				if t := trees[variable]; t != nil {
					r.countLeft(t, []process{p}, nil, "at the end of all")
				}
			}
			p.end()
		}
		if left = withVariable(r.prefix()); len(left) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// survivors are the processes named by errors and events of a tree.
type survivors struct {
	mu   sync.Mutex
	pids []int
}

func (s *survivors) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprint(s.pids)
}

func (s *survivors) add(pids []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pids = append(s.pids, pids...)
}

func (s *survivors) has(pid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.pids, pid)
}

// from adds the survivors named by an error.
func (s *survivors) from(err error) {
	if failure, ok := errors.AsType[*acpterm.Error](err); ok && failure.Kind == acpterm.ErrSurvivors {
		s.add(failure.PIDs)
	}
}

// result counts the result of a kill or a release: nil, ErrSurvivors, or an error that must not occur.
func (r *run) result(op string, named *survivors, err error) {
	switch {
	case err == nil:
	case errors.Is(err, acpterm.ErrSurvivors):
		named.from(err)
		r.note("ErrSurvivors", 1)
	case errors.Is(err, acpterm.ErrTerminalNotFound):
	default:
		r.fail("other errors", 1, "%s: %v", op, err)
	}
}

// served is a manager with a handler, and the contents of its events.
type served struct {
	m *acpterm.Manager
	h *acpterm.Handler

	mu        sync.Mutex
	survivors map[acpterm.SessionID][]int
	ends      map[acpterm.SessionID][]*acpterm.EndEvent // until checkEnds
	changed   chan struct{}                             // closed at the next event
}

// serve returns a new manager, or the shared one. The function closes it.
func (r *run) serve(options acpterm.Options) (*served, func()) {
	if r.shared {
		return r.serving, func() {}
	}
	s := &served{survivors: make(map[acpterm.SessionID][]int), ends: make(map[acpterm.SessionID][]*acpterm.EndEvent),
		changed: make(chan struct{})}
	s.m = must(acpterm.NewManager(&options))
	s.h = acpterm.NewHandler(s.m, nil)
	s.m.Observe(s.event)
	r.serving = s
	return s, func() {
		r.within("Close", func() {
			if err := s.m.Close(); err != nil && !errors.Is(err, acpterm.ErrSurvivors) {
				r.fail("other errors", 1, "Close: %v", err)
			}
		})
		r.sweep()
		s.checkEnds(r)
		r.serving = nil
		r.zero("zombies left")
		if zombies := ownZombies(); len(zombies) > 0 && r.host.reaps {
			r.fail("zombies left", int64(len(zombies)), "%v", zombies)
		}
	}
}

// ownZombies returns zombie children of this process, if they persist for a second.
func ownZombies() []process {
	zombies := eachState(func(p process) bool { return p.state == 'Z' && p.parent == os.Getpid() })
	for range 10 {
		if len(zombies) == 0 {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
		zombies = slices.DeleteFunc(zombies, func(p process) bool {
			now, there := readProcess(p.pid)
			return !there || now.started != p.started
		})
	}
	return zombies
}

func (s *served) event(e acpterm.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := e.(type) {
	case *acpterm.SurvivorsEvent:
		s.survivors[e.SessionID] = append(s.survivors[e.SessionID], e.Survivors...)
	case *acpterm.EndEvent:
		if len(e.Survivors) > 0 {
			s.survivors[e.SessionID] = append(s.survivors[e.SessionID], e.Survivors...)
		}
		s.ends[e.SessionID] = append(s.ends[e.SessionID], e)
	default:
		return
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// awaitSurvivors adds the survivors named by a session's events, which may come slightly later than the error.
func (s *served) awaitSurvivors(session acpterm.SessionID, named *survivors) {
	time.Sleep(500 * time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	named.add(s.survivors[session])
}

// endEvents returns the EndEvents of a session's command, once there is one.
func (s *served) endEvents(ctx context.Context, session acpterm.SessionID) []*acpterm.EndEvent {
	for {
		s.mu.Lock()
		ends, changed := s.ends[session], s.changed
		s.mu.Unlock()
		if len(ends) > 0 {
			return ends
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// checkEnds counts the run's commands with more than one end, and forgets the events. Each tree has a session and one
// command.
func (s *served) checkEnds(r *run) {
	r.zero("commands with two EndEvents")
	s.mu.Lock()
	defer s.mu.Unlock()
	prefix := strings.TrimPrefix(r.prefix(), treeVariable)
	for session, ends := range s.ends {
		if !strings.HasPrefix(string(session), prefix) {
			continue
		}
		if len(ends) > 1 {
			r.fail("commands with two EndEvents", 1, "%+v, %+v", *ends[0], *ends[1])
		}
		delete(s.ends, session)
		delete(s.survivors, session)
	}
}

// quick returns an escalation for a test of many kills.
func quick(grace time.Duration) *acpterm.CommandOptions {
	return &acpterm.CommandOptions{Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: grace}}}
}

func executable() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

//go:build linux

package conformance

// Ten common tasks, played by a scripted model in the agents of TestAgents, once with acpterm-mcp and once with the
// agent's own shell. The test prints a table: for each task and each way, the calls, the tokens (bytes / 4) of the
// calls and their results, the calls that led nowhere, and the processes that were left when the agent had ended.
//
//	ACPTERM_TEST_AGENTS=1 go test -v -run '^TestTasks$' ./internal/checks/conformance
//
// tasks_scripts_test.go has the tasks, tasks_hands_test.go the tools of each agent.

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/leaktest"
)

func TestTasks(t *testing.T) {
	place := installAgents(t)
	table := newTaskTable()
	t.Cleanup(func() { t.Log("\n" + table.String()) })
	for _, a := range agentPrograms {
		for _, w := range ways(a) {
			for _, task := range tasks {
				t.Run(a.name+"/"+w.name+"/"+task.name, func(t *testing.T) {
					s := a.play(t, place, w, task)
					table.add(task.name, a.name, w.name, s)
					t.Logf("calls, tokens, wrong turns, processes left: %v", s)
					if w.name == "acpterm" {
						require.True(t, s.solved, "%v", s.turns)
						require.Zero(t, s.left, "processes are left")
					}
				})
			}
		}
	}
}

// way is one of the two ways to run commands: acpterm-mcp, or the agent's own shell.
type way struct {
	name      string
	hands     func(*actor) hands
	belongs   func(string) bool // whether a tool of the agent is one of this way
	namespace string            // of the tools, if the API has namespaces
	arguments []string          // of the agent, in addition
	files     func() map[string]string
}

// score tells how a model got on with a task.
type score struct {
	calls, bytes, wrong, left int
	solved                    bool
	definitions               int // bytes of the tools that the model was offered
	turns                     []string
}

func (s score) String() string {
	text := fmt.Sprintf("%d, %d, %d, %d", s.calls, s.bytes/4, s.wrong, s.left)
	if !s.solved {
		text = "not solved: " + text
	}
	return text
}

// play runs the agent for one task.
func (a agentProgram) play(t *testing.T, place agentPlace, w way, task task) score {
	run := newAgentRun(t, a, nil)
	actor := newActor(w)
	defer close(actor.gone)
	run.player.actor = actor
	run.files = w.files()
	require.NoError(t, os.MkdirAll(run.dir, 0o700))
	task.prepare(t, run.dir)
	go func() {
		defer close(actor.calls)
		actor.score.solved = task.play(w.hands(actor), actor)
	}()
	run.launch(t, place, w.arguments...)
	failure := run.wait() // such as the signal after the time that launch gives an agent
	left := endLeft(run.base)
	actor.mu.Lock()
	defer actor.mu.Unlock()
	s := actor.score
	if failure != nil {
		s.solved = false
		s.wrong++
		s.turns = append(s.turns, fmt.Sprintf("(a wrong turn: the agent ended with %q in %v)", failure, actor.current))
	}
	s.left, s.definitions = left, actor.definitions
	if err := task.checked(run.dir); err != nil {
		s.solved = false
		t.Log(err)
	}
	for _, turn := range s.turns {
		t.Log(turn)
	}
	return s
}

// endLeft ends the processes of an agent that has ended, and returns their number.
func endLeft(base string) int {
	left := 0
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) { // some end by themselves
		running := leaktest.Running(base)
		if left = len(running); left == 0 || time.Now().After(deadline) {
			for _, stat := range running {
				syscall.Kill(must(strconv.Atoi(strings.Fields(stat)[0])), syscall.SIGKILL)
			}
			return left
		}
	}
}

// actor plays a task: a function makes calls, one after another, and an agent carries them out.
type actor struct {
	way     way
	calls   chan actorCall // closed after the last one
	results chan string
	gone    chan struct{} // closed when the agent has ended

	mu      sync.Mutex // guards the score, which the task changes between calls only
	score   score
	current *actorCall
	made    int

	definitions int // bytes of the tools that the model was offered
}

type actorCall struct {
	tool  string
	input object
}

func newActor(w way) *actor {
	return &actor{way: w, calls: make(chan actorCall), results: make(chan string), gone: make(chan struct{})}
}

// call makes a call and returns its result, or nothing if the agent ends before.
func (a *actor) call(tool string, input object) (result string) {
	select {
	case a.calls <- actorCall{tool, input}:
	case <-a.gone:
		return ""
	}
	select {
	case result = <-a.results:
	case <-a.gone:
		return ""
	}
	a.score.calls++
	a.score.bytes += len(must(json.Marshal(input))) + len(result)
	a.score.turns = append(a.score.turns, fmt.Sprintf("%s %s\n%s", tool, asJSON(input), shown(result)))
	return result
}

// wrong notes that the latest call led nowhere.
func (a *actor) wrong() {
	a.score.wrong++
	a.score.turns = append(a.score.turns, "(a wrong turn)")
}

// next returns the call that follows a dialogue. The agent may ask for the same call twice.
func (a *actor) next(d dialogue) (call actorCall, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	results, definitions := d.results, 0
	for name, size := range d.defined {
		if a.way.belongs(name) {
			definitions += size
		}
	}
	a.definitions = max(a.definitions, definitions)
	if a.current != nil && len(results) < a.made {
		return *a.current, true
	}
	if a.current != nil {
		a.results <- results[a.made-1]
	}
	call, ok = <-a.calls
	if a.current = nil; ok {
		a.current = &call
		a.made++
	}
	return call, ok
}

// shown shortens a result for the test's log.
func shown(text string) string {
	if len(text) > 2000 {
		text = text[:1000] + fmt.Sprintf("[... %d bytes ...]", len(text)-2000) + text[len(text)-1000:]
	}
	return text
}

// taskTable is a table of Markdown.
type taskTable struct {
	mu     sync.Mutex
	scores map[[3]string]score // by the names of the task, the agent and the way
}

func newTaskTable() *taskTable { return &taskTable{scores: make(map[[3]string]score)} }

func (t *taskTable) add(task, agent, way string, s score) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.scores[[3]string{task, agent, way}] = s
}

func (t *taskTable) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	b.WriteString("| calls, tokens, wrong turns, processes left |")
	for _, a := range agentPrograms {
		fmt.Fprintf(&b, " acpterm in %s | its own shell |", a.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", 2*len(agentPrograms)))
	row := func(name string, cell func(agent, way string) string) {
		fmt.Fprintf(&b, "\n| %s |", name)
		for _, a := range agentPrograms {
			fmt.Fprintf(&b, " %s | %s |", cell(a.name, "acpterm"), cell(a.name, "own"))
		}
	}
	for _, task := range tasks {
		row(task.name, func(agent, way string) string {
			s, ok := t.scores[[3]string{task.name, agent, way}]
			if !ok {
				return ""
			}
			return s.String()
		})
	}
	row("all", func(agent, way string) string {
		sum := score{solved: true}
		for key, s := range t.scores {
			if key[1] == agent && key[2] == way {
				sum.calls, sum.bytes, sum.wrong, sum.left =
					sum.calls+s.calls, sum.bytes+s.bytes, sum.wrong+s.wrong, sum.left+s.left
			}
		}
		return sum.String()
	})
	row("tokens of the tools' definitions", func(agent, way string) string {
		most := 0
		for key, s := range t.scores {
			if key[1] == agent && key[2] == way {
				most = max(most, s.definitions)
			}
		}
		return strconv.Itoa(most / 4)
	})
	return b.String()
}

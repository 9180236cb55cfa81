package acptermtest

// What went over a connection, line by line, and files to compare it with.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Transcript is a connection, seen from the client's end, that keeps what goes over it. All methods may be called
// concurrently, those of the connection as far as it allows.
type Transcript struct {
	conn io.ReadWriteCloser

	mu           sync.Mutex
	lines        []string
	agent        bytes.Buffer // what has come of a line that is not whole yet
	client       bytes.Buffer
	replacements []string // for strings.NewReplacer
}

// Record returns a connection that does what conn does, and is a Transcript of it. conn is what the client reads the
// agent's messages from and writes its own to.
func Record(conn io.ReadWriteCloser) *Transcript { return &Transcript{conn: conn} }

// Read reads from the agent.
func (tr *Transcript) Read(p []byte) (int, error) {
	n, err := tr.conn.Read(p)
	tr.keep("agent", &tr.agent, p[:n])
	return n, err
}

// Write writes to the agent. It is on record before it arrives.
func (tr *Transcript) Write(p []byte) (int, error) {
	tr.keep("client", &tr.client, p)
	return tr.conn.Write(p)
}

// Close closes the connection.
func (tr *Transcript) Close() error { return tr.conn.Close() }

func (tr *Transcript) keep(who string, rest *bytes.Buffer, p []byte) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	rest.Write(p)
	for {
		line, _, whole := bytes.Cut(rest.Bytes(), []byte("\n"))
		if !whole {
			return
		}
		tr.lines = append(tr.lines, who+": "+string(line))
		rest.Next(len(line) + 1)
	}
}

// Replace has String write something else for a text, such as "/project" for a directory that has another name in each
// run. Later replacements come after earlier ones.
func (tr *Transcript) Replace(text, by string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.replacements = append(tr.replacements, text, by)
}

// changing are the parts of lines that differ from run to run: terminals' ids, and the ids of agent.Client's requests.
var changing = regexp.MustCompile(`term_[0-9A-HJKMNP-TV-Z]{26}|"terminal-[A-Z2-7]{8}-`)

// String is the lines so far, each with "agent: " or "client: " before it, in the order in which the client read and
// wrote them; but one side's answers that follow one another are in the order of their requests, since the order in
// which several requests are answered is not promised. Terminals are "term_1", "term_2" in the order in which they
// appear, and the requests of an agent.Client have ids such as "terminal-1".
func (tr *Transcript) String() string {
	tr.mu.Lock()
	text := strings.Join(append(answersSorted(tr.lines), ""), "\n")
	replacer := strings.NewReplacer(tr.replacements...)
	tr.mu.Unlock()
	names := make(map[string]string)
	text = changing.ReplaceAllStringFunc(text, func(id string) string {
		if strings.HasPrefix(id, `"`) {
			return `"terminal-`
		}
		if names[id] == "" {
			names[id] = fmt.Sprintf("term_%d", len(names)+1)
		}
		return names[id]
	})
	return replacer.Replace(text)
}

// updateVariable, set to anything, has Golden write its files.
const updateVariable = "ACPTERMTEST_UPDATE"

// Golden fails the test if String is not what a file has, answers looked for below their requests: the order in which
// several are answered is not promised. With the environment variable ACPTERMTEST_UPDATE set it writes the file
// instead, and its directory: look at the difference before you keep it. An answer that was not written yet is not in
// it: synctest.Wait sees to that, in a bubble.
func (tr *Transcript) Golden(t testing.TB, file string) {
	t.Helper()
	got := tr.String()
	if os.Getenv(updateVariable) != "" {
		err := os.MkdirAll(filepath.Dir(file), 0o777)
		if err == nil {
			err = os.WriteFile(file, []byte(got), 0o666)
		}
		if err != nil {
			t.Fatalf("acptermtest: %v", err)
		}
		return
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("acptermtest: %v (%s=1 writes it)", err, updateVariable)
	}
	want := strings.ReplaceAll(string(data), "\r\n", "\n") // as git may check it out
	if difference := firstDifference(answersBelow(linesOf(want)), answersBelow(linesOf(got))); difference != "" {
		t.Errorf("acptermtest: the transcript is not that of %s (%s=1 writes it):\n%s",
			file, updateVariable, difference)
	}
}

func linesOf(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// requestsOf returns, for each line that is an answer, the index of the line that it answers; -1 for all others. A
// second answer to a request counts as such until the request's id is used again.
func requestsOf(lines []string) []int {
	other := map[string]string{"agent": "client", "client": "agent"}
	type key struct{ asked, id string }
	open := make(map[key][]int)   // requests without an answer
	answered := make(map[key]int) // the last one with an answer
	requests := make([]int, len(lines))
	for i, line := range lines {
		requests[i] = -1
		who, text, _ := strings.Cut(line, ": ")
		var m message
		json.Unmarshal([]byte(text), &m) // what cannot be parsed is neither
		switch k := (key{other[who], string(m.ID)}); {
		case m.ID == nil:
		case m.Method != nil:
			k.asked = who
			open[k] = append(open[k], i)
		case len(open[k]) > 0:
			requests[i], answered[k] = open[k][0], open[k][0]
			open[k] = open[k][1:]
		default:
			if request, ok := answered[k]; ok {
				requests[i] = request
			}
		}
	}
	return requests
}

// answersBelow returns the lines of a transcript with each answer moved up to below its request.
func answersBelow(lines []string) (moved []string) {
	answers := make(map[int][]string)
	requests := requestsOf(lines)
	for i, request := range requests {
		answers[request] = append(answers[request], lines[i])
	}
	for i, request := range requests {
		if request < 0 {
			moved = append(append(moved, lines[i]), answers[i]...)
		}
	}
	return moved
}

// answersSorted returns the lines of a transcript with one side's answers that follow one another sorted by their
// requests.
func answersSorted(lines []string) []string {
	requests := requestsOf(lines)
	order := make([]int, len(lines))
	for i := range order {
		order[i] = i
	}
	side := func(i int) string { return lines[i][:strings.Index(lines[i], ": ")] }
	together := func(i, j int) bool { return requests[i] >= 0 && requests[j] >= 0 && side(i) == side(j) }
	for begin := 0; begin < len(lines); {
		end := begin + 1
		for end < len(lines) && together(begin, end) {
			end++
		}
		slices.SortStableFunc(order[begin:end], func(a, b int) int { return cmp.Compare(requests[a], requests[b]) })
		begin = end
	}
	sorted := make([]string, len(lines))
	for i, from := range order {
		sorted[i] = lines[from]
	}
	return sorted
}

// message is what of a line tells requests and answers apart.
type message struct {
	ID     json.RawMessage
	Method *string
}

// firstDifference shows the first line that differs; nothing if none does.
func firstDifference(want, got []string) string {
	at := func(lines []string, i int) string {
		if i < len(lines) {
			return lines[i]
		}
		return "(the end)"
	}
	for i := range max(len(want), len(got)) {
		if at(want, i) != at(got, i) {
			return fmt.Sprintf("want %s\n got %s", at(want, i), at(got, i))
		}
	}
	return ""
}

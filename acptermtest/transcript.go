package acptermtest

// This file records the lines of a connection and compares them with a file.

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

// A Transcript records the lines sent and received by the client's end of a connection. Its methods may be called
// concurrently, with the exception of Read, Write and Close, which follow the rules of the underlying connection.
type Transcript struct {
	conn io.ReadWriteCloser

	mu           sync.Mutex
	lines        []string
	agent        bytes.Buffer // the agent's incomplete line
	client       bytes.Buffer // the client's incomplete line
	replacements []string     // for strings.NewReplacer
}

// Record returns a Transcript that wraps conn. The client must use the Transcript instead of conn, so that the
// Transcript sees the messages sent in both directions.
func Record(conn io.ReadWriteCloser) *Transcript { return &Transcript{conn: conn} }

// Read reads from the connection and records the agent's messages.
func (tr *Transcript) Read(p []byte) (int, error) {
	n, err := tr.conn.Read(p)
	tr.record("agent", &tr.agent, p[:n])
	return n, err
}

// Write records the client's messages and then writes them to the connection, so that a request is always recorded
// before its response.
func (tr *Transcript) Write(p []byte) (int, error) {
	tr.record("client", &tr.client, p)
	return tr.conn.Write(p)
}

// Close closes the connection.
func (tr *Transcript) Close() error { return tr.conn.Close() }

func (tr *Transcript) record(side string, pending *bytes.Buffer, p []byte) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	pending.Write(p)
	for {
		line, _, complete := bytes.Cut(pending.Bytes(), []byte("\n"))
		if !complete {
			return
		}
		tr.lines = append(tr.lines, side+": "+string(line))
		pending.Next(len(line) + 1)
	}
}

// Replace causes String to replace text with by, for example to replace the path of a temporary directory with
// "/project". If several replacements match at the same position, the one added first takes precedence.
func (tr *Transcript) Replace(text, by string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.replacements = append(tr.replacements, text, by)
}

// variableIDs matches the parts of lines that differ in each run: terminal ids, and the prefixes of agent.Client's ids.
var variableIDs = regexp.MustCompile(`term_[0-9A-HJKMNP-TV-Z]{26}|"terminal-[A-Z2-7]{8}-`)

// String returns the recorded lines in the order that the client read or wrote them, each prefixed with "agent: " or
// "client: ". However, consecutive responses from the same side are sorted in the order of their requests, since
// requests may be answered in any order. Terminals are numbered "term_1", "term_2" and so on as they appear, and
// requests made by an agent.Client have IDs such as "terminal-1".
func (tr *Transcript) String() string {
	tr.mu.Lock()
	text := strings.Join(append(answersSorted(tr.lines), ""), "\n")
	replacer := strings.NewReplacer(tr.replacements...)
	tr.mu.Unlock()
	names := make(map[string]string)
	text = variableIDs.ReplaceAllStringFunc(text, func(id string) string {
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

// updateVariable makes Golden write its files if it is set to a non-empty value.
const updateVariable = "ACPTERMTEST_UPDATE"

// Golden compares String with the contents of a file and fails the test if they do not match. Differences in the order
// of responses are ignored. To create or update the file and its directory, run the test with the environment variable
// ACPTERMTEST_UPDATE set, and then review the changes. When using Golden in a synctest bubble, call synctest.Wait first
// to make sure that all responses are included.
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
	want := strings.ReplaceAll(string(data), "\r\n", "\n") // git may check the file out with CRLF
	if difference := firstDifference(answersBelow(linesOf(want)), answersBelow(linesOf(got))); difference != "" {
		t.Errorf("acptermtest: the transcript is not that of %s (%s=1 writes it):\n%s",
			file, updateVariable, difference)
	}
}

func linesOf(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// requestsOf returns, for each line, the index of the request that it answers, or -1 if the line is not an answer. A
// second response to a request is also counted as its answer until the request's id is used again.
func requestsOf(lines []string) []int {
	peer := map[string]string{"agent": "client", "client": "agent"}
	type key struct{ requester, id string }
	pending := make(map[key][]int)
	answered := make(map[key]int) // the last answered request
	requests := make([]int, len(lines))
	for i, line := range lines {
		requests[i] = -1
		side, text, _ := strings.Cut(line, ": ")
		var m message
		json.Unmarshal([]byte(text), &m) // if the line is not JSON, m stays zero
		switch k := (key{peer[side], string(m.ID)}); {
		case m.ID == nil:
		case m.Method != nil:
			k.requester = side
			pending[k] = append(pending[k], i)
		case len(pending[k]) > 0:
			requests[i], answered[k] = pending[k][0], pending[k][0]
			pending[k] = pending[k][1:]
		default:
			if request, ok := answered[k]; ok {
				requests[i] = request
			}
		}
	}
	return requests
}

// answersBelow moves each answer to the line below its request.
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

// answersSorted sorts consecutive answers of one side by their requests.
func answersSorted(lines []string) []string {
	requests := requestsOf(lines)
	order := make([]int, len(lines))
	for i := range order {
		order[i] = i
	}
	side := func(i int) string { return lines[i][:strings.Index(lines[i], ": ")] }
	sortable := func(i, j int) bool { return requests[i] >= 0 && requests[j] >= 0 && side(i) == side(j) }
	for begin := 0; begin < len(lines); {
		end := begin + 1
		for end < len(lines) && sortable(begin, end) {
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

// message has the fields that distinguish requests, notifications and answers.
type message struct {
	ID     json.RawMessage
	Method *string
}

// firstDifference returns a description of the first different line, or "" if all lines are equal.
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

package acptermtest

// What went over a connection, line by line, and files to compare it with.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
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
// wrote them. Terminals are "term_1", "term_2" in the order in which they appear, and the requests of an agent.Client
// have ids such as "terminal-1".
func (tr *Transcript) String() string {
	tr.mu.Lock()
	text := strings.Join(append(tr.lines, ""), "\n")
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
// instead, and its directory: look at the difference before you keep it. An answer that was not written yet is not in it:
// synctest.Wait sees to that, in a bubble.
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
	if difference := firstDifference(answersBelow(want), answersBelow(got)); difference != "" {
		t.Errorf("acptermtest: the transcript is not that of %s (%s=1 writes it):\n%s", file, updateVariable, difference)
	}
}

// answersBelow returns the lines of a transcript with each answer moved up to below its request.
func answersBelow(text string) (lines []string) {
	type key struct{ asked, id string }
	answers := make(map[key]string)
	other := map[string]string{"agent": "client", "client": "agent"}
	parse := func(line string) (who string, m message) {
		who, rest, _ := strings.Cut(line, ": ")
		json.Unmarshal([]byte(rest), &m) // what cannot be parsed stays where it is
		return who, m
	}
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for _, line := range all {
		if who, m := parse(line); m.isAnswer() {
			answers[key{other[who], string(m.ID)}] = line
		}
	}
	for _, line := range all {
		who, m := parse(line)
		if m.isAnswer() {
			continue
		}
		lines = append(lines, line)
		if answer, ok := answers[key{who, string(m.ID)}]; ok && m.ID != nil {
			lines = append(lines, answer)
		}
	}
	return lines
}

// message is what of a line tells requests and answers apart.
type message struct {
	ID     json.RawMessage
	Method *string
}

func (m message) isAnswer() bool { return m.ID != nil && m.Method == nil }

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

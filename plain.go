package acpterm

// Plain text for agents: output without escape sequences, and the variables that make programs write less of them.

import (
	"os"
	"slices"
	"sync"

	"github.com/acpterm/acpterm/internal/ansi"
	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/output"
)

// plainStore shows the bytes without escape sequences. A second ring buffer keeps them, so that the limit, the offsets
// and the beginning count the text that the agent reads.
type plainStore struct {
	byteStore
	shown    *output.Buffer
	reserved []byte // what Reserve returned

	mu       sync.Mutex // held only while copying in memory
	writer   *output.Writer
	stripper ansi.Stripper
	left     []byte // reused
}

func newPlainStore(l outputLimits) *plainStore {
	shown := output.New(l.last, l.head)
	return &plainStore{byteStore: byteStore{output.New(l.kept, 0), l}, shown: shown, writer: output.NewWriter(shown)}
}

func (s *plainStore) Reserve(n int) []byte {
	s.reserved = s.Buffer.Reserve(n)
	return s.reserved
}

// Commit adds to the shown text first: Terminal.Output includes all that followers have seen.
func (s *plainStore) Commit(n int) {
	s.mu.Lock()
	s.left = ansi.Append(&s.stripper, s.left[:0], s.reserved[:n])
	s.writer.Write(s.left)
	s.mu.Unlock()
	s.Buffer.Commit(n)
}

// flush shows the unfinished character at the end as U+FFFD.
func (s *plainStore) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writer.Write(s.stripper.Flush(nil))
	s.shown.CommandEnded()
}

func (s *plainStore) commandEnded() {
	s.flush()
	s.CommandEnded()
}

// Close is called after the last Commit.
func (s *plainStore) Close() {
	s.flush()
	s.writer.Close()
	s.Buffer.Close()
}

func (s *plainStore) room() int64                               { return s.Room() + s.shown.Room() }
func (s *plainStore) text() (text string, start int64)          { return s.shown.Last(s.most.last) }
func (s *plainStore) head(limit int64) (text string, end int64) { return s.shown.Head(limit) }
func (s *plainStore) polled() *output.Buffer                    { return s.shown }

// unattended returns the variables for commands that no user answers. base is the environment that they inherit, and
// set has the variables of the request.
func (o *CommandOptions) unattended(base []string, set []EnvVariable) []string {
	if o.Unattended != nil {
		return o.Unattended
	}
	variables := []string{
		"PAGER=cat", "GIT_PAGER=cat", "EDITOR=cat", "VISUAL=cat", "GIT_EDITOR=sed /^#/d", "GIT_TERMINAL_PROMPT=0",
	}
	has := func(name string) bool {
		return slices.ContainsFunc(set, func(v EnvVariable) bool { return lookup.Key(v.Name) == name }) ||
			slices.ContainsFunc(base, func(variable string) bool {
				n, _, _ := lookup.Cut(variable)
				return lookup.Key(n) == name
			})
	}
	if !has("PYTHONUNBUFFERED") {
		variables = append(variables, "PYTHONUNBUFFERED=1")
	}
	if o.PTY != nil {
		return variables
	}
	if !has("NO_COLOR") && !has("FORCE_COLOR") && !has("CLICOLOR_FORCE") { // Node.js warns about a contradiction
		variables = append(variables, "NO_COLOR=1")
	}
	// The host's own TERM is that of another terminal. Any other one is a choice.
	if term := lookup.Getenv(base, "TERM"); term == "" || term == os.Getenv("TERM") {
		variables = append(variables, "TERM=dumb")
	}
	return variables
}

package mcpserver

// A session's commands: their ids for the model, and which news and output the model has received.

import (
	"hash/maphash"
	"maps"
	"strings"
	"sync"

	"github.com/acpterm/acpterm"
)

// command is a session's record of a terminal. The session's mu guards it.
type command struct {
	id       string // for the model
	told     news
	failures *failures
	writing  chan struct{} // nil unless the model may write to it; has an element while a write is not complete
	shown    *shown
}

// command returns a copy of the record of a terminal.
func (c *session) command(t *acpterm.Terminal) command {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *c.known(t)
}

// known is command for callers that hold c.mu.
func (c *session) known(t *acpterm.Terminal) *command {
	known := c.commands[t]
	if known == nil {
		known = &command{id: c.newID(t.ID()), shown: &shown{seed: maphash.MakeSeed()}}
		c.commands[t] = known
	}
	return known
}

// created remembers a new terminal. takesInput says whether the model may write to it.
func (c *session) created(t *acpterm.Terminal, takesInput bool) {
	failures := c.searchFailures(t)
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.known(t)
	known.failures = failures
	if takesInput {
		known.writing = make(chan struct{}, 1)
	}
	c.forget()
}

// manyIDs is about how many ids of released terminals a session remembers, for models that release one again.
const manyIDs = 1000

// forget forgets released terminals, and in the end their ids. The caller holds c.mu.
func (c *session) forget() {
	maps.DeleteFunc(c.commands, func(t *acpterm.Terminal, _ *command) bool {
		select {
		case <-t.Released():
			return true
		default:
			return false
		}
	})
	if len(c.ids) <= 2*len(c.commands)+manyIDs {
		return
	}
	clear(c.ids)
	for t, known := range c.commands {
		c.ids[known.id] = t.ID()
	}
}

// minID is the least number of characters of an id.
const minID = 4

// newID returns the shortest end of a terminal's ID that does not name another command of the session or look like a
// number: models copy it for few tokens. The end is as good as random, so a model that remembers an id from an earlier
// session does not name another command with it. The caller holds c.mu.
func (c *session) newID(whole acpterm.TerminalID) (id string) {
	for n := minID; n <= len(whole); n++ {
		id = string(whole[len(whole)-n:])
		if other, used := c.ids[id]; !isNumber(id) && (!used || other == whole) {
			break
		}
	}
	c.ids[id] = whole
	return id
}

// terminalID returns the terminal's ID that a model's id stands for.
func (c *session) terminalID(id string) acpterm.TerminalID {
	c.mu.Lock()
	defer c.mu.Unlock()
	if whole, found := c.ids[id]; found {
		return whole
	}
	return acpterm.TerminalID(id)
}

// shown records how much of a command's output the results have shown.
type shown struct {
	seed maphash.Seed

	mu    sync.Mutex
	next  int64    // where the output begins that no result has shown
	cut   bool     // a result has left out a part of the output before next
	lines []uint64 // hashes of the lines on the screen of the latest result
}

// unseen is the offset of an excerpt that shows the output that no result has shown.
const unseen = -1 << 63

// excerpt returns an excerpt of the output of a terminal. On a PTY, where earlier results ended, it shows the changed
// lines of the screen, and otherwise all of them.
func (s *shown) excerpt(t *acpterm.Terminal, offset int64, limit int, part show, failures []piece) (e excerpt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	since, total, changed := s.next, t.OutputTotal(), ""
	if t.HasPTY() {
		screen := t.Output().Output
		changed = screen[s.unchanged(screen):]
	}
	if offset == unseen {
		offset = since
	}
	if offset == 0 || !t.HasPTY() || offset != since {
		e = readOutput(t, offset, limit, part, failures)
	} else {
		e = collect(func(yield func(piece) bool) {
			s := splitter{size: max(limit/16, 64), most: limit / 2}
			_ = s.add(changed, yield) && s.end(yield)
		}, 0, limit, part, false, nil)
		e.offset, e.next = since, total
	}
	s.cut = s.cut || e.omitted+e.lost > 0 || e.offset > since
	s.next = max(since, e.next)
	return e
}

// isCut reports whether results have left out a part of the output.
func (s *shown) isCut() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cut
}

// unchanged returns the length of the first lines of a screen that equal those of the last call.
func (s *shown) unchanged(screen string) (length int) {
	before := s.lines
	s.lines = nil
	for line := range strings.Lines(screen) {
		hash := maphash.String(s.seed, line)
		if n := len(s.lines); n < len(before) && before[n] == hash {
			length += len(line)
		} else {
			before = nil
		}
		s.lines = append(s.lines, hash)
	}
	return length
}

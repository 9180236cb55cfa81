package view

// What is shown: one table of commands, running, past and denied. It is fed by the manager's events, bounded, and read
// by any number of streams, each at its own speed: the table has versions, and no queues.

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/acpterm/acpterm"
)

// entry is one command. Its terminal never changes; the rest is under the table's mutex.
type entry struct {
	fixed    row               // what never changes of its row
	terminal *acpterm.Terminal // nil of a command that did not run
	request  int64             // about how many bytes the terminal keeps of its request

	at        time.Time // of the decision or start
	over      bool      // in the past, and as such among those that are forgotten some day
	denied    bool
	why       string // of a denial, or of a start that failed, as shown
	rule      string // likewise
	survivors []int
	stops     int // asked for by pages and still under way

	row       row   // as it was at its last refresh
	version   int64 // of the row
	described int64 // of the last row in which more than the size changed
}

// table is all commands that are shown. All methods may be called concurrently; none waits.
type table struct {
	session      acpterm.SessionID // the only one, unless empty
	canStop      bool
	maxPast      int
	maxPastBytes int64

	mu        sync.Mutex
	entries   map[acpterm.TerminalID]*entry
	order     []*entry // as they came
	version   int64    // of the newest row
	removed   int64    // how many were forgotten so far
	refreshed time.Time
	changed   chan struct{} // closed at the next event
}

func newTable(o Options) *table {
	return &table{
		session: o.Session, canStop: o.AllowStop, maxPast: o.MaxPast, maxPastBytes: o.MaxPastBytes,
		entries: make(map[acpterm.TerminalID]*entry), changed: make(chan struct{}),
	}
}

// observe is the manager's hook.
func (t *table) observe(event acpterm.Event) {
	switch e := event.(type) {
	case *acpterm.DecisionEvent:
		if e.Err != nil || e.Verdict == acpterm.Deny {
			t.update(e.Subject, true, func(x *entry) {
				x.at, x.denied, x.over = e.Time, e.Verdict == acpterm.Deny, true
				x.rule, x.why = shown(e.Rule, maxText), shown(e.Reason, maxText)
				if x.why == "" && e.Err != nil {
					x.why = shown(e.Err.Error(), maxText)
				}
			})
		}
	case *acpterm.StartEvent:
		t.update(e.Subject, true, func(x *entry) { x.at = e.Time; x.setTerminal(e.Terminal) })
	case *acpterm.EndEvent:
		t.update(e.Subject, e.Err != nil, func(x *entry) {
			x.over = true
			if e.Err != nil {
				x.why = shown(e.Err.Error(), maxText)
			}
		})
	case *acpterm.SurvivorsEvent:
		t.update(e.Subject, false, func(x *entry) { x.survivors = e.Survivors })
	}
}

// adopt adds a terminal that a manager has. One that is still being started comes by an event.
func (t *table) adopt(terminal *acpterm.Terminal) {
	state, command := terminal.State(), terminal.Command()
	if state == acpterm.StateStarting || state == acpterm.StateFailed {
		return
	}
	_, started, _ := terminal.Times()
	t.update(acpterm.Subject{
		TerminalID: terminal.ID(), SessionID: terminal.Session(),
		Path: command.Path, Args: command.Args, Dir: command.Dir, ShellLine: command.ShellLine,
	}, true, func(x *entry) {
		x.at = started
		x.setTerminal(terminal)
		x.over = x.over || state != acpterm.StateRunning
	})
}

// update changes a command's entry. One that there is not is added, or else it has been forgotten already.
func (t *table) update(s acpterm.Subject, add bool, change func(*entry)) {
	if t.session != "" && s.SessionID != t.session {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.entries[s.TerminalID]
	switch {
	case e == nil && !add:
		return
	case e == nil:
		e = &entry{fixed: newRow(s)}
		t.entries[s.TerminalID] = e
		t.order = append(t.order, e)
	}
	if s.PID != 0 {
		e.fixed.PID = s.PID
	}
	if e.at.IsZero() {
		e.at = time.Now()
	}
	change(e)
	t.forgetLocked()
	t.wakeLocked()
}

// forgetLocked drops the oldest commands of the past that are too many, or hold too much; the newest stays.
func (t *table) forgetLocked() {
	count, bytes := 0, int64(0)
	for i := len(t.order) - 1; i >= 0; i-- {
		e := t.order[i]
		if !e.over {
			continue
		}
		count++
		bytes += e.held()
		if count > t.maxPast || count > 1 && bytes > t.maxPastBytes {
			delete(t.entries, e.fixed.ID)
			t.order = slices.Delete(t.order, i, i+1)
			t.removed++
			bytes -= e.held()
		}
	}
}

// setTerminal gives a command that runs its terminal.
func (e *entry) setTerminal(terminal *acpterm.Terminal) {
	e.terminal, e.request = terminal, sizeOf(terminal.Request())
}

// sizeOf is about how many bytes a request takes in memory.
func sizeOf(r acpterm.CreateTerminalRequest) int64 {
	const header = 16 // of a text
	n := len(r.Command) + sizeOfMeta(r.Meta)
	for _, argument := range r.Args {
		n += header + len(argument)
	}
	for _, variable := range r.Env {
		n += 3*header + len(variable.Name) + len(variable.Value) + sizeOfMeta(variable.Meta)
	}
	return int64(n)
}

func sizeOfMeta(m acpterm.Meta) (n int) {
	for name, value := range m {
		n += len(name) + len(value)
	}
	return n
}

// held is about how many bytes are kept of a command: of its output and its request.
func (e *entry) held() int64 {
	if e.terminal == nil {
		return 0
	}
	return e.request + min(e.terminal.OutputTotal(), int64(max(e.terminal.OutputByteLimit(), 64<<10)))
}

func (t *table) wakeLocked() {
	close(t.changed)
	t.changed = make(chan struct{})
	t.refreshed = time.Time{}
}

// find returns a command's entry, nil if it is not shown, and its terminal, nil if it never ran.
func (t *table) find(id acpterm.TerminalID) (e *entry, terminal *acpterm.Terminal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e = t.entries[id]; e != nil {
		terminal = e.terminal
	}
	return e, terminal
}

// beginStop counts a stop, unless there are two already: the second has forced the first.
func (t *table) beginStop(e *entry) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.stops >= 2 {
		return false
	}
	e.stops++
	t.wakeLocked()
	return true
}

// endStop is the end of that, and of what withstood it.
func (t *table) endStop(e *entry, survivors []int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.stops--
	e.survivors = survivors
	t.wakeLocked()
}

// clear forgets everything.
func (t *table) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.entries)
	t.order = nil
}

// reader is what one page has seen of the table.
type reader struct {
	version, removed int64
	seen             map[acpterm.TerminalID]bool
}

// changes is what a reader has not seen of the table.
type changes struct {
	rows  []row
	sizes []sizeUpdate         // of commands of which it has the rest
	gone  []acpterm.TerminalID // of those that it saw
	more  <-chan struct{}      // closed when there is more to see; sizes change without that
}

// changes returns what a reader has not seen, as it is now.
func (t *table) changes(r *reader) changes {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refreshLocked()
	c := changes{rows: []row{}, more: t.changed}
	for _, e := range t.order {
		switch {
		case e.described > r.version:
			c.rows = append(c.rows, e.row)
			r.seen[e.fixed.ID] = true
		case e.version > r.version:
			c.sizes = append(c.sizes, sizeUpdate{e.fixed.ID, e.row.size})
		}
	}
	if r.removed != t.removed {
		for id := range r.seen {
			if t.entries[id] == nil {
				c.gone = append(c.gone, id)
				delete(r.seen, id)
			}
		}
		slices.Sort(c.gone)
	}
	r.version, r.removed = t.version, t.removed
	return c
}

// rowVersion says which row it is: that of the last change, and of the last one that was more than of its size.
type rowVersion struct{ all, described int64 }

// rowOf is a command's row as it is now, its version, whether it will not change any more, but for output that
// something else writes, and what is closed when it may have.
func (t *table) rowOf(e *entry) (r row, version rowVersion, settled bool, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	settled = e.settledLocked() // first, so that the row is one of after that
	t.refreshEntryLocked(e)
	return e.row, rowVersion{e.version, e.described}, settled, t.changed
}

func (e *entry) settledLocked() bool {
	if e.terminal == nil {
		return true
	}
	select {
	case <-e.terminal.Done():
		return e.stops == 0
	default:
		return false
	}
}

// refreshLocked looks at every terminal again. However many pages there are, it does so once in a while only.
func (t *table) refreshLocked() {
	now := time.Now()
	if now.Sub(t.refreshed) < refreshInterval/2 {
		return
	}
	t.refreshed = now
	for _, e := range t.order {
		t.refreshEntryLocked(e)
	}
}

func (t *table) refreshEntryLocked(e *entry) {
	now := e.makeRow(t.canStop)
	if e.version > 0 && now == e.row {
		return
	}
	t.version++
	before := e.row
	before.size = now.size
	if e.version == 0 || now != before {
		e.described = t.version
	}
	e.row, e.version = now, t.version
}

// pids are the numbers of processes for people.
func pids(numbers []int) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ", ")
}

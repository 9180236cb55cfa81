package view

// The table of running, past and denied commands. The manager's events change it. It is bounded, and uses versions
// instead of queues, so any number of streams can read it, each at its own speed.

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/archive"
)

const (
	// maxStops is the maximum number of pending stops of a command.
	maxStops = 2
	// maxNames is the maximum number of names of sessions without commands in the table.
	maxNames = 1000
)

// entry is one command, guarded by the table's mutex. fixed.Number never changes, and is read without it.
type entry struct {
	session      session
	fixed        row               // fields that do not change, except names, the PID and those of the agent's own terminals
	command      acpterm.Command   // described by fixed, if the agent owns the terminal
	terminal     *acpterm.Terminal // nil if the command did not run
	requestBytes int64             // estimated size of the request, which the terminal retains
	keep         int64             // maximum retained bytes of output
	archived     *archived         // instead of terminal, if only the archive has it
	timeline     timeline          // without a terminal if the times of the output are not known

	at        time.Time // time of the decision or start
	past      bool      // ended, denied or failed: counts for MaxPast
	denied    bool
	reason    string // of a denial or a failed start
	rule      string // of a denial
	left      remainder
	leftAt    time.Time // when a stop told of left: it is newer than an event from before
	stops     int       // pending stops by pages
	stopError string    // why the last stop failed
	watchers  int       // streams that watch the activity
	activity  activity

	row       row   // as of the last refresh
	version   int64 // of the row
	described int64 // version of the last change other than the size
}

// session identifies a session of a source.
type session struct {
	source *Source
	id     acpterm.SessionID
}

// table holds all shown commands. All methods are safe for concurrent use; none blocks.
type table struct {
	only         acpterm.SessionID // the only session, or "" for all
	may          permissions
	maxPast      int
	maxPastBytes int64
	archive      *archive.Archive // or nil
	ctx          context.Context  // ends with the View
	looking      sync.WaitGroup   // watch

	mu        sync.Mutex
	watching  bool              // watch is running
	entries   map[string]*entry // by key
	names     map[session]string
	named     []session // those with names; the last named is last
	order     []*entry  // oldest first
	added     int64     // number of added entries
	version   int64     // of the newest row
	removed   int64     // number of removed entries
	refreshed time.Time
	changed   chan struct{} // closed at the next change
}

// permissions are the view's options that let pages change something.
type permissions struct {
	stop, input bool
	editor      string // see editor.shown
}

func newTable(ctx context.Context, o Options, e editor) *table {
	return &table{
		only: o.Session, may: permissions{o.AllowStop, o.Input, e.shown()},
		maxPast: o.MaxPast, maxPastBytes: o.MaxPastBytes, archive: o.Archive, ctx: ctx,
		entries: make(map[string]*entry), names: make(map[session]string), changed: make(chan struct{}),
	}
}

// observe is the event hook of a source's manager.
func (t *table) observe(from *Source, event acpterm.Event) {
	switch e := event.(type) {
	case *acpterm.DecisionEvent:
		if e.Err != nil || e.Verdict == acpterm.VerdictDeny {
			t.update(from, e.Subject, true, func(x *entry) {
				x.at, x.denied, x.past = e.Time, e.Verdict == acpterm.VerdictDeny, true
				x.rule, x.reason = printable(e.Rule, maxText), printable(e.Reason, maxText)
				if x.reason == "" && e.Err != nil {
					x.reason = printable(e.Err.Error(), maxText)
				}
			})
		}
	case *acpterm.StartEvent:
		t.start(from, e.Subject, e.Time, e.Terminal, true)
	case *acpterm.EndEvent:
		t.update(from, e.Subject, e.Err != nil, func(x *entry) {
			x.past = x.terminal == nil || x.terminal.State() == acpterm.StateEnded
			x.measure()
			x.timeline.look(true) // the output of a short command
			if e.Err != nil {
				x.reason = printable(e.Err.Error(), maxText)
			}
		})
	case *acpterm.SurvivorsEvent:
		t.update(from, e.Subject, false, func(x *entry) {
			if !e.Time.Before(x.leftAt) {
				x.left = newRemainder(e.Survivors, e.Err)
			}
		})
	case *acpterm.ResizeEvent: // the row has the new size
		t.update(from, e.Subject, false, func(*entry) {})
	case *acpterm.BackgroundEvent:
		t.update(from, e.Subject, false, func(*entry) {})
	}
}

// addTerminal adds a terminal of a source's manager, unless it has not started yet. Events add those terminals later.
func (t *table) addTerminal(from *Source, terminal *acpterm.Terminal) {
	info := terminal.Info()
	if info.State == acpterm.StateStarting || info.State == acpterm.StateFailed {
		return
	}
	command := info.Command
	t.start(from, acpterm.Subject{
		TerminalID: info.ID, SessionID: info.SessionID, Attached: info.Attached,
		Path: command.Path, Args: command.Args, Dir: command.Dir, ShellLine: command.ShellLine, PID: info.PID,
	}, info.Started, terminal, false)
}

// start adds a terminal's entry. It replaces the entry of a released terminal whose id the agent uses again. now means
// that the command starts now, although it may have ended already.
func (t *table) start(from *Source, s acpterm.Subject, at time.Time, terminal *acpterm.Terminal, now bool) {
	t.mu.Lock()
	if before := t.entries[keyOf(from.number, s.SessionID, s.TerminalID)]; before != nil && before.fixed.Agent &&
		before.terminal != terminal {
		t.removeLocked(slices.Index(t.order, before))
	}
	t.mu.Unlock()
	t.update(from, s, true, func(x *entry) {
		x.at, x.terminal = at, terminal
		x.keep = max(terminal.Info().OutputByteLimit, 64<<10)
		x.past = !terminal.Info().Ended.IsZero()
		x.measure()
		known := now || !x.past || time.Since(terminal.Info().Ended) < time.Second
		if known && x.timeline.terminal == nil && !terminal.Attached() && !terminal.HasPTY() {
			x.timeline = newTimeline(terminal)
			t.watchLocked()
		}
	})
}

// update changes a command's entry. If the table has no entry, add says whether to create it: it may have been removed.
func (t *table) update(from *Source, s acpterm.Subject, add bool, change func(*entry)) {
	if t.only != "" && s.SessionID != t.only {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if from.removed {
		return
	}
	key := keyOf(from.number, s.SessionID, s.TerminalID)
	e := t.entries[key]
	if e == nil {
		if !add {
			return
		}
		t.added++
		e = &entry{session: session{from, s.SessionID}, fixed: newRow(s), command: acpterm.Command{ShellLine: s.ShellLine, Dir: s.Dir}}
		e.fixed.Key, e.fixed.Number = key, t.added
		e.fixed.Source, e.fixed.SessionKey = from.name, sessionKeyOf(from.number, s.SessionID)
		e.name(t.names[e.session])
		t.entries[key] = e
		t.order = append(t.order, e)
	}
	if s.PID != 0 {
		e.fixed.PID = s.PID
	}
	if e.at.IsZero() {
		e.at = time.Now()
	}
	change(e)
	t.removePastLocked()
	t.notifyLocked()
}

// removePastLocked removes the oldest past commands beyond the limits, but never the newest. Archived ones do not count.
func (t *table) removePastLocked() {
	count, bytes, archives := 0, int64(0), false
	for i := len(t.order) - 1; i >= 0; i-- {
		e := t.order[i]
		if !e.past || e.archived != nil {
			continue
		}
		count++
		size := e.retainedBytes()
		bytes += size
		if count > t.maxPast || count > 1 && bytes > t.maxPastBytes {
			if bytes -= size; t.archiveLocked(e) {
				archives = true
			} else {
				t.removeLocked(i)
			}
		}
	}
	if archives {
		t.forgetArchivedLocked()
	}
}

// removeLocked removes the entry at an index of order.
func (t *table) removeLocked(i int) {
	delete(t.entries, t.order[i].fixed.Key)
	t.order = slices.Delete(t.order, i, i+1)
	t.removed++
}

// measure estimates the size of everything that the terminal retains, except its output.
func (e *entry) measure() {
	if e.terminal == nil {
		return
	}
	e.requestBytes = sizeOf(e.terminal.Request())
	if info := e.terminal.Info(); info.Attached {
		e.requestBytes += int64(len(info.Command.ShellLine) + len(info.Command.Dir) + sizeOfMeta(info.Meta))
	}
}

// sizeOf returns the estimated size of a request in memory.
func sizeOf(r acpterm.CreateTerminalRequest) int64 {
	const header = 16 // of a string
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

// retainedBytes returns the estimated size in memory of a command's output and request.
func (e *entry) retainedBytes() int64 {
	if e.terminal == nil {
		return 0
	}
	output := min(e.terminal.OutputTotal(), e.keep)
	if e.terminal.HasPTY() {
		output *= 2 // raw output and plain text
	}
	return e.requestBytes + int64(cap(e.timeline.samples))*sampleBytes + output
}

func (t *table) notifyLocked() {
	close(t.changed)
	t.changed = make(chan struct{})
	t.refreshed = time.Time{}
}

// find returns a command's entry, or nil if it is not shown, and its output, or nil if the command did not run.
func (t *table) find(key string) (e *entry, terminal output) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e = t.entries[key]; e != nil {
		terminal = e.outputOf()
	}
	return e, terminal
}

// nameSession sets the name that a session's commands show. If the name is empty, they show the session's id.
func (t *table) nameSession(from *Source, id acpterm.SessionID, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	named := session{from, id}
	t.forgetNamesLocked(func(s session) bool { return s == named })
	if name != "" && !from.removed {
		t.names[named] = name
		t.named = append(t.named, named)
		t.forgetOldNamesLocked()
	}
	for _, e := range t.order {
		if e.session == named {
			e.name(name)
		}
	}
	t.notifyLocked()
}

// forgetOldNamesLocked removes the oldest names beyond the limit. A Manager does not tell when a session ends, so one
// without commands may still get some.
func (t *table) forgetOldNamesLocked() {
	if len(t.named) <= maxNames {
		return
	}
	used := make(map[session]bool) // those with names
	for _, e := range t.order {
		if _, named := t.names[e.session]; named {
			used[e.session] = true
		}
	}
	excess := len(t.named) - len(used) - maxNames
	t.forgetNamesLocked(func(s session) bool {
		old := excess > 0 && !used[s]
		if old {
			excess--
		}
		return old
	})
}

func (t *table) forgetNamesLocked(which func(session) bool) {
	t.named = slices.DeleteFunc(t.named, func(s session) bool {
		forgotten := which(s)
		if forgotten {
			delete(t.names, s)
		}
		return forgotten
	})
}

// name sets the name of the entry's session. If it is empty, the row has the session's id.
func (e *entry) name(name string) {
	e.fixed.Session, e.fixed.Named = cmp.Or(name, printable(string(e.session.id), maxText)), name != ""
}

// removeSource removes all commands of a source, and the names of its sessions.
func (t *table) removeSource(from *Source) {
	t.mu.Lock()
	defer t.mu.Unlock()
	from.removed = true
	for i := len(t.order) - 1; i >= 0; i-- {
		if t.order[i].session.source == from {
			t.removeLocked(i)
		}
	}
	t.forgetNamesLocked(func(s session) bool { return s.source == from })
	t.notifyLocked()
}

// clear removes all commands.
func (t *table) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.entries)
	clear(t.names)
	t.order, t.named = nil, nil
}

// reader is a page's position in the table's versions.
type reader struct {
	version, removed int64
	seen             map[string]bool // by key
}

// changes are the differences between a reader's version and the newest.
type changes struct {
	rows  []row
	sizes []sizeUpdate    // of commands with no other change
	gone  []string        // keys of removed commands that the reader has seen
	more  <-chan struct{} // closed at the next change, except of sizes
}

// changes returns the changes since the reader's version, and updates the reader.
func (t *table) changes(r *reader) changes {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refreshLocked()
	c := changes{rows: []row{}, more: t.changed}
	for _, e := range t.order {
		switch {
		case e.described > r.version:
			c.rows = append(c.rows, e.row)
			r.seen[e.fixed.Key] = true
		case e.version > r.version:
			c.sizes = append(c.sizes, sizeUpdate{e.fixed.Key, e.row.size})
		}
	}
	if r.removed != t.removed {
		for key := range r.seen {
			if t.entries[key] == nil {
				c.gone = append(c.gone, key)
				delete(r.seen, key)
			}
		}
		slices.Sort(c.gone)
	}
	r.version, r.removed = t.version, t.removed
	return c
}

// rowVersion holds the versions of a row's last change, and of its last change other than the size.
type rowVersion struct{ all, described int64 }

// rowOf returns a command's current row and its version. settled is true if only the size can still change. changed is
// closed at the table's next change.
func (t *table) rowOf(e *entry) (r row, version rowVersion, settled bool, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	settled = e.settledLocked(t.may) // before the refresh, so that a settled row is final
	t.refreshEntryLocked(e)
	return e.row, rowVersion{e.version, e.described}, settled, t.changed
}

// settledLocked reports whether the row is final. Another stop may end the remainder of the last one.
func (e *entry) settledLocked(may permissions) bool {
	if e.terminal == nil {
		return true
	}
	select {
	case <-e.terminal.Done():
		return e.stops == 0 && (!may.stop || e.left.empty())
	default:
		return false
	}
}

// refreshLocked refreshes every row, at most once per interval, regardless of the number of pages.
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
	now := e.makeRow(t.may)
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

// pids formats process numbers.
func pids(numbers []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(numbers), "[]"), " ", ", ")
}

package archive

// Recording. The hook of a manager queues each ended terminal, and one goroutine writes them.

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/acpterm/acpterm"
)

// job is a terminal to write.
type job struct {
	manager  string
	terminal *acpterm.Terminal
}

// kept holds the terminals of one manager that may have to be written.
type kept struct {
	archive *Archive
	manager string

	mu        sync.Mutex
	terminals map[terminalKey]*keptTerminal // until their release
}

type terminalKey struct {
	session acpterm.SessionID
	id      acpterm.TerminalID
}

type keptTerminal struct {
	*acpterm.Terminal
	ended bool
	total int64 // size of the output when the terminal was queued
}

// Keep records each terminal of a manager when its command ends, and again when it is released, if a background process
// has written more output. The manager may have dropped the beginning. name tells managers of one program apart, like
// that of view.View.Add. stop ends the recording. It must not be called from one of the manager's hooks.
//
// Up to 64 terminals wait to be written. If the disk is slower than that, the manager's hooks are delayed; see
// acpterm.Manager.Observe.
func (a *Archive) Keep(m *acpterm.Manager, name string) (stop func()) {
	k := &kept{archive: a, manager: cut(name, maxText), terminals: make(map[terminalKey]*keptTerminal)}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return func() {}
	}
	stop = m.Observe(k.observe) // before Terminals, so that no terminal is missed
	a.stops = append(a.stops, stop)
	for _, t := range m.Terminals() {
		k.add(t)
	}
	return stop
}

func (k *kept) add(t *acpterm.Terminal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := terminalKey{t.SessionID(), t.ID()}
	if known := k.terminals[key]; known == nil || known.Terminal != t {
		k.terminals[key] = &keptTerminal{Terminal: t}
	}
}

// observe is the hook of the manager.
func (k *kept) observe(event acpterm.Event) {
	switch e := event.(type) {
	case *acpterm.StartEvent:
		k.add(e.Terminal)
	case *acpterm.EndEvent:
		k.queue(&e.Subject, false)
	case *acpterm.ReleaseEvent:
		k.queue(&e.Subject, true)
	}
}

// queue queues an ended terminal, unless it was queued with the same output before.
func (k *kept) queue(s *acpterm.Subject, released bool) {
	k.mu.Lock()
	key := terminalKey{s.SessionID, s.TerminalID}
	t := k.terminals[key]
	if released {
		delete(k.terminals, key)
	}
	if t == nil || released && t.ended && t.total == t.OutputTotal() {
		k.mu.Unlock()
		return
	}
	t.ended, t.total = true, t.OutputTotal()
	k.mu.Unlock()
	k.archive.jobs <- job{k.manager, t.Terminal}
}

// writeAll writes the queued terminals until Close.
func (a *Archive) writeAll() {
	for j := range a.jobs {
		name, err := a.write(j)
		if errors.Is(err, errNotEnded) {
			continue
		}
		a.written(name, err)
	}
}

// written updates the list of terminals after a write.
func (a *Archive) written(name string, err error) {
	var t *Terminal
	if err == nil {
		t, err = readTerminal(a, name)
	}
	remaining := a.trim(func(string, error) {})
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil && a.failure == nil {
		a.failure = err
		slog.Error("acpterm: a terminal cannot be archived", "error", err)
	}
	if t != nil {
		a.terminals = slices.DeleteFunc(a.terminals, func(other *Terminal) bool { return other.name == name })
		a.terminals = append(a.terminals, t)
		slices.SortStableFunc(a.terminals, func(x, y *Terminal) int { return strings.Compare(x.name, y.name) })
	}
	a.terminals = slices.DeleteFunc(a.terminals, func(t *Terminal) bool {
		_, remains := slices.BinarySearch(remaining, t.name)
		return !remains
	})
}

// write writes a terminal's file, and returns its name.
func (a *Archive) write(j job) (name string, err error) {
	r, err := newRecord(context.Background(), j.terminal)
	if err != nil {
		return "", err
	}
	a.mu.Lock()
	r.Run, r.Manager, r.SessionName = a.run, j.manager, a.names[sessionKey{j.manager, r.Session}]
	a.mu.Unlock()
	file, err := os.CreateTemp(a.dir, temporaryPrefix+"*") // with mode 0600
	if err != nil {
		return "", err
	}
	defer os.Remove(file.Name()) // in vain after the rename
	err = r.write(file, j.terminal)
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err != nil {
		return "", err
	}
	name = r.name()
	return name, os.Rename(file.Name(), filepath.Join(a.dir, name))
}

package acpterm

// Terminals that outlive their connection: a Handler that closes keeps them for a while, and the next one takes them
// over. In between, only the Manager reaches them.

import (
	"cmp"
	"slices"
	"time"
)

// TakeOver takes over the terminals of a session that another Handler with the same SessionPrefix has kept because of
// HandlerOptions.KeepOnClose, and returns them, oldest first. session is the agent's id for the session. Their ids,
// output and exit statuses are as before, and they can be waited for. When h is closed, they are released, or kept
// again. HandlerOptions.Created is not called for them.
//
// Call TakeOver for the session of a session/load or session/resume before sending the request, so that the agent can
// use the terminals as soon as it has received it. If the request fails, call Manager.ReleaseSession. No request of an
// agent takes over terminals. TakeOver returns no terminals whose release has begun, and none if h has been closed.
func (h *Handler) TakeOver(session SessionID) []*Terminal {
	if h.manager == nil || !h.begin() {
		return nil
	}
	defer h.creates.Done()
	taken := h.manager.takeOver(h.toInternalID(session))
	for _, t := range taken {
		h.track(t, true)
	}
	return taken
}

// keepLocked passes terminals to the Manager, which keeps them. The Handler is closing, and releases the others.
func (h *Handler) keepLocked() {
	if h.options.KeepOnClose <= 0 {
		return
	}
	var answered []*Terminal
	for t, own := range h.terminals {
		if own.answered {
			answered = append(answered, t)
		}
	}
	if len(answered) == 0 {
		return
	}
	for _, t := range h.manager.keep(answered, h.options.KeepOnClose) {
		h.terminals[t].stop()
		delete(h.terminals, t)
		h.outputs.Forget(terminalOutput{t})
	}
}

// keep keeps terminals for a time, and returns them. If there are too many, it keeps the running ones before the ended
// ones, and the newest of each.
func (m *Manager) keep(terminals []*Terminal, d time.Duration) (kept []*Terminal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	room, bytes := m.options.maxKept()-len(m.kept), m.options.maxReservedBytes()/2
	for t := range m.kept {
		bytes -= t.store.room()
	}
	slices.SortFunc(terminals, func(a, b *Terminal) int { return cmp.Compare(b.number, a.number) })
	for _, alive := range []bool{true, false} {
		for _, t := range terminals {
			size := t.store.room()
			registered := m.terminalLocked(t.SessionID(), t.id) == t
			if !registered || m.kept[t] != nil || alive && !t.State().alive() || room <= 0 || size > bytes {
				continue
			}
			m.keepLocked(t, d)
			kept, room, bytes = append(kept, t), room-1, bytes-size
		}
	}
	return kept
}

func (m *Manager) keepLocked(t *Terminal, d time.Duration) {
	m.busy.Add(1) // until the timer is stopped or its function returns
	var timer *time.Timer
	timer = time.AfterFunc(d, func() {
		defer m.busy.Done()
		begin := func() {}
		m.mu.Lock()
		if m.kept[t] == timer { // otherwise t was taken over just now
			begin = m.beginReleaseLocked(t)
		}
		m.mu.Unlock()
		begin()
	})
	m.kept[t] = timer
}

// unkeepLocked stops to keep a terminal, which may not be kept.
func (m *Manager) unkeepLocked(t *Terminal) {
	if timer := m.kept[t]; timer != nil && timer.Stop() {
		m.busy.Done()
	}
	delete(m.kept, t)
}

// takeOver stops to keep a session's kept terminals, and returns them, oldest first.
func (m *Manager) takeOver(session SessionID) []*Terminal {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[session]
	if s == nil {
		return nil
	}
	taken := slices.DeleteFunc(oldestFirst(s), func(t *Terminal) bool { return m.kept[t] == nil })
	for _, t := range taken {
		m.unkeepLocked(t)
	}
	return taken
}

// lookUp returns a session's terminal, or nil, and whether it is kept, so that no Handler may reach it.
func (m *Manager) lookUp(session SessionID, id TerminalID) (t *Terminal, kept bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t = m.terminalLocked(session, id)
	return t, m.kept[t] != nil
}

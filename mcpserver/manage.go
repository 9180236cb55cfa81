package mcpserver

// The tokens and the MCP sessions of a Listener, for a host that shows and ends them.

import (
	"slices"
	"strings"
	"time"

	"github.com/acpterm/acpterm"
)

// An EntrySession describes an open MCP session of an Entry.
type EntrySession struct {
	// ID is the ID of the session of the Manager, for example for Manager.SessionTerminals.
	ID acpterm.SessionID
	// Client is the name and the version that the client gave itself, in at most 128 bytes. It is empty before the
	// client has sent them.
	Client string
	Opened time.Time
	// Idle is the time of the last request, or zero if one is open. A relay has one until it ends.
	Idle time.Time
}

// Entries returns the entries whose tokens are valid, oldest first. To revoke a token, close its entry.
func (l *Listener) Entries() []*Entry {
	l.mu.Lock()
	all := make([]*Entry, 0, len(l.entries))
	for _, e := range l.entries {
		all = append(all, e)
	}
	l.mu.Unlock()
	slices.SortFunc(all, func(a, b *Entry) int { return a.created.Compare(b.created) })
	return all
}

// Created returns the time when Server.Entry returned the entry.
func (e *Entry) Created() time.Time { return e.created }

// Sessions returns the open MCP sessions of the entry, oldest first.
func (e *Entry) Sessions() []EntrySession {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make([]EntrySession, 0, len(e.links))
	for k := range e.links {
		s := EntrySession{ID: k.session.id, Client: k.client(), Opened: k.opened}
		if k.requests == 0 {
			s.Idle = k.since
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b EntrySession) int { return a.Opened.Compare(b.Opened) })
	return all
}

// client returns the name and the version of the client, or "".
func (k *link) client() string {
	t := k.transport()
	if t == nil || t.InitializeParams() == nil || t.InitializeParams().ClientInfo == nil {
		return ""
	}
	info := t.InitializeParams().ClientInfo
	return strings.TrimSpace(shorten(info.Name, 96) + " " + shorten(info.Version, 31))
}

// CloseSession ends an MCP session of the entry, and returns when its terminals are released, with the errors of that.
// The token stays valid, so the client can open another session. For an unknown session, CloseSession returns an
// *acpterm.Error of kind ErrSessionNotFound. As with Close, policies and functions in options must not call it.
func (e *Entry) CloseSession(id acpterm.SessionID) error {
	e.mu.Lock()
	var found *link
	for k := range e.links {
		if k.session.id == id {
			found = k
		}
	}
	e.mu.Unlock()
	if found == nil {
		return &acpterm.Error{Op: "close session", Kind: acpterm.ErrSessionNotFound, SessionID: id}
	}
	err := found.session.close()
	<-found.done
	return err
}

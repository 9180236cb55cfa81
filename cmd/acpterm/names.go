package main

// This file names the sessions of a conversation for the live page.

import (
	"cmp"
	"encoding/json"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
)

const (
	mostNameBytes     = 200 // of a name
	mostNamedSessions = 100 // with the name of the conversation
)

// sessionNames has the name of a conversation: the title that the agent has reported, or else the project's directory and the
// agent's name. The agent's session and its MCP sessions all have this name. All methods are safe for concurrent use.
type sessionNames struct {
	rename func(acpterm.SessionID, string)

	mu             sync.Mutex
	title, project string              // safe to show
	sessions       []acpterm.SessionID // the newest ones
}

// newSessionNames returns names that call rename when the name of a session changes. rename must not block.
func newSessionNames(rename func(acpterm.SessionID, string)) *sessionNames {
	return &sessionNames{rename: rename}
}

// name returns the name of the conversation, safe to show.
func (n *sessionNames) name() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.nameLocked()
}

func (n *sessionNames) nameLocked() string { return cmp.Or(n.title, n.project) }

// setProject sets the name for a conversation without a title. The agent's name is in its response to initialize, or
// else it is agent, which may be empty.
func (n *sessionNames) setProject(dir string, initialized json.RawMessage, agent string) {
	var answer struct {
		Info struct{ Title, Name string } `json:"agentInfo"`
	}
	if json.Unmarshal(initialized, &answer) == nil {
		agent = cmp.Or(answer.Info.Title, answer.Info.Name, agent)
	}
	name := path.Base(filepath.ToSlash(dir)) // the directory may be a remote one
	if agent != "" {
		name += " (" + agent + ")"
	}
	n.set(&n.project, name)
}

// setTitle sets the title, given the params of a session/update with a session_info_update. A title of null removes it,
// and an absent one means no change.
func (n *sessionNames) setTitle(params json.RawMessage) error {
	var notification struct {
		Update struct{ Title json.RawMessage }
	}
	var title string
	if err := json.Unmarshal(params, &notification); err != nil || notification.Update.Title == nil {
		return err
	}
	if err := json.Unmarshal(notification.Update.Title, &title); err != nil {
		return err
	}
	n.set(&n.title, strings.TrimSpace(title))
	return nil
}

// set changes a field, and renames the sessions.
func (n *sessionNames) set(field *string, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	*field = display.Visible(text, mostNameBytes)
	for _, id := range n.sessions {
		n.rename(id, n.nameLocked())
	}
}

// add names a new session. If there are many, the oldest one loses its name, because pages keep all names.
func (n *sessionNames) add(id acpterm.SessionID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.sessions = append(n.sessions, id); len(n.sessions) > mostNamedSessions {
		n.rename(n.sessions[0], "")
		n.sessions = slices.Delete(n.sessions, 0, 1)
	}
	n.rename(id, n.nameLocked())
}

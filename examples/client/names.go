package main

// This file names the agent's sessions on the live page.

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
	mostName     = 200 // bytes of a session's name
	mostSessions = 100 // with the name of the conversation
)

// names has the name of the conversation: the title that the agent has reported, or else the project's directory and
// the agent's name. The session of the agent and its MCP sessions all have this name.
//
// All methods are safe for concurrent use.
type names struct {
	rename func(acpterm.SessionID, string) // changes a name on the page; does not block

	mu       sync.Mutex
	title    string
	project  string              // used without a title
	sessions []acpterm.SessionID // the newest ones
}

// newNames returns names for a page, which may be nil. It must be served before the first session.
func newNames(page *livePage) *names {
	return &names{rename: func(id acpterm.SessionID, name string) {
		if page != nil {
			page.view.NameSession(id, name)
		}
	}}
}

// setProject sets the name of the conversation without a title.
func (n *names) setProject(dir, agent string) {
	project := path.Base(filepath.ToSlash(dir)) // the directory may be a remote one
	n.set(&n.project, project+" ("+agent+")")
}

// setTitle sets the title from a session_info_update. A title of null removes it, and an absent one means no change.
func (n *names) setTitle(title json.RawMessage) error {
	if title == nil {
		return nil
	}
	var text string
	if err := json.Unmarshal(title, &text); err != nil {
		return err
	}
	n.set(&n.title, strings.TrimSpace(text))
	return nil
}

// set changes a field, and renames the sessions.
func (n *names) set(field *string, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	*field = display.Visible(text, mostName)
	for _, id := range n.sessions {
		n.rename(id, n.nameLocked())
	}
}

// add names a new session.
func (n *names) add(id acpterm.SessionID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sessions = append(n.sessions, id)
	if len(n.sessions) > mostSessions {
		n.rename(n.sessions[0], "") // the page keeps a name until then
		n.sessions = slices.Delete(n.sessions, 0, 1)
	}
	n.rename(id, n.nameLocked())
}

func (n *names) nameLocked() string { return cmp.Or(n.title, n.project) }

// agentName returns the agent's name for users in its agentInfo (schema type Implementation), or other if it has none.
func agentName(info json.RawMessage, other string) string {
	var agent struct {
		Title string `json:"title"`
		Name  string `json:"name"`
	}
	if json.Unmarshal(info, &agent) != nil {
		return other
	}
	return cmp.Or(agent.Title, agent.Name, other)
}

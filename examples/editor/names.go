package main

// This file names conversations: by the title that the agent has reported, or else by the project and the agent.

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
)

// nameBytes limits the name of a conversation, which may be the agent's words.
const nameBytes = 200

// Name returns the name of the conversation, safe to show.
func (c *Conversation) Name() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return display.Visible(cmp.Or(c.title, c.project), nameBytes)
}

// setProject sets the name for a conversation without a title, given the agent's response to initialize.
func (c *Conversation) setProject(dir string, initialized json.RawMessage) {
	var agent struct {
		Info struct {
			Title string `json:"title"`
			Name  string `json:"name"`
		} `json:"agentInfo"`
	}
	project := filepath.Base(dir)
	if json.Unmarshal(initialized, &agent) == nil && agent.Info.Name != "" {
		project += " (" + cmp.Or(agent.Info.Title, agent.Info.Name) + ")"
	}
	c.rename(func() { c.project = beginning(project, nameBytes) })
}

// setTitle sets the title from a session_info_update. A title of null removes it, and an absent one means no change.
func (c *Conversation) setTitle(title json.RawMessage) {
	var text string
	if title != nil && json.Unmarshal(title, &text) == nil {
		c.rename(func() { c.title = beginning(strings.TrimSpace(text), nameBytes) })
	}
}

// rename changes the name, and shows it.
func (c *Conversation) rename(change func()) {
	c.mu.Lock()
	change()
	c.mu.Unlock()
	c.editor.ui.Title(c.Name())
	c.editor.nameSessions(c)
}

// nameSessions names the sessions of a conversation on the live page.
func (e *Editor) nameSessions(c *Conversation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.nameLocked(c, c.session())
	for id, owner := range e.owners {
		if owner == c {
			e.nameLocked(c, id)
		}
	}
}

// nameLocked names a session on the live page, if there is one.
func (e *Editor) nameLocked(c *Conversation, id acpterm.SessionID) {
	if e.page != nil && id != "" {
		e.page.view.NameSession(id, c.Name())
	}
}

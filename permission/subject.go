package permission

// The subject of a request in ACP v2.

import (
	"encoding/json"

	"github.com/acpterm/acpterm"
)

// A SubjectType is the type of a Subject. Agents may use other types than the constants.
type SubjectType string

// SubjectType constants.
const (
	SubjectToolCall SubjectType = "tool_call"
	SubjectCommand  SubjectType = "command"
)

// A Subject is the operation that a request is about (schema type RequestPermissionSubject of ACP v2). Read also sets
// Request.ToolCallID from it and, for a tool call, Request.Kind and Request.RawInput.
type Subject struct {
	// Type is empty if the request has no subject, as is always the case in v1.
	Type SubjectType
	// Command and Cwd are set if Type is SubjectCommand. Command is the line that the agent will run, and Cwd is its
	// directory, exactly as received from the agent.
	Command, Cwd string
	// TerminalID is the agent's terminal for the command, or empty if it is not known yet.
	TerminalID acpterm.TerminalID
	// Raw is the whole subject as JSON, or nil without a subject. For other types, only Raw is known.
	Raw json.RawMessage
}

// readV2 reads the members of v2 that replace v1's toolCall.
func (r *Request) readV2(o object) {
	r.Title, r.Description = o.text("title", true), o.optional("description")
	raw := o.members["subject"]
	if isNull(raw) {
		return
	}
	m := newObject("subject", raw, o.err)
	r.Subject = Subject{Type: SubjectType(m.text("type", true)), Raw: raw}
	switch r.Subject.Type {
	case "":
		m.fail("type", "must not be empty")
	case SubjectToolCall:
		r.readToolCall(newObject("subject.toolCall", m.members["toolCall"], o.err))
	case SubjectCommand:
		r.Subject.Command, r.Subject.Cwd = m.text("command", true), m.text("cwd", true)
		r.ToolCallID, r.Subject.TerminalID = m.optional("toolCallId"), acpterm.TerminalID(m.optional("terminalId"))
		if r.Subject.Cwd == "" {
			m.fail("cwd", "must not be empty")
		}
	}
}

// unshown returns the subject if Text must show it because a part of it is shown in no other way.
func (s Subject) unshown() (raw json.RawMessage) {
	if s.Type == "" || s.Type == SubjectToolCall {
		return nil
	}
	members, _ := readMembers(s.Raw)
	for _, known := range []string{"type", "command", "cwd", "toolCallId", "terminalId"} {
		delete(members, known)
	}
	if s.Type == SubjectCommand && s.Command != "" && len(members) == 0 {
		return nil
	}
	return s.Raw
}

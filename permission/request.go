package permission

// Strict reading of an agent's request and, in ACP v2, its subject, and its text for the user.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
)

// An OptionKind describes the effect of an option on the agent (schema type PermissionOptionKind).
type OptionKind string

// OptionKind constants. The package comment describes their effect on later create requests. Other kinds do not have
// any effect on create requests.
const (
	OptionKindAllowOnce    OptionKind = "allow_once"
	OptionKindAllowAlways  OptionKind = "allow_always"
	OptionKindRejectOnce   OptionKind = "reject_once"
	OptionKindRejectAlways OptionKind = "reject_always"
)

// An Option is an answer that the agent offers to the user (schema type PermissionOption). Note that its text is
// exactly as received from the agent.
type Option struct {
	ID   string // unique in its request
	Name string
	Kind OptionKind
}

// Text returns a one-line description of the option, which consists of its effect and its quoted name, for example:
// `allow once: "Yes"`. If most is nonzero, the name is truncated to that many bytes, in the same way as by
// display.Quote.
func (o Option) Text(most int) string {
	does := "answer the agent only"
	if _, ok := o.Kind.approval(); ok {
		does = strings.ReplaceAll(string(o.Kind), "_", " ")
	}
	return does + ": " + display.Quote(o.Name, most)
}

// approval returns the meaning of a chosen option of this kind for the command. ok is false for an unknown kind.
func (k OptionKind) approval() (approval acpterm.Approval, ok bool) {
	switch k {
	case OptionKindAllowOnce:
		return acpterm.ApprovalAllowOnce, true
	case OptionKindAllowAlways:
		return acpterm.ApprovalSession, true
	case OptionKindRejectOnce:
		return acpterm.ApprovalRejectOnce, true
	case OptionKindRejectAlways:
		return acpterm.ApprovalRejectAlways, true
	}
	return acpterm.ApprovalRejectOnce, false
}

// A Request holds the params of session/request_permission (schema type RequestPermissionRequest) of ACP v1 or v2. In
// v1, Title, Kind and RawInput describe the tool call. An agent may omit these fields if it has already sent them in a
// session/update, in which case Read leaves them empty. Hosts that keep track of tool calls should fill them in before
// calling any methods. In v2, Title is the title of the question, and Subject describes the tool call or the command.
type Request struct {
	SessionID   acpterm.SessionID
	ToolCallID  string // always set in v1
	Title       string
	Description string          // of v2, or empty
	Kind        string          // schema type ToolKind
	RawInput    json.RawMessage // or nil
	Options     []Option        // the possible answers, in the agent's order

	// Subject is experimental, like ACP v2. It follows the schema in npm's @agentclientprotocol/sdk 2.4.0.
	Subject Subject

	// Dir is the absolute path of the session's directory, where commands run by default. Read does not set Dir, so the
	// host should do so. If Dir is empty, the answer for a command that runs in that directory will only be used for
	// create requests that do not specify a cwd.
	Dir string
}

// A Command is the command announced by a tool call. Either Line or Args is set.
type Command struct {
	// Line is a shell line. A single word made up of letters, digits and _ . / + - @ , : is stored in Args instead.
	Line string
	// Args holds the program, followed by its arguments.
	Args []string
	// Dir is the directory of the command, which defaults to Request.Dir. If both are empty, the directory is not
	// known.
	Dir string
}

// newLine returns the command of a text that may be a line or a program's name, as in terminal/create.
func newLine(line string) Command {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-@,:"
	if strings.Trim(line, plain) == "" { // a shell also takes it as the name of a program
		return Command{Args: []string{line}}
	}
	return Command{Line: line}
}

// Read parses the params of session/request_permission of either version of ACP. If a required value is missing, a
// value is of the wrong type, an object has duplicate names, a request has both v1's toolCall and v2's subject, or the
// id of an option is empty or not unique, Read returns an *acpterm.Error of kind acpterm.ErrInvalidParams that names
// the field. Note that rawInput is not checked, and neither are subjects of unknown types.
func Read(params []byte) (Request, error) {
	var err error
	o := newObject("params", params, &err)
	r := Request{SessionID: acpterm.SessionID(o.text("sessionId", true))}
	_, hasTitle := o.members["title"]
	hasSubject := !isNull(o.members["subject"])
	call, isV1 := o.members["toolCall"]
	switch {
	case isV1 && hasSubject: // the user would see only one of the two
		o.fail("subject", "must not be given with toolCall")
	case hasTitle && !isV1 || hasSubject:
		r.readV2(o)
	default:
		call := newObject("toolCall", call, &err)
		r.readToolCall(call)
		r.Title = call.text("title", false)
	}
	var options []json.RawMessage
	if json.Unmarshal(o.members["options"], &options) != nil || options == nil {
		o.fail("options", "must be an array")
	}
	ids := make(map[string]bool)
	for i, data := range options {
		item := newObject(fmt.Sprintf("options[%d]", i), data, &err)
		option := Option{item.text("optionId", true), item.text("name", true), OptionKind(item.text("kind", true))}
		if option.ID == "" || ids[option.ID] {
			item.fail("optionId", "must not be empty, or another option's")
		}
		if err != nil {
			break
		}
		ids[option.ID] = true
		r.Options = append(r.Options, option)
	}
	if err != nil {
		return Request{}, err
	}
	return r, nil
}

// readToolCall reads the members of a tool call, except its title.
func (r *Request) readToolCall(call object) {
	r.ToolCallID, r.Kind = call.text("toolCallId", true), call.text("kind", false)
	if input := call.members["rawInput"]; !isNull(input) {
		r.RawInput = input
	}
}

// Command returns the command that the agent will run, if it can be determined. A Subject of type SubjectCommand
// contains the command; if it is of an unknown type, the command is not known. Otherwise, Kind must be "execute", and
// RawInput must be an object with a member "command". The value of this member must be a shell line, an array that
// consists of the program and its arguments, or a program whose arguments are given in a separate array, "args".
// RawInput may also include "cwd". Command ignores any other members, although Text includes them.
func (r Request) Command() (c Command, ok bool) {
	switch r.Subject.Type {
	case "", SubjectToolCall:
	case SubjectCommand:
		if r.Subject.Command == "" {
			return Command{}, false
		}
		c = newLine(r.Subject.Command)
		c.Dir = r.Subject.Cwd
		return c, true
	default:
		return Command{}, false
	}
	input, isObject := readMembers(r.RawInput)
	if r.Kind != "execute" || !isObject {
		return Command{}, false
	}
	args, hasArgs := readStrings(input["args"])
	dir, hasDir := readString(input["cwd"])
	if !isNull(input["args"]) && !hasArgs || !isNull(input["cwd"]) && (!hasDir || dir == "") {
		return Command{}, false
	}
	text, isText := readString(input["command"])
	words, isWords := readStrings(input["command"])
	switch {
	case isText && hasArgs:
		c.Args = append([]string{text}, args...)
	case isText:
		c = newLine(text)
	case isWords && !hasArgs:
		c.Args = words
	}
	if c.Line == "" && (len(c.Args) == 0 || c.Args[0] == "") {
		return Command{}, false
	}
	c.Dir = cmp.Or(dir, r.Dir)
	return c, true
}

// Text returns a description of the request for display to the user. It consists of several lines: the title and the
// description, if any, followed by the command and its directory, all formatted using display.Quote. If the raw input
// has any other members, or if Command does not return a command, the raw input is included as well, formatted using
// display.Visible. The same applies to the subject, except for a tool call. Note that the title of v2's tool call and
// the content and locations of any tool call are not included.
//
// If most is nonzero, each value is truncated to about that many bytes. The result whole reports whether nothing was
// omitted. If it is false, the host should also let the user see Text(0).
func (r Request) Text(most int) (text string, whole bool) {
	text = r.text(most)
	return text, text == r.text(0)
}

func (r Request) text(most int) string {
	var b strings.Builder
	line := func(what, shown string) { fmt.Fprintf(&b, "%-10s %s\n", what, shown) }
	line("title", display.Quote(r.Title, most))
	if r.Description != "" {
		line("reason", display.Quote(r.Description, most))
	}
	c, ok := r.Command()
	subject := r.Subject.unshown()
	switch {
	case !ok && subject != nil: // below
	case !ok:
		line("kind", display.Quote(r.Kind, most))
	case c.Line != "":
		line("line", display.Quote(c.Line, most))
	default:
		var words []string
		for _, word := range c.Args {
			words = append(words, display.Quote(word, 0))
		}
		line("command", display.Visible(strings.Join(words, " "), most))
	}
	switch {
	case ok && c.Dir != "":
		line("directory", display.Quote(c.Dir, most))
	case ok:
		line("directory", "the session's")
	}
	input, _ := readMembers(r.RawInput)
	for _, known := range []string{"command", "args", "cwd"} {
		delete(input, known)
	}
	if len(r.RawInput) > 0 && (!ok || len(input) > 0) {
		line("input", display.Visible(string(r.RawInput), most))
	}
	if subject != nil {
		line("subject", display.Visible(string(subject), most))
	}
	return b.String()
}

// object reads the members of a JSON object. It keeps the first error.
type object struct {
	path    string
	members map[string]json.RawMessage
	err     *error
}

func newObject(path string, data []byte, err *error) object {
	members, ok := readMembers(data)
	o := object{path, members, err}
	if !ok {
		o.fail("", "must be an object with each name once")
	}
	return o
}

// text returns a string. It fails if the value has another type, or if a required value is absent.
func (o object) text(name string, required bool) string {
	value := o.members[name]
	text, ok := readString(value)
	if !ok && (required || !isNull(value)) {
		o.fail(name, "must be a string")
	}
	return text
}

// optional returns a string, or "" for a value of another type, as the schema of v2 asks for some members
// (x-deserialize-default-on-error).
func (o object) optional(name string) string {
	text, _ := readString(o.members[name])
	return text
}

func (o object) fail(name, reason string) {
	if *o.err == nil {
		field := strings.TrimPrefix(strings.TrimSuffix(o.path+"."+name, "."), "params.")
		*o.err = &acpterm.Error{
			Op: "session/request_permission", Kind: acpterm.ErrInvalidParams, Field: field, Reason: reason,
		}
	}
}

// readMembers returns the members of an object. ok is false if data is not an object, or has a name twice: another
// reader could take the other value. Unlike in encoding/json, names are compared exactly.
func readMembers(data []byte) (members map[string]json.RawMessage, ok bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	if begin, _ := d.Token(); begin != json.Delim('{') || !json.Valid(data) {
		return nil, false
	}
	members = make(map[string]json.RawMessage)
	for d.More() {
		var value json.RawMessage
		token, _ := d.Token()
		name, isName := token.(string)
		_, twice := members[name]
		if err := d.Decode(&value); err != nil || !isName || twice {
			return nil, false
		}
		members[name] = value
	}
	return members, true
}

// isNull reports whether a member is absent or null.
func isNull(value json.RawMessage) bool { return value == nil || string(value) == "null" }

func readString(value json.RawMessage) (text string, ok bool) {
	if isNull(value) {
		return "", false
	}
	return text, json.Unmarshal(value, &text) == nil
}

// readStrings returns an array of strings. It fails if the array contains null.
func readStrings(value json.RawMessage) (texts []string, ok bool) {
	var items []*string
	if isNull(value) || json.Unmarshal(value, &items) != nil || slices.Contains(items, nil) {
		return nil, false
	}
	for _, item := range items {
		texts = append(texts, *item)
	}
	return texts, true
}

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

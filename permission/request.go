package permission

// What an agent asks, read strictly, and how a person sees it.

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

// OptionKind is what an agent says that an option means (schema type PermissionOptionKind).
type OptionKind string

// The kinds. The package's comment says what they mean for later creates. Others may come, and then mean nothing there.
const (
	OptionKindAllowOnce    OptionKind = "allow_once"
	OptionKindAllowAlways  OptionKind = "allow_always"
	OptionKindRejectOnce   OptionKind = "reject_once"
	OptionKindRejectAlways OptionKind = "reject_always"
)

// Option is one of the answers that the agent offers (schema type PermissionOption). All of it is the agent's text.
type Option struct {
	ID   string // of those in a request each is another
	Name string
	Kind OptionKind
}

// Text says on one line what choosing the option does, and then its name in quotes: `allow once: "Yes"`. The name may
// have most bytes, as in display.Quote; 0 is no limit.
func (o Option) Text(most int) string {
	does := "answer the agent only"
	if _, ok := o.Kind.approval(); ok {
		does = strings.ReplaceAll(string(o.Kind), "_", " ")
	}
	return does + ": " + display.Quote(o.Name, most)
}

// approval is what choosing an option of this kind means for the command. It is not ok for a kind that is not known.
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

// Request is a session/request_permission (schema type RequestPermissionRequest). Title, Kind and RawInput are those of
// its tool call. An agent may leave out there what it has told by session/update, and Read then leaves them empty: a
// host that keeps tool calls fills them in before it calls a method.
type Request struct {
	SessionID  acpterm.SessionID
	ToolCallID string
	Title      string
	Kind       string          // schema type ToolKind
	RawInput   json.RawMessage // nil: none
	Options    []Option        // what can be answered, in the agent's order

	// Dir is the session's directory, an absolute path: what a command runs in that names none. Read leaves it empty,
	// and the host sets it. Empty: such a command has to be created without cwd.
	Dir string
}

// Command is what a tool call says that it will run: Line or Args.
type Command struct {
	// Line is a line for a shell. A plain word, of letters, digits and _ . / + - @ , : is in Args instead.
	Line string
	// Args are the program and its arguments.
	Args []string
	// Dir is the directory that it runs in: the tool call's, or else Request.Dir. It may be empty.
	Dir string
}

// newLine is the command of a text that can be a line or a program's name, as in terminal/create.
func newLine(line string) Command {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-@,:"
	if strings.Trim(line, plain) == "" { // to a shell too it is the name of a program
		return Command{Args: []string{line}}
	}
	return Command{Line: line}
}

// Read reads the params of a session/request_permission. Its error is an *acpterm.Error that names the field, of kind
// acpterm.ErrInvalidParams: what the schema requires is not there, a value has another type, an object has a name
// twice, or an option's id is empty or not its own. It does not look into rawInput.
func Read(params []byte) (Request, error) {
	var err error
	o := newObject("params", params, &err)
	r := Request{SessionID: acpterm.SessionID(o.text("sessionId", true))}
	call := newObject("toolCall", o.members["toolCall"], &err)
	r.ToolCallID = call.text("toolCallId", true)
	r.Title, r.Kind = call.text("title", false), call.text("kind", false)
	if input := call.members["rawInput"]; !isNull(input) {
		r.RawInput = input
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

// Command returns what the tool call will run. It is not ok unless Kind is "execute" and RawInput is an object with a
// command: a line, a program with its arguments in one array, or a program with an array "args". "cwd" may be there as
// well. Whatever else is in RawInput does not count; Text shows it.
func (r Request) Command() (c Command, ok bool) {
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

// Text describes, in lines, what the person is asked about: the title, and the command with its directory, each as
// display.Quote makes it; and the raw input as display.Visible makes it, where that has more, or there is no command. A
// tool call's content and locations are not in it. No value has more than about most bytes; 0 is no limit. whole says
// that nothing was left out: otherwise let the person see Text(0) too.
func (r Request) Text(most int) (text string, whole bool) {
	text = r.text(most)
	return text, text == r.text(0)
}

func (r Request) text(most int) string {
	var b strings.Builder
	line := func(what, shown string) { fmt.Fprintf(&b, "%-10s %s\n", what, shown) }
	line("title", display.Quote(r.Title, most))
	c, ok := r.Command()
	switch {
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
	return b.String()
}

// object reads the members of a JSON object. The first error of all is kept.
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

// text returns a string. It fails if the value has another type, or is absent and must not be.
func (o object) text(name string, required bool) string {
	value := o.members[name]
	text, ok := readString(value)
	if !ok && (required || !isNull(value)) {
		o.fail(name, "must be a string")
	}
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

// readMembers returns the members of an object. It is not ok if data is none, or has a name twice: another reader could
// take the other value. Names are compared exactly, as encoding/json does not.
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

// readStrings returns an array of strings, without null among them.
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

package updates

// The convention of agents on ACP v1, which uses _meta of tool_call and tool_call_update, and the terminals in tool
// calls. A terminal has the id of its tool call.

import "encoding/json"

// object is a JSON object. Its members are read one by one, so that an invalid member counts as absent and does not
// affect others. Names match exactly, unlike in a struct: encoding/json matches "Cancel" with "cancel".
type object map[string]json.RawMessage

func readObject(raw json.RawMessage) (o object) {
	json.Unmarshal(raw, &o)
	return o
}

// text returns a string member, or nil if it is absent or not a string.
func (o object) text(name string) *string { return patch[string](o[name]).Value }

// id returns a terminal id, or "" if it is absent or invalid.
func (o object) id(name string) (id string) {
	id, _ = terminalID(o[name])
	return id
}

// readToolCall reads the updates of terminals in a tool call. It ignores input (terminal_input), which is part of the
// output if the terminal echoes it.
func readToolCall(call object) (all []Update) {
	meta := readObject(call["_meta"])
	command := commandOf(call)
	info, exit := readObject(meta["terminal_info"]), readObject(meta["terminal_exit"])
	switch {
	case info.id("terminal_id") != "":
		all = append(all, Update{
			Terminal: info.id("terminal_id"), Info: true, Dir: patch[string](info["cwd"]), Command: command,
		})
	case call.id("toolCallId") != "" && command.Present:
		all = append(all, Update{Terminal: call.id("toolCallId"), Known: true, Command: command})
	}
	for _, key := range []string{"terminal_output_delta", "terminal_output"} {
		output := readObject(meta[key])
		id, data := output.id("terminal_id"), output.text("data")
		switch {
		case id == "" || data == nil:
		case key == "terminal_output":
			all = append(all, Update{Terminal: id, Whole: []byte(*data), Last: exit.id("terminal_id") == id})
		default:
			all = append(all, Update{Terminal: id, Append: []byte(*data), Delta: true})
		}
	}
	switch status := call.text("status"); {
	case exit.id("terminal_id") != "":
		all = append(all, Update{Terminal: exit.id("terminal_id"), Exit: Set(Exit{
			Code: integer(exit["exit_code"]), Signal: exit.text("signal"),
		})})
	case status == nil || call.id("toolCallId") == "":
	case *status == "failed": // no terminal_exit follows
		all = append(all, Update{Terminal: call.id("toolCallId"), Known: true, Exit: Set(Exit{Code: outputCode(call)})})
	case *status == "completed":
		all = append(all, Update{
			Terminal: call.id("toolCallId"), Known: true, Final: true, Exit: Set(Exit{Code: outputCode(call)}),
		})
	}
	for i := range all {
		all[i].V1 = true
	}
	return all
}

// outputCode returns the exit code in the raw output of a tool call, or nil.
func outputCode(call object) *int64 {
	return integer(readObject(call["rawOutput"])["exit_code"])
}

// commandOf returns the command in the input of a tool call, or else its title.
func commandOf(call object) Patch[string] {
	input := readObject(call["rawInput"])
	for _, command := range []*string{input.text("command"), call.text("title")} {
		if command != nil && *command != "" {
			return Set(*command)
		}
	}
	return Patch[string]{}
}

// ToolCallTerminals returns the ids of the terminals in the content of a tool call: the client's terminals and, in ACP
// v2 and by the convention of v1, the agent's. The content is an array or a single item, as in v2's
// tool_call_content_chunk. For other content it returns nil.
func ToolCallTerminals(content []byte) (ids []string) {
	var items []json.RawMessage
	if json.Unmarshal(content, &items) != nil {
		items = []json.RawMessage{content}
	}
	for _, raw := range items {
		item := readObject(raw)
		if kind := item.text("type"); kind != nil && *kind == "terminal" && item.id("terminalId") != "" {
			ids = append(ids, item.id("terminalId"))
		}
	}
	return ids
}

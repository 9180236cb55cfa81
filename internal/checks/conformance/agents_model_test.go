//go:build linux

package conformance

// The language model of TestAgents and TestAdapters: an HTTP server that answers with the calls of a script, and then
// with a text. Its calls can refer to the command of an earlier call, and it keeps the results for the test. It serves
// only these parts of the APIs:
//
//	POST /v1/messages                                    of Anthropic
//	POST /v1/responses                                   of OpenAI
//	POST /v1beta/models/<model>:streamGenerateContent    of Google
//
// Other requests get 404. The server is also the agents' proxy, so requests to other hosts get 404 too, and appear in
// the test's log.

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// theID in the input of a move stands for the id of the latest command.
const theID = "<id>"

var commandID = regexp.MustCompile(`"id":"(\w+)"|\b([0-9A-Z]{4,8}) (?:running|ended|exit code)\b`)

// commandIDs returns the ids of commands in results, as text or as JSON.
func commandIDs(text string) (ids []string) {
	for _, found := range commandID.FindAllStringSubmatch(text, -1) {
		ids = append(ids, found[1]+found[2])
	}
	return ids
}

// move is a call of a tool.
type move struct {
	tool  string
	input object
	want  string // a regular expression for the result that the model gets
}

// player is a model that makes moves, one after another, and then answers with a text. Claude Code gives its model
// these tools only after a search, so the model searches for them first.
type player struct {
	agent  agentProgram
	moves  []move
	before func(n int) // is called before each move, unless it is nil
	actor  *actor      // makes the calls instead of the moves, unless it is nil

	mu      sync.Mutex
	asked   int
	shell   bool     // the agent's own shell was offered
	results []string // of the moves
	refused []string // the requests that got 404
}

func (p *player) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	google := strings.HasSuffix(r.URL.Path, ":streamGenerateContent")
	events := answers[r.URL.Path]
	if err != nil || r.Method != http.MethodPost || r.URL.IsAbs() || events == nil && !google {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.refused = append(p.refused, fmt.Sprint(r.Method, " ", r.Host, r.URL.Path))
		http.NotFound(w, r)
		return
	}
	n, tool, input := p.next(readDialogue(body))
	w.Header().Set("Content-Type", "text/event-stream")
	if google {
		fmt.Fprintf(w, "data: %s\n\n", must(json.Marshal(candidate(tool, input))))
		return
	}
	namespace := p.agent.namespace
	if p.actor != nil {
		namespace = p.actor.way.namespace
	}
	for _, event := range events(n, tool, input) {
		if item, ok := event["item"].(object); ok && input != nil && namespace != "" {
			item["namespace"] = namespace
		}
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event["type"], must(json.Marshal(event)))
	}
}

// next returns the next call, with a number of its own. input is nil if there is none.
func (p *player) next(d dialogue) (id int, tool string, input object) {
	p.mu.Lock()
	p.asked++
	id = p.asked
	searched := 0 // or 1
	if slices.Contains(d.called, "ToolSearch") {
		searched = 1
	}
	if p.actor != nil {
		p.mu.Unlock()
		tool, input = p.act(d)
		return id, tool, input
	}
	switch {
	case searched > 0 || p.agent.offered(d.tools, p.moves[0].tool):
	case slices.Contains(d.tools, "ToolSearch"):
		p.mu.Unlock()
		return id, "ToolSearch", object{"query": "select:" + strings.Join(p.agent.named(), ","), "max_results": 9}
	default: // another task, such as a title for the session
		p.mu.Unlock()
		return id, "", nil
	}
	p.shell = p.shell || slices.Contains(d.tools, p.agent.shell)
	p.results = d.results[searched:]
	n := len(p.results)
	ids := commandIDs(strings.Join(p.results, "\n"))
	p.mu.Unlock()

	if p.before != nil {
		p.before(n)
	}
	if n >= len(p.moves) {
		return id, "", nil
	}
	input = maps.Clone(p.moves[n].input)
	if input["id"] == theID && len(ids) > 0 {
		input["id"] = ids[len(ids)-1]
	}
	return id, p.agent.prefix + p.moves[n].tool, input
}

// act returns the next call of a task. Requests about another task, such as a title for the session, lack its tools.
func (p *player) act(d dialogue) (tool string, input object) {
	if !slices.ContainsFunc(d.tools, p.actor.way.belongs) {
		return "", nil
	}
	call, ok := p.actor.next(d)
	if !ok {
		return "", nil
	}
	return call.tool, call.input
}

// named returns the agent's names for the tools of acpterm-mcp.
func (a agentProgram) named() (names []string) {
	for _, tool := range []string{"run", "write", "wait", "output", "kill", "release", "list"} {
		names = append(names, a.prefix+tool)
	}
	return names
}

func (a agentProgram) offered(tools []string, tool string) bool {
	if a.namespace != "" {
		return slices.Contains(tools, a.namespace)
	}
	return slices.Contains(tools, a.prefix+tool)
}

// dialogue is what a request of any of the APIs contains.
type dialogue struct {
	tools   []string       // the names of the offered tools, or of their namespaces
	defined map[string]int // the bytes of their definitions, by name
	called  []string       // the names of the called tools
	results []string       // the texts of their results
}

func readDialogue(body []byte) (d dialogue) {
	type named struct{ Name string }
	var request struct {
		Tools    []json.RawMessage
		Messages []struct{ Content json.RawMessage } // of Anthropic
		Input    []struct {                          // of OpenAI
			Type, Name string
			Output     json.RawMessage
		}
		Contents []struct { // of Google
			Parts []struct {
				FunctionCall     *named
				FunctionResponse *struct{ Response json.RawMessage }
			}
		}
	}
	json.Unmarshal(body, &request) // the fields that fit, because the APIs differ
	for _, tool := range request.Tools {
		d.addTool(tool)
	}
	for _, item := range request.Input {
		switch item.Type {
		case "function_call":
			d.called = append(d.called, item.Name)
		case "function_call_output":
			d.results = append(d.results, texts(item.Output))
		}
	}
	for _, message := range request.Messages {
		d.addBlocks(message.Content)
	}
	for _, content := range request.Contents {
		for _, part := range content.Parts {
			if part.FunctionCall != nil {
				d.called = append(d.called, part.FunctionCall.Name)
			}
			if part.FunctionResponse != nil {
				d.results = append(d.results, texts(part.FunctionResponse.Response))
			}
		}
	}
	return d
}

// addTool adds a tool, or those of Google's API within it.
func (d *dialogue) addTool(definition json.RawMessage) {
	var tool struct {
		Name                 string
		FunctionDeclarations []json.RawMessage
	}
	json.Unmarshal(definition, &tool)
	for _, function := range tool.FunctionDeclarations {
		d.addTool(function)
	}
	if d.defined == nil {
		d.defined = make(map[string]int)
	}
	d.tools = append(d.tools, tool.Name)
	d.defined[tool.Name] = len(definition)
}

// addBlocks adds the contents of a message of Anthropic's API.
func (d *dialogue) addBlocks(content json.RawMessage) {
	var blocks []struct {
		Type, Name string
		Content    json.RawMessage
	}
	json.Unmarshal(content, &blocks) // a string has no blocks
	for _, block := range blocks {
		switch block.Type {
		case "tool_use":
			d.called = append(d.called, block.Name)
		case "tool_result":
			d.results = append(d.results, texts(block.Content))
		}
	}
}

// texts returns all strings in a JSON value, as lines.
func texts(value json.RawMessage) string {
	var list []json.RawMessage
	var members map[string]json.RawMessage
	var text string
	switch {
	case json.Unmarshal(value, &text) == nil:
	case json.Unmarshal(value, &list) == nil:
		for _, item := range list {
			text += texts(item) + "\n"
		}
	case json.Unmarshal(value, &members) == nil:
		delete(members, "type")
		for _, name := range slices.Sorted(maps.Keys(members)) {
			text += texts(members[name]) + "\n"
		}
	}
	return text
}

// candidate is the only event of a streamed answer of Google's API.
func candidate(tool string, input object) object {
	part := object{"text": "done"}
	if input != nil {
		part = object{"functionCall": object{"name": tool, "args": input}}
	}
	content := object{"role": "model", "parts": []object{part}}
	return object{
		"candidates":    []object{{"content": content, "finishReason": "STOP"}},
		"usageMetadata": object{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
	}
}

// answers holds the functions that return the events of an answer, by the path of the request.
var answers = map[string]func(n int, tool string, input object) []object{
	"/v1/messages":  messageEvents,
	"/v1/responses": responseEvents,
}

// messageEvents returns the events of a streamed message of Anthropic's API.
func messageEvents(n int, tool string, input object) []object {
	block, stop := object{"type": "text", "text": ""}, "end_turn"
	delta := object{"type": "text_delta", "text": "done"}
	if input != nil {
		stop = "tool_use"
		block = object{"type": "tool_use", "id": fmt.Sprint("toolu_", n), "name": tool, "input": object{}}
		delta = object{"type": "input_json_delta", "partial_json": string(must(json.Marshal(input)))}
	}
	usage := object{"input_tokens": 1, "output_tokens": 1}
	return []object{
		{"type": "message_start", "message": object{
			"id": fmt.Sprint("msg_", n), "type": "message", "role": "assistant", "model": "scripted",
			"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage,
		}},
		{"type": "content_block_start", "index": 0, "content_block": block},
		{"type": "content_block_delta", "index": 0, "delta": delta},
		{"type": "content_block_stop", "index": 0},
		{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": usage},
		{"type": "message_stop"},
	}
}

// responseEvents returns the events of a streamed response of OpenAI's API.
func responseEvents(n int, tool string, input object) []object {
	item := object{"type": "message", "id": fmt.Sprint("msg_", n), "role": "assistant", "content": []object{
		{"type": "output_text", "text": "done"},
	}}
	if input != nil {
		item = object{
			"type": "function_call", "id": fmt.Sprint("fc_", n), "call_id": fmt.Sprint("call_", n), "name": tool,
			"arguments": string(must(json.Marshal(input))),
		}
	}
	id := fmt.Sprint("resp_", n)
	usage := object{
		"input_tokens": 1, "input_tokens_details": nil, "output_tokens": 1, "output_tokens_details": nil,
		"total_tokens": 2,
	}
	return []object{
		{"type": "response.created", "response": object{"id": id}},
		{"type": "response.output_item.added", "output_index": 0, "item": item},
		{"type": "response.output_item.done", "output_index": 0, "item": item},
		{"type": "response.completed", "response": object{"id": id, "usage": usage}},
	}
}

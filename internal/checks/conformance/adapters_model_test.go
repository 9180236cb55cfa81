//go:build unix

package conformance

// The language model of TestAdapters: an HTTP server that answers with the tool calls of a script, one after another,
// and then with a text. It serves only these parts of the two APIs:
//
//	POST /v1/messages    of Anthropic: the events of a streamed message with one block, tool_use or text
//	POST /v1/responses   of OpenAI: the events of a streamed response with one item, function_call or message
//
// Other requests get 404. The server is also the adapter's proxy, so that requests to other hosts get 404 too, and
// appear in the test's log.

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
)

// object is a JSON object.
type object = map[string]any

// scriptedModel calls the tool with each of the inputs. It is stateless: a request contains the results of the earlier
// calls. A request without the tool is for something else, such as a title of the session, and gets the text.
type scriptedModel struct {
	t      testing.TB
	tool   string
	inputs []object
}

// modelRequest holds the used parts of a request, for either API.
type modelRequest struct {
	Tools    []struct{ Name string }
	Messages []struct{ Content json.RawMessage } // of /v1/messages
	Input    []struct{ Type string }             // of /v1/responses
}

// answers holds the functions that return the events of an answer, by the path of the request.
var answers = map[string]func(n int, tool string, input object) []object{
	"/v1/messages":  messageEvents,
	"/v1/responses": responseEvents,
}

func (m scriptedModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	events := answers[r.URL.Path]
	if r.Method != http.MethodPost || events == nil {
		m.t.Logf("the model refuses %s %s%s", r.Method, r.Host, r.URL.Path)
		http.NotFound(w, r)
		return
	}
	var request modelRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		m.t.Error("the model cannot read a request: ", err)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range events(m.next(request)) {
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event["type"], must(json.Marshal(event)))
	}
}

// next returns the next tool call. input is nil if none are left.
func (m scriptedModel) next(request modelRequest) (n int, tool string, input object) {
	for _, item := range request.Input {
		if item.Type == "function_call_output" {
			n++
		}
	}
	for _, message := range request.Messages {
		var blocks []struct{ Type string }
		json.Unmarshal(message.Content, &blocks) // a string has no blocks
		for _, block := range blocks {
			if block.Type == "tool_result" {
				n++
			}
		}
	}
	for _, offered := range request.Tools {
		if offered.Name == m.tool && n < len(m.inputs) {
			input = m.inputs[n]
		}
	}
	return n, m.tool, input
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

package mcptest

// The check of recorded messages: against the published schema of the negotiated version of MCP, and arguments and
// structured results against the schemas of their tools.

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

type object = map[string]any

// schema is a published schema.
type schema struct {
	compiler *jsonschema.Compiler
	url      string
	defs     object
	methods  map[string]string // the definitions by direction and method, such as "ClientRequest tools/call"
}

func loadSchema(t *testing.T, version string) *schema {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "schema", version+".json"))
	require.NoError(t, err, "the schema of version %q", version)
	file := parse(t, data)
	s := &schema{compiler: newCompiler(), url: "mem:///" + version + ".json", methods: make(map[string]string)}
	require.NoError(t, s.compiler.AddResource(s.url, file))
	s.defs = file.(object)["$defs"].(object)
	for _, union := range []string{"ClientRequest", "ClientNotification", "ServerRequest", "ServerNotification"} {
		defs := []string{union} // a union of one message is the definition of that
		if def, ok := s.defs[union].(object); !ok {
			continue // from 2026-07-28 on, servers send no requests
		} else if options, ok := def["anyOf"].([]any); ok {
			defs = nil
			for _, option := range options {
				defs = append(defs, strings.TrimPrefix(option.(object)["$ref"].(string), "#/$defs/"))
			}
		}
		for _, def := range defs {
			method := s.defs[def].(object)["properties"].(object)["method"].(object)["const"].(string)
			s.methods[union+" "+method] = def
		}
	}
	return s
}

func newCompiler() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	return c
}

// validate checks a value against a definition.
func (s *schema) validate(t *testing.T, def string, value any, text string) {
	t.Helper()
	compiled, err := s.compiler.Compile(s.url + "#/$defs/" + def)
	require.NoError(t, err, def)
	require.NoError(t, compiled.Validate(value), "%s: %s", def, text)
}

// result returns the definition of the result of a method.
func (s *schema) result(t *testing.T, direction, method string) string {
	t.Helper()
	def := strings.TrimSuffix(s.methods[direction+" "+method], "Request") + "Result"
	if method == "ping" {
		def = "EmptyResult"
	}
	require.Contains(t, s.defs, def)
	return def
}

// parse parses JSON, and keeps numbers as they are written.
func parse(t *testing.T, text []byte) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err, "%s", text)
	return value
}

// wire is the state of a connection whose messages are checked.
type wire struct {
	*testing.T
	schemas   func(method string) *schema
	tools     map[string]object // as listed
	pending   map[string]object // requests without a response, by side and ID
	cancelled map[string]bool   // the keys of pending that the other side need not answer
	seen      map[string]int
}

// The versions of MCP that the clients speak. From modern on, there is no initialize, and server/discover exists. Newer
// clients call that first, whatever the server speaks.
const (
	legacy, modern = "2025-11-25", "2026-07-28"
	discover       = "server/discover"
)

// checkAll checks all messages of a server. It returns how often each method was seen, and in addition each result of a
// tool, such as "ok run" and "isError run".
func checkAll(t *testing.T, s server) map[string]int {
	t.Helper()
	seen := make(map[string]int)
	for _, messages := range s.recordings(t) {
		for name, n := range check(t, messages) {
			seen[name] += n
		}
	}
	return seen
}

func check(t *testing.T, messages []message) map[string]int {
	t.Helper()
	w := &wire{
		T: t, tools: make(map[string]object), pending: make(map[string]object), cancelled: make(map[string]bool),
		seen: make(map[string]int),
	}
	newest := loadSchema(t, modern)
	spoken := newest
	if slices.ContainsFunc(messages, func(m message) bool { return strings.Contains(m.Text, `"method":"initialize"`) }) {
		spoken = loadSchema(t, legacy)
	}
	w.schemas = func(method string) *schema {
		if method == discover {
			return newest
		}
		return spoken
	}
	for _, m := range messages {
		w.check(m)
	}
	for key, request := range w.pending {
		require.True(t, w.cancelled[key], "there is no response to %v", request)
	}
	return w.seen
}

var sides = map[bool]string{true: "Client", false: "Server"}

func (w *wire) check(m message) {
	w.Helper()
	value, ok := parse(w.T, []byte(m.Text)).(object)
	require.True(w, ok, "%s", m.Text)
	method, isRequest := value["method"].(string)
	schema := w.schemas(method)
	schema.validate(w.T, "JSONRPCMessage", value, m.Text)
	id, hasID := value["id"]
	switch {
	case isRequest && hasID:
		direction := sides[m.FromClient] + "Request"
		require.Contains(w, schema.methods, direction+" "+method)
		schema.validate(w.T, schema.methods[direction+" "+method], value, m.Text)
		w.seen[method]++
		key := fmt.Sprint(sides[m.FromClient], " ", id)
		require.NotContains(w, w.pending, key, "an ID is used twice")
		w.pending[key] = value
	case isRequest:
		direction := sides[m.FromClient] + "Notification"
		require.Contains(w, schema.methods, direction+" "+method)
		schema.validate(w.T, schema.methods[direction+" "+method], value, m.Text)
		w.seen[method]++
		if method == "notifications/cancelled" {
			w.cancelled[fmt.Sprint(sides[m.FromClient], " ", value["params"].(object)["requestId"])] = true
		}
	default:
		key := fmt.Sprint(sides[!m.FromClient], " ", id)
		require.Contains(w, w.pending, key, "a response to no request: %s", m.Text)
		request := w.pending[key]
		delete(w.pending, key)
		if result, ok := value["result"]; ok {
			w.response(sides[!m.FromClient]+"Request", request, result.(object), m.Text)
		} else {
			w.seen["error of "+request["method"].(string)]++
		}
	}
}

// response checks the result of a request.
func (w *wire) response(direction string, request, result object, text string) {
	w.Helper()
	method := request["method"].(string)
	schema := w.schemas(method)
	def := schema.result(w.T, direction, method)
	question := result["resultType"] == "input_required"
	if question {
		def = "InputRequiredResult"
	}
	schema.validate(w.T, def, result, text)
	switch {
	case question:
		w.seen["input_required"]++
	case method == "initialize":
		require.Equal(w, legacy, result["protocolVersion"])
	case method == "tools/list":
		for _, tool := range result["tools"].([]any) {
			w.tools[tool.(object)["name"].(string)] = tool.(object)
		}
	case method == "tools/call":
		w.call(request["params"].(object), result)
	}
}

// call checks the arguments and the structured result of a call. Only a call that fails may have wrong arguments.
func (w *wire) call(params, result object) {
	w.Helper()
	name := params["name"].(string)
	if result["isError"] == true {
		w.seen["isError "+name]++
		require.NotContains(w, result, "structuredContent")
		return
	}
	require.Contains(w, w.tools, name, "the client listed no tools before the call")
	arguments, ok := params["arguments"]
	if !ok {
		arguments = object{}
	}
	w.validateTool(name, "inputSchema", arguments)
	w.validateTool(name, "outputSchema", result["structuredContent"])
	w.seen["ok "+name]++
}

func (w *wire) validateTool(tool, which string, value any) {
	w.Helper()
	compiler := newCompiler()
	require.NoError(w, compiler.AddResource("mem:///tool.json", w.tools[tool][which]))
	compiled, err := compiler.Compile("mem:///tool.json")
	require.NoError(w, err, "%s of %s", which, tool)
	require.NoError(w, compiled.Validate(value), "%s of %s: %v", which, tool, value)
}

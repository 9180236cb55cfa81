package conformance

// CreateTerminalRequest refuses every create request that the schema refuses, and names the wrong field. It accepts
// every request that the schema allows.

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// refused lists documents that no rule for lenient reading saves, with the wrong field. A wrong value of a property is a
// part of TestEveryValueInEveryPlace.
var refused = []struct{ document, field string }{
	{`null`, "params"},
	{`[]`, "params"},
	{`"ls"`, "params"},
	{`7`, "params"},
	{`{}`, "sessionId"},
	{`{"command":"ls"}`, "sessionId"},
	{`{"sessionId":"s"}`, "command"},
	{`{"sessionId":"s","Command":"ls"}`, "command"},
	{`{"sessionId":"s","command":null,"COMMAND":"ls"}`, "command"},
	{`{"sessionId":"s","command":"ls","args":["a",5]}`, "args[1]"},
	{`{"sessionId":"s","command":"ls","env":[{"name":"A","value":"1"},7]}`, "env[1]"},
	{`{"sessionId":"s","command":"ls","env":[{"name":"A","value":"1"},{"name":5,"value":"1"}]}`, "env[1].name"},
	{`{"sessionId":"s","command":"ls","env":[{"name":"A","value":"1","Name":"B"},{"name":"B","Value":""}]}`, "env[1].value"},
	{`{"sessionId":"s","command":"ls","env":[{"name":"A","value":"1"}],"env":[{"name":"B"}]}`, "env[0].value"},
	{`{"sessionId":"s","command":"ls","args":["a",null]}`, "args[1]"},
	{`{"sessionId":"s","command":"ls","env":[null]}`, "env[0]"},
	{`{"sessionId":"s","command":"ls","env":[{"name":"A","value":"1"},{"value":"1"}]}`, "env[1].name"},
	{`{"sessionId":"s","command":"ls","env":[{"name":"A","value":"1"},{"name":"B"}]}`, "env[1].value"},
	{`{"sessionId":"s","command":"ls","env":[{"name":null,"value":"1"}]}`, "env[0].name"},
	{`{"sessionId":"s","command":"ls","env":[{"name":"A","value":null}]}`, "env[0].value"},
}

func TestRefused(t *testing.T) {
	s := loadSchema(t)
	for _, c := range refused {
		t.Run(c.document, func(t *testing.T) {
			require.Error(t, s.validate(t, "CreateTerminalRequest", []byte(c.document)), "the schema must refuse it")
			requireRefused(t, []byte(c.document), c.field)
		})
	}
}

// requireRefused checks that a document is refused, whichever way it is read.
func requireRefused(t *testing.T, document []byte, field string) {
	t.Helper()
	var r acpterm.CreateTerminalRequest
	for _, err := range []error{r.UnmarshalJSON(document), json.Unmarshal(document, &r)} {
		require.ErrorIs(t, err, acpterm.ErrInvalidParams, "%s", document)
		var e *acpterm.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, field, e.Field, "%s", document)
		require.NotEmpty(t, e.Reason)
	}
}

// TestNoJSON is separate because json.Unmarshal checks the syntax before UnmarshalJSON sees the text.
func TestNoJSON(t *testing.T) {
	for _, document := range []string{``, ` `, `{`, `{"sessionId":"s","command":"ls"`, `{"sessionId":"s","command":"ls"}}`} {
		var r acpterm.CreateTerminalRequest
		err := r.UnmarshalJSON([]byte(document))
		require.ErrorIs(t, err, acpterm.ErrInvalidParams, document)
		var e *acpterm.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, "params", e.Field)
	}
}

// TestEveryValueInEveryPlace puts values of every JSON type into every place of a create request. The schema decides
// whether the request must be accepted or refused.
func TestEveryValueInEveryPlace(t *testing.T) {
	s := loadSchema(t)
	request, variable := s.defs["CreateTerminalRequest"], s.defs["EnvVariable"]

	// A place is a document with a hole, the property that has the hole's value, and the name of the field in the
	// error: the element where the schema defines it, or at least the property.
	type place struct {
		document, field string
		node            schemaNode
	}
	places := []place{
		{document: `{"sessionId":"s","command":"ls","args":["a",%s]}`, field: "args", node: *request.Properties["args"].Items},
		{document: `{"sessionId":"s","command":"ls","env":[%s]}`, field: "env", node: variable},
	}
	for name, node := range request.Properties {
		// The last of two keys counts, so that required ones can be present already.
		places = append(places, place{`{"sessionId":"s","command":"ls","` + name + `":%s}`, name, node})
	}
	for name, node := range variable.Properties {
		places = append(places, place{
			`{"sessionId":"s","command":"ls","env":[{"name":"A","value":"1","` + name + `":%s}]}`, "env", node,
		})
	}

	values := []string{
		`null`, `true`, `false`, `0`, `5`, `-1`, `1.5`, `4294967296`, `18446744073709551615`, `18446744073709551616`,
		`"x"`, `"/"`, `[]`, `[null]`, `[5]`, `["x"]`, `[[]]`, `[{}]`, `{}`, `{"x":1}`,
		`[{"name":"A","value":"1"}]`, `{"name":"A","value":"1"}`,
	}
	taken, turnedDown := 0, 0
	for _, p := range places {
		for _, value := range values {
			document := fmt.Appendf(nil, p.document, value)
			lenient := p.node.DefaultOnError || p.node.DefaultOnNull && value == "null"
			if lenient || s.validate(t, "CreateTerminalRequest", document) == nil {
				taken++
				var r acpterm.CreateTerminalRequest
				require.NoError(t, json.Unmarshal(document, &r), "%s", document)
				continue
			}
			turnedDown++
			var r acpterm.CreateTerminalRequest
			err := r.UnmarshalJSON(document)
			require.ErrorIs(t, err, acpterm.ErrInvalidParams, "%s", document)
			var e *acpterm.Error
			require.ErrorAs(t, err, &e)
			require.True(t, strings.HasPrefix(e.Field, p.field), "%s: the field is %q", document, e.Field)
		}
	}
	require.Positive(t, taken)
	require.Positive(t, turnedDown)
}

// TestLenientReading checks the reading rules x-deserialize-default-on-null and -on-error: such a value counts as
// absent.
func TestLenientReading(t *testing.T) {
	s := loadSchema(t)
	request := s.defs["CreateTerminalRequest"]
	require.True(t, request.Properties["args"].DefaultOnNull)
	require.True(t, request.Properties["env"].DefaultOnNull)
	require.True(t, request.Properties["_meta"].DefaultOnError)

	want := acpterm.CreateTerminalRequest{SessionID: "s", Command: "ls"}
	for _, document := range []string{
		`{"sessionId":"s","command":"ls","args":null,"env":null}`,
		`{"sessionId":"s","command":"ls","_meta":5}`,
		`{"sessionId":"s","command":"ls","_meta":["x"]}`,
		`{"sessionId":"s","command":"ls","_meta":"x"}`,
	} {
		var got acpterm.CreateTerminalRequest
		require.NoError(t, json.Unmarshal([]byte(document), &got), document)
		require.Equal(t, want, got, document)
	}
}

// TestErrorsKeepSecrets checks that an error about a variable does not contain its value.
func TestErrorsKeepSecrets(t *testing.T) {
	for _, document := range []string{
		`{"sessionId":"s","command":"ls","env":[{"name":"TOKEN","value":["hunter2"]}]}`,
		`{"sessionId":"s","command":"ls","env":["TOKEN=hunter2"]}`,
		`{"sessionId":"s","command":"ls","env":"TOKEN=hunter2"}`,
		`{"sessionId":"s","command":"ls","env":[{"name":"TOKEN","value":20021001}]}`,
	} {
		var r acpterm.CreateTerminalRequest
		err := r.UnmarshalJSON([]byte(document))
		require.ErrorIs(t, err, acpterm.ErrInvalidParams)
		require.NotContains(t, err.Error(), "hunter2")
		require.NotContains(t, err.Error(), "20021001")
	}
}

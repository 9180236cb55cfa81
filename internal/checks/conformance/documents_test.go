package conformance

// Documents in both directions: the schema allows the output of the Go types, and documents allowed by the schema pass
// through the Go types unharmed.

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/stretchr/testify/require"
)

var meta = acpterm.Meta{
	"example.com/trace": json.RawMessage(`{"id":"a1","parents":[1,2.50,1e400,null],"on":true}`),
	"big":               json.RawMessage(`12345678901234567890123456789`),
	"nothing":           json.RawMessage(`null`),
}

// filled holds a value of every wire type, with every field set to a non-zero value.
var filled = map[string]any{
	"CreateTerminalRequest": acpterm.CreateTerminalRequest{
		SessionID:       "s1",
		Command:         "go",
		Args:            []string{"test", "", "é ✓ 😀"},
		Env:             []acpterm.EnvVariable{{Name: "A", Value: "1", Meta: meta}, {Name: "B"}},
		Cwd:             "/tmp",
		OutputByteLimit: new(uint64(math.MaxUint64)),
		Meta:            meta,
	},
	"CreateTerminalResponse": acpterm.CreateTerminalResponse{TerminalID: "term_1", Meta: meta},
	"TerminalOutputRequest":  acpterm.TerminalRequest{SessionID: "s1", TerminalID: "term_1", Meta: meta},
	"TerminalOutputResponse": acpterm.TerminalOutputResponse{
		Output:     "<é ✓ 😀>\u2028\x00\r\n",
		Truncated:  true,
		ExitStatus: &acpterm.TerminalExitStatus{ExitCode: new(uint32(math.MaxUint32)), Meta: meta},
		Meta:       meta,
	},
	"WaitForTerminalExitRequest": acpterm.TerminalRequest{SessionID: "s1", TerminalID: "term_1", Meta: meta},
	"WaitForTerminalExitResponse": acpterm.TerminalExitStatus{
		ExitCode: new(uint32(3)), Signal: new("SIGTERM"), Meta: meta,
	},
	"KillTerminalRequest":    acpterm.TerminalRequest{SessionID: "s1", TerminalID: "term_1", Meta: meta},
	"ReleaseTerminalRequest": acpterm.TerminalRequest{SessionID: "s1", TerminalID: "term_1", Meta: meta},
	"TerminalExitStatus": acpterm.TerminalExitStatus{
		ExitCode: new(uint32(math.MaxUint32)), Signal: new("SIGKILL"), Meta: meta,
	},
	"EnvVariable":               acpterm.EnvVariable{Name: "A", Value: "1", Meta: meta},
	"CancelRequestNotification": agent.CancelRequestNotification{RequestID: json.RawMessage(`"r1"`), Meta: meta},
	"ClientCapabilities":        acpterm.ClientCapabilities{Terminal: true, Auth: acpterm.AuthCapabilities{Terminal: true, Meta: meta}, Meta: meta},
	"AuthCapabilities":          acpterm.AuthCapabilities{Terminal: true, Meta: meta},
}

func TestFilledValuesValidate(t *testing.T) {
	s := loadTypes(t)
	require.ElementsMatch(t, keys(objectTypes), keys(filled))
	for name, value := range filled {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, objectTypes[name], reflect.TypeOf(value))
			data, err := json.Marshal(value)
			require.NoError(t, err)
			require.NoError(t, s.validate(t, name, data), "%s", data)
			require.ElementsMatch(t, keys(s.defs[name].Properties), keys(parse(t, data).(map[string]any)))
		})
	}
}

func TestZeroValuesValidate(t *testing.T) {
	s := loadTypes(t)
	for name, goType := range objectTypes {
		t.Run(name, func(t *testing.T) {
			data, err := json.Marshal(reflect.Zero(goType).Interface())
			require.NoError(t, err)
			require.NoError(t, s.validate(t, name, data), "%s", data)

			// Only required properties are sent.
			var want []string
			for property := range s.defs[name].Properties {
				if slices.Contains(s.defs[name].Required, property) || slices.Contains(alwaysThere, property) {
					want = append(want, property)
				}
			}
			require.ElementsMatch(t, want, keys(parse(t, data).(map[string]any)), "%s", data)
		})
	}
}

// anyMeta is a _meta whose values would suffer if they went through Go's any.
const anyMeta = `{"n":12345678901234567890123,"e":1e400,"f":2.50,"z":-0,"deep":{"list":[null,{"":[]},"<&>"]},"null":null}`

// documents are allowed by the schema, and each keeps its meaning after passing through its Go type.
var documents = map[string][]string{
	"CreateTerminalRequest": {
		`{"sessionId":"s","command":"ls"}`,
		`{"sessionId":"","command":""}`,
		`{"sessionId":"s","command":"ls","cwd":null,"outputByteLimit":null,"_meta":null}`,
		`{"sessionId":"s","command":"ls","outputByteLimit":18446744073709551615}`,
		`{"sessionId":"s","command":"ls","outputByteLimit":0}`,
		`{"sessionId":"s","command":"ls","args":["","-x","é\u2713\ud83d\ude00"],"cwd":"/tmp/with space"}`,
		`{"sessionId":"s","command":"ls","env":[{"name":"A","value":""},{"name":"A","value":"2","_meta":null}]}`,
		`{"sessionId":"s","command":"ls","env":[{"name":"A","value":"1","_meta":` + anyMeta + `}],"_meta":` + anyMeta + `}`,
	},
	"CreateTerminalResponse": {`{"terminalId":"t"}`, `{"terminalId":"t","_meta":` + anyMeta + `}`},
	"TerminalOutputRequest": {
		`{"sessionId":"s","terminalId":"t"}`,
		`{"sessionId":"s","terminalId":"t","_meta":null}`,
		`{"sessionId":"s","terminalId":"t","_meta":` + anyMeta + `}`,
	},
	"TerminalOutputResponse": {
		`{"output":"","truncated":false}`,
		`{"output":"","truncated":false,"exitStatus":null,"_meta":null}`,
		`{"output":"\u0000<b>\u2028\ufffd","truncated":true,"exitStatus":{}}`,
		`{"output":"x","truncated":true,"exitStatus":{"exitCode":0,"signal":null}}`,
		`{"output":"x","truncated":true,"exitStatus":{"exitCode":null,"signal":"SIGTERM","_meta":` + anyMeta + `}}`,
	},
	"WaitForTerminalExitRequest": {
		`{"sessionId":"s","terminalId":"t"}`,
		`{"sessionId":"s","terminalId":"t","_meta":` + anyMeta + `}`,
	},
	"WaitForTerminalExitResponse": {
		`{}`,
		`{"exitCode":4294967295}`,
		`{"signal":"SIGKILL"}`,
		`{"exitCode":null,"signal":null,"_meta":null}`,
		`{"exitCode":0,"signal":null,"_meta":` + anyMeta + `}`,
	},
	"KillTerminalRequest": {
		`{"sessionId":"s","terminalId":"t"}`,
		`{"sessionId":"s","terminalId":"t","_meta":` + anyMeta + `}`,
	},
	"ReleaseTerminalRequest": {
		`{"sessionId":"s","terminalId":"t"}`,
		`{"sessionId":"s","terminalId":"t","_meta":` + anyMeta + `}`,
	},
	"TerminalExitStatus": {
		`{}`,
		`{"exitCode":0,"signal":null}`,
		`{"exitCode":null,"signal":"SIGINT","_meta":` + anyMeta + `}`,
	},
	"EnvVariable": {
		`{"name":"A","value":""}`,
		`{"name":"A","value":"x=y\n","_meta":` + anyMeta + `}`,
	},
	"CancelRequestNotification": {
		`{"requestId":null}`,
		`{"requestId":9223372036854775807}`,
		`{"requestId":"0","_meta":null}`,
		`{"requestId":"","_meta":` + anyMeta + `}`,
	},
	"ClientCapabilities": {
		`{"terminal":false}`,
		`{"terminal":true,"_meta":null}`,
		`{"terminal":true,"_meta":` + anyMeta + `}`,
		`{"terminal":false,"auth":{"terminal":true,"_meta":` + anyMeta + `}}`,
	},
	"AuthCapabilities": {
		`{"terminal":false}`,
		`{"terminal":true,"_meta":null}`,
		`{"terminal":true,"_meta":` + anyMeta + `}`,
	},
}

func TestRoundTrip(t *testing.T) {
	s := loadTypes(t)
	require.ElementsMatch(t, keys(objectTypes), keys(documents))
	for name, list := range documents {
		t.Run(name, func(t *testing.T) {
			for _, document := range list {
				require.NoError(t, s.validate(t, name, []byte(document)), "%s", document)

				value := reflect.New(objectTypes[name])
				require.NoError(t, json.Unmarshal([]byte(document), value.Interface()), "%s", document)
				data, err := json.Marshal(value.Interface())
				require.NoError(t, err, "%s", document)
				require.NoError(t, s.validate(t, name, data), "%s", data)

				node := s.defs[name]
				want := s.withoutNulls(node, parse(t, []byte(document)))
				got := s.withoutNulls(node, parse(t, data))
				require.Equal(t, want, got, "%s", document)
			}
		})
	}
}

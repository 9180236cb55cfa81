package conformance

// Every definition of the schema has its Go type, and every method its constant. documents_test.go compares fields.

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
)

// objectTypes maps the definitions of objects to their Go types.
var objectTypes = map[string]reflect.Type{
	"CreateTerminalRequest":       reflect.TypeFor[acpterm.CreateTerminalRequest](),
	"CreateTerminalResponse":      reflect.TypeFor[acpterm.CreateTerminalResponse](),
	"TerminalOutputRequest":       reflect.TypeFor[acpterm.TerminalRequest](),
	"TerminalOutputResponse":      reflect.TypeFor[acpterm.TerminalOutputResponse](),
	"WaitForTerminalExitRequest":  reflect.TypeFor[acpterm.TerminalRequest](),
	"WaitForTerminalExitResponse": reflect.TypeFor[acpterm.TerminalExitStatus](),
	"KillTerminalRequest":         reflect.TypeFor[acpterm.TerminalRequest](),
	"ReleaseTerminalRequest":      reflect.TypeFor[acpterm.TerminalRequest](),
	"TerminalExitStatus":          reflect.TypeFor[acpterm.TerminalExitStatus](),
	"EnvVariable":                 reflect.TypeFor[acpterm.EnvVariable](),
	"CancelRequestNotification":   reflect.TypeFor[agent.CancelRequestNotification](),
	"ClientCapabilities":          reflect.TypeFor[acpterm.ClientCapabilities](),
	"AuthCapabilities":            reflect.TypeFor[acpterm.AuthCapabilities](),
}

// scalarTypes maps the other definitions to their Go types.
var scalarTypes = map[string]reflect.Type{
	"SessionId":  reflect.TypeFor[acpterm.SessionID](),
	"TerminalId": reflect.TypeFor[acpterm.TerminalID](),
	"RequestId":  reflect.TypeFor[json.RawMessage](), // a string, a number or null, unmodified
}

// withoutType lists the definitions without a Go type in the library. A Terminal is a part of a tool call, which agents
// send and clients show; no terminal/* method carries it. A kill and a release are answered with an empty object.
var withoutType = []string{"Terminal", "KillTerminalResponse", "ReleaseTerminalResponse"}

// alwaysThere lists the optional properties that are sent even when they are null or false: an agent sees that the code
// or the signal is null, and need not guess why it is absent.
var alwaysThere = []string{"exitCode", "signal", "terminal"}

// methods maps the definitions to the constant of the method in their x-method.
var methods = map[string]string{
	"CreateTerminalRequest":       acpterm.MethodCreate,
	"CreateTerminalResponse":      acpterm.MethodCreate,
	"TerminalOutputRequest":       acpterm.MethodOutput,
	"TerminalOutputResponse":      acpterm.MethodOutput,
	"WaitForTerminalExitRequest":  acpterm.MethodWaitForExit,
	"WaitForTerminalExitResponse": acpterm.MethodWaitForExit,
	"KillTerminalRequest":         acpterm.MethodKill,
	"KillTerminalResponse":        acpterm.MethodKill,
	"ReleaseTerminalRequest":      acpterm.MethodRelease,
	"ReleaseTerminalResponse":     acpterm.MethodRelease,
	"CancelRequestNotification":   "$/cancel_request",
}

// loadTypes loads the parts of v1's schema about terminals, together with the capability of signing in, which shares a
// Go type with the capability of terminals.
func loadTypes(t *testing.T) *schema {
	s, auth := loadSchema(t), loadSchemaFile(t, "auth.v1.json")
	s.defs["ClientCapabilities"].Properties["auth"] = auth.defs["ClientCapabilities"].Properties["auth"]
	s.defs["AuthCapabilities"] = auth.defs["AuthCapabilities"]
	s.compiled["AuthCapabilities"] = auth.compiled["AuthCapabilities"]
	return s
}

func TestEveryDefinitionHasAType(t *testing.T) {
	s := loadTypes(t)
	for name := range s.defs {
		places := 0
		for _, has := range []bool{objectTypes[name] != nil, scalarTypes[name] != nil, slices.Contains(withoutType, name)} {
			if has {
				places++
			}
		}
		require.Equal(t, 1, places, "%s must be in one of the tables", name)
	}
	require.Len(t, s.defs, len(objectTypes)+len(scalarTypes)+len(withoutType))
}

func TestMethodNames(t *testing.T) {
	s := loadSchema(t)
	for name, def := range s.defs {
		require.Equal(t, def.Method, methods[name], name)
	}
}

func TestScalars(t *testing.T) {
	s := loadSchema(t)
	for name, goType := range scalarTypes {
		if goType.Kind() == reflect.String {
			require.Equal(t, oneOrMore{"string"}, s.defs[name].Type, name)
		} else {
			require.Equal(t, "RequestId", name, "only this one may be any JSON")
			require.Equal(t, reflect.TypeFor[json.RawMessage](), goType)
		}
	}
}

func keys[V any](m map[string]V) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	return names
}

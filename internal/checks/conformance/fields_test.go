package conformance

// Field by field: every definition of the schema has its Go type, the type's fields are the definition's properties,
// and each field's Go type can hold every allowed value of the property.

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/stretchr/testify/require"
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

func TestFields(t *testing.T) {
	s := loadTypes(t)
	for name, goType := range objectTypes {
		t.Run(name, func(t *testing.T) {
			def := s.defs[name]
			require.Equal(t, oneOrMore{"object"}, def.Type)

			fields := fieldsByName(t, goType)
			require.ElementsMatch(t, keys(def.Properties), keys(fields))
			for property, node := range def.Properties {
				field := fields[property]
				require.NoError(t, s.fits(node, field.Type), property)

				_, options, _ := strings.Cut(field.Tag.Get("json"), ",")
				if slices.Contains(def.Required, property) || slices.Contains(alwaysThere, property) {
					require.Empty(t, options, "%s must be sent always", property)
					// If a property is always sent, its zero value cannot stand for null.
					nullable := slices.Contains(node.Type, "null")
					require.Equal(t, nullable, field.Type.Kind() == reflect.Pointer, property)
				} else {
					want := "omitempty"
					if field.Type.Kind() == reflect.Struct {
						want = "omitzero"
					}
					require.Equal(t, want, options, "%s must be left out when it is not set", property)
				}
			}
		})
	}
}

// fieldsByName returns a struct's fields by their names in JSON.
func fieldsByName(t *testing.T, goType reflect.Type) map[string]reflect.StructField {
	t.Helper()
	fields := map[string]reflect.StructField{}
	for field := range goType.Fields() {
		require.True(t, field.IsExported() && !field.Anonymous, "%s is no plain field", field.Name)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		require.NotContains(t, []string{"", "-"}, name, "%s has no name in JSON", field.Name)
		require.NotContains(t, fields, name, "two fields are called so in JSON")
		fields[name] = field
	}
	return fields
}

// fits fails unless a Go type is the one for a property, so that it holds exactly the values that the property allows.
func (s *schema) fits(node schemaNode, goType reflect.Type) error {
	want, err := s.goType(node)
	if err != nil {
		return err
	}
	if !slices.Contains(want, goType) {
		return fmt.Errorf("the schema asks for one of %v, the Go type is %v", want, goType)
	}
	return nil
}

// goType returns the Go types that a property may have.
func (s *schema) goType(node schemaNode) ([]reflect.Type, error) {
	if name := node.refName(); name != "" {
		if goType := scalarTypes[name]; goType != nil {
			return []reflect.Type{goType}, nil
		}
		return []reflect.Type{objectTypes[name]}, nil
	}
	if len(node.AnyOf) == 2 && slices.Equal(node.AnyOf[1].Type, oneOrMore{"null"}) {
		inner, err := s.goType(node.AnyOf[0])
		if err != nil {
			return nil, err
		}
		return []reflect.Type{reflect.PointerTo(inner[0])}, nil
	}

	nullable := slices.Contains(node.Type, "null")
	types := slices.DeleteFunc(slices.Clone(node.Type), func(name string) bool { return name == "null" })
	if len(types) != 1 {
		return nil, fmt.Errorf("no Go type for the types %v", node.Type)
	}
	switch kind := types[0] + " " + node.Format; {
	case kind == "string " && nullable:
		// Without the pointer, an empty string stands for null; TestFields sees that it is omitted.
		return []reflect.Type{reflect.TypeFor[*string](), reflect.TypeFor[string]()}, nil
	case kind == "string ":
		return []reflect.Type{reflect.TypeFor[string]()}, nil
	case kind == "boolean " && !nullable:
		return []reflect.Type{reflect.TypeFor[bool]()}, nil
	case kind == "integer uint64" && nullable:
		return []reflect.Type{reflect.TypeFor[*uint64]()}, nil
	case kind == "integer uint32" && nullable:
		return []reflect.Type{reflect.TypeFor[*uint32]()}, nil
	case kind == "array " && !nullable && node.Items != nil:
		inner, err := s.goType(*node.Items)
		if err != nil {
			return nil, err
		}
		return []reflect.Type{reflect.SliceOf(inner[0])}, nil
	case kind == "object " && nullable && node.AdditionalProperties != nil && node.AdditionalProperties.any:
		return []reflect.Type{reflect.TypeFor[acpterm.Meta]()}, nil
	}
	return nil, fmt.Errorf("no Go type for %v with format %q", node.Type, node.Format)
}

func keys[V any](m map[string]V) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	return names
}

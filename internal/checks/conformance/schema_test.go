package conformance

// The schema, read once and compiled once. It is available as a validator for documents, and as plain JSON for tests
// that compare it with Go types. Its parts in testdata match the installed SDK.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// definitions is the schema's $defs, as JSON.
type definitions map[string]schemaNode

// schemaNode is one schema within a file, with exactly the keywords that the published schemas use.
type schemaNode struct {
	Description          string                `json:"description"`
	Title                string                `json:"title"`
	Type                 oneOrMore             `json:"type"`
	Format               string                `json:"format"`
	Minimum              *int                  `json:"minimum"`
	Maximum              *int                  `json:"maximum"`
	Default              any                   `json:"default"`
	Const                any                   `json:"const"`
	ContentEncoding      string                `json:"contentEncoding"`
	Properties           map[string]schemaNode `json:"properties"`
	Required             []string              `json:"required"`
	Items                *schemaNode           `json:"items"`
	AdditionalProperties *additional           `json:"additionalProperties"`
	Ref                  string                `json:"$ref"`
	AllOf                []schemaNode          `json:"allOf"`
	AnyOf                []schemaNode          `json:"anyOf"`
	OneOf                []schemaNode          `json:"oneOf"`
	Not                  *schemaNode           `json:"not"`
	Discriminator        *struct {
		PropertyName string `json:"propertyName"`
	} `json:"discriminator"`
	// A reader replaces a mismatched value by the field's default, or by an array without the item.
	DefaultOnNull    bool   `json:"x-deserialize-default-on-null"`
	DefaultOnError   bool   `json:"x-deserialize-default-on-error"`
	SkipInvalidItems bool   `json:"x-deserialize-skip-invalid-items"`
	Method           string `json:"x-method"`
	Side             string `json:"x-side"`
}

// additional describes the properties that an object may have in addition to the named ones: any, none, or those of a
// schema.
type additional struct {
	any  bool
	only *schemaNode // see any if nil
}

func (a *additional) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &a.any) == nil {
		return nil
	}
	a.only = new(schemaNode)
	decoder := json.NewDecoder(bytes.NewReader(data)) // an unknown keyword would be a rule that no test checks
	decoder.DisallowUnknownFields()
	return decoder.Decode(a.only)
}

// oneOrMore is a keyword whose value is a string or an array of strings.
type oneOrMore []string

func (o *oneOrMore) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*o = oneOrMore{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(o))
}

// refName returns the name of the definition that a node refers to, or "".
func (n schemaNode) refName() string {
	if len(n.AllOf) == 1 {
		return n.AllOf[0].refName()
	}
	return strings.TrimPrefix(n.Ref, "#/$defs/")
}

// schema is the compiled file together with its definitions.
type schema struct {
	defs     definitions
	compiled map[string]*jsonschema.Schema
}

// loadSchema loads the parts of v1's schema about terminals.
func loadSchema(t *testing.T) *schema { return loadSchemaFile(t, "terminal.v1.json") }

func loadSchemaFile(t *testing.T, name string) *schema {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "schema", name))
	require.NoError(t, err)

	// A keyword unknown to schemaNode would be a rule that no test checks.
	var file struct {
		Schema  string      `json:"$schema"`
		Comment string      `json:"$comment"`
		Defs    definitions `json:"$defs"`
	}
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&file))
	require.NotEmpty(t, file.Defs)

	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	compiler.AssertContent() // contentEncoding: base64
	registerIntegerFormats(compiler)
	url := "mem:///" + name
	require.NoError(t, compiler.AddResource(url, parse(t, data)))
	s := &schema{defs: file.Defs, compiled: map[string]*jsonschema.Schema{}}
	for name := range s.defs {
		s.compiled[name], err = compiler.Compile(url + "#/$defs/" + name)
		require.NoError(t, err, name)
	}
	return s
}

// registerIntegerFormats makes the validator check numbers against the integer formats of the published schema. They
// are not standard JSON Schema formats, so that it would otherwise accept every number.
func registerIntegerFormats(c *jsonschema.Compiler) {
	for name, bounds := range map[string][2]string{
		"int32":  {"-2147483648", "2147483647"},
		"int64":  {"-9223372036854775808", "9223372036854775807"},
		"uint16": {"0", "65535"},
		"uint32": {"0", "4294967295"},
		"uint64": {"0", "18446744073709551615"},
	} {
		low, _ := new(big.Rat).SetString(bounds[0])
		high, _ := new(big.Rat).SetString(bounds[1])
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(v any) error {
			number, ok := v.(json.Number)
			if !ok {
				return nil // the keyword "type" covers other types
			}
			value, ok := new(big.Rat).SetString(number.String())
			if !ok || value.Cmp(low) < 0 || value.Cmp(high) > 0 {
				return fmt.Errorf("%s is no %s", number, name)
			}
			return nil
		}})
	}
}

// validate checks a JSON document against a definition.
func (s *schema) validate(t *testing.T, def string, document []byte) error {
	t.Helper()
	require.Contains(t, s.compiled, def)
	return s.compiled[def].Validate(parse(t, document))
}

// parse parses JSON and keeps numbers as they are written.
func parse(t *testing.T, document []byte) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(document)))
	require.NoError(t, err, "%s", document)
	return value
}

// withoutNulls returns a parsed document without its null optional properties, which mean the same as absent ones. It
// keeps the contents of _meta, because no one may make assumptions about them.
func (s *schema) withoutNulls(node schemaNode, value any) any {
	if name := node.refName(); name != "" {
		node = s.defs[name]
	}
	for _, option := range node.AnyOf {
		if option.refName() != "" {
			return s.withoutNulls(option, value)
		}
	}
	switch value := value.(type) {
	case map[string]any:
		if node.Properties == nil {
			return value
		}
		kept := map[string]any{}
		for name, v := range value {
			if v != nil || slices.Contains(node.Required, name) {
				kept[name] = s.withoutNulls(node.Properties[name], v)
			}
		}
		return kept
	case []any:
		if node.Items == nil {
			return value
		}
		kept := make([]any, len(value))
		for i, v := range value {
			kept[i] = s.withoutNulls(*node.Items, v)
		}
		return kept
	}
	return value
}

func TestSchemasAreThoseOfTheSDK(t *testing.T) {
	_, program := requireTypeScript(t, "v2agent.mjs")
	shipped := filepath.Join(filepath.Dir(program), "node_modules", "@agentclientprotocol", "sdk", "schema")
	for name, file := range map[string]string{
		"terminal.v1.json": "v1/schema.json", "toolcall.v1.json": "v1/schema.json", "auth.v1.json": "v1/schema.json",
		"session.v1.json":  "v1/schema.json",
		"terminal.v2.json": "v2/schema.json", "auth.v2.json": "v2/schema.json", "session.v2.json": "v2/schema.json",
	} {
		own := readDefinitions(t, filepath.Join("testdata", "schema", name))
		all := readDefinitions(t, filepath.Join(shipped, filepath.FromSlash(file)))
		require.NotEmpty(t, own)
		for def, got := range own {
			want := all[def]
			// As the file's comment says, only some of the variants and properties are kept.
			for _, keyword := range []string{"anyOf", "oneOf"} {
				kept, _ := got[keyword].([]any)
				from, _ := want[keyword].([]any)
				for _, variant := range kept {
					require.Contains(t, from, variant, "%s: %s", name, def)
				}
				require.Equal(t, len(kept) > 0, len(from) > 0, "%s: %s", name, def)
				switch def {
				case "SessionUpdate", "ToolCallContent", "ContentBlock":
					delete(got, keyword)
					delete(want, keyword)
				}
			}
			if def == "ClientCapabilities" || def == "InitializeResponse" {
				from := want["properties"].(map[string]any)
				for property, value := range got["properties"].(map[string]any) {
					require.Equal(t, from[property], value, "%s: %s", name, def)
				}
				delete(got, "properties")
				delete(want, "properties")
			}
			require.Equal(t, want, got, "%s: %s", name, def)
		}
	}
}

// readDefinitions returns the definitions of a schema file.
func readDefinitions(t *testing.T, name string) map[string]map[string]any {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	var file struct {
		Defs map[string]map[string]any `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(data, &file))
	return file.Defs
}

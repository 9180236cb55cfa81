package signin_test

// Tests of the reading of methods: every form, those of real agents, and malformed ones.

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/signin"
)

// example is a file in testdata.
type example struct {
	About  string
	Result json.RawMessage
	Want   []signin.Method
}

// readExamples reads the files in testdata by name.
func readExamples(t testing.TB) map[string]example {
	paths, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	examples := make(map[string]example)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		var example example
		require.NoError(t, json.Unmarshal(data, &example), path)
		examples[filepath.Base(path)] = example
	}
	return examples
}

func TestMethodsThatAgentsOffer(t *testing.T) {
	for name, example := range readExamples(t) {
		methods, err := signin.ReadMethods(example.Result)
		require.NoError(t, err, name)
		require.Equal(t, example.Want, methods, "%s: %s", name, example.About)
	}
}

// resultOf is the result of an initialize request with methods.
func resultOf(version int, methods ...string) []byte {
	return fmt.Appendf(nil, `{"protocolVersion":%d,"authMethods":[%s]}`, version, strings.Join(methods, ","))
}

// good is a well-formed method for each version.
var good = map[int]string{
	1: `{"id":"good","name":"Good","type":"terminal","args":["login"]}`,
	2: `{"methodId":"good","name":"Good","type":"terminal","args":["login"]}`,
}

// A malformed method is left out, and the error names the field. The methods before and after it are valid.
func TestAMalformedMethodIsLeftOut(t *testing.T) {
	terminal := map[int]string{
		1: `"id":"m","name":"M","type":"terminal",`,
		2: `"methodId":"m","name":"M","type":"terminal",`,
	}
	for version, cases := range map[int]map[string]string{
		1: {
			`"id":7`:                           "id",
			`"id":null`:                        "id",
			`"id":""`:                          "id",
			`"name":[]`:                        "name",
			`"args":"login"`:                   "args",
			`"args":{}`:                        "args",
			`"args":["a",7]`:                   "args[1]",
			`"args":[null]`:                    "args[0]",
			`"args":["a\u0000"]`:               "args[0]",
			`"env":"A=1"`:                      "env",
			`"env":7`:                          "env",
			`"env":[{"name":"A","value":"1"}]`: "env",
			`"env":{"A":1}`:                    "env",
			`"env":{"A":null}`:                 "env",
			`"env":{"A":{"B":"1"}}`:            "env",
			`"env":{"A":"1","A":"2"}`:          "env",
			`"env":{"":"1"}`:                   "env",
			`"env":{"A=B":"1"}`:                "env",
			`"env":{"A\u0000":"1"}`:            "env",
			`"env":{"A":"\u0000"}`:             "env",
		},
		2: {
			`"methodId":7`:          "methodId",
			`"methodId":""`:         "methodId",
			`"name":null`:           "name",
			`"args":7`:              "args",
			`"args":[["a"]]`:        "args[0]",
			`"env":{"A":"1"}`:       "env",
			`"env":"A"`:             "env",
			`"env":[7]`:             "env[0]",
			`"env":[null]`:          "env[0]",
			`"env":[{"name":"A"}]`:  "env[0].value",
			`"env":[{"value":"A"}]`: "env[0].name",
			`"env":[{"name":"A","value":"1"},{"name":"B","value":null}]`: "env[1].value",
			`"env":[{"name":"A","value":"1"},{"name":"A","value":"1"}]`:  "env[1]",
			`"env":[{"name":"","value":"1"}]`:                            "env[0]",
			`"env":[{"name":"A=","value":"1"}]`:                          "env[0]",
			`"env":[{"name":"A","value":"\u0000"}]`:                      "env[0]",
		},
	} {
		for member, field := range cases {
			last := strings.Replace(good[version], `"good"`, `"last"`, 1)
			methods, err := signin.ReadMethods(resultOf(version, good[version],
				"{"+terminal[version]+member+"}", last))
			requireField(t, "authMethods[1]."+field, err, "%.100s", member)
			require.Equal(t, []string{"good", "last"}, idsOf(methods), "%.100s", member)
		}
	}
}

func idsOf(methods []signin.Method) (ids []string) {
	for _, m := range methods {
		ids = append(ids, m.ID)
	}
	return ids
}

// An invalid result has no methods.
func TestMethodsOfWhatIsNoResult(t *testing.T) {
	methods := `"authMethods":[` + good[1] + `]`
	for field, results := range map[string][]string{
		"result": {``, `null`, `[]`, `{`, `{"protocolVersion":1,` + methods},
		"protocolVersion": {
			`{` + methods + `}`,
			`{"protocolVersion":null,` + methods + `}`,
			`{"protocolVersion":"1",` + methods + `}`,
			`{"protocolVersion":0,` + methods + `}`,
			`{"protocolVersion":3,` + methods + `}`,
			`{"protocolVersion":65537,` + methods + `}`,
			`{"protocolVersion":-1,` + methods + `}`,
		},
		"authMethods": {
			`{"protocolVersion":1,"authMethods":{}}`,
			`{"protocolVersion":2,"authMethods":"terminal"}`,
		},
		"": {
			`{"protocolVersion":1}`,
			`{"protocolVersion":2,"authMethods":null}`,
			`{"protocolVersion":1,"AuthMethods":[` + good[1] + `]}`,
			`{"protocolVersion":1,"authMethods":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`,
		},
	} {
		for _, result := range results {
			found, err := signin.ReadMethods([]byte(result))
			require.Empty(t, found, "%.100s", result)
			if field == "" {
				require.NoError(t, err, "%.100s", result)
				continue
			}
			requireField(t, field, err, "%.100s", result)
		}
	}
}

// Methods of other types are left out without an error, judged by the version's form and by _meta, which may be
// anything.
func TestOtherMethodsAreNoError(t *testing.T) {
	legacy := `"_meta":{"terminal-auth":{"command":"sh","args":["-c","x"]}}`
	for version, methods := range map[int][]string{
		1: {
			`null`, `7`, `"terminal"`, `[]`, `{}`, `{"id":"m"}`,
			`{"id":"m","name":"M","type":7,` + legacy + `}`,
			`{"id":"m","name":"M","type":"",` + legacy + `}`,
			`{"id":"m","name":"M","type":"Terminal"}`,
			`{"id":"m","name":"M","type":"env_var","vars":[],` + legacy + `}`,
			`{"id":"m","name":"M","Type":"terminal"}`,
			`{"id":"m","name":"M","type":"terminal","type":"agent"}`,
			`{"id":"","name":"M",` + legacy + `}`,
			`{"methodId":"m","name":"M",` + legacy + `}`,
			`{"id":"m","name":"M","_meta":7}`,
			`{"id":"m","name":"M","_meta":{"terminal-auth":"sh"}}`,
			`{"id":"m","name":"M","_meta":{"terminal-auth":{"command":""}}}`,
			`{"id":"m","name":"M","_meta":{"terminal-auth":{"command":"a\u0000"}}}`,
			`{"id":"m","name":"M","_meta":{"terminal-auth":{"command":["sh"]}}}`,
			`{"id":"m","name":"M","_meta":{"terminal-auth":{"command":"sh","args":"-c"}}}`,
			`{"id":"m","name":"M","_meta":{"terminal-auth":{"command":"sh","args":["\u0000"]}}}`,
			`{"id":"m","name":"M","_meta":{"terminal-auth":{"command":"sh","env":[]}}}`,
			`{"id":"m","name":"M","_meta":{"terminal-auth":{"command":"sh","env":{"=":""}}}}`,
		},
		2: {
			`null`, `7`, `{}`,
			`{"methodId":"m","name":"M",` + legacy + `}`,
			`{"methodId":"m","name":"M","type":"agent",` + legacy + `}`,
			`{"methodId":"m","name":"M","type":"_terminal","args":7}`,
			`{"type":"_x"}`,
		},
	} {
		for _, method := range methods {
			found, err := signin.ReadMethods(resultOf(version, method, good[version]))
			require.NoError(t, err, "%d: %.100s", version, method)
			require.Equal(t, []string{"good"}, idsOf(found), "%d: %.100s", version, method)
		}
	}
}

// With the type, an agent cannot choose a program, whatever _meta contains. A malformed method does not fall back to
// _meta.
func TestTheTypeOfAMethodCountsBeforeItsMeta(t *testing.T) {
	legacy := `"_meta":{"terminal-auth":{"command":"sh","args":["-c","x"],"env":{"A":"1"}}}`
	methods, err := signin.ReadMethods(resultOf(1,
		`{"id":"a","name":"A","type":"terminal","args":["login"],`+legacy+`}`,
		`{"id":"b","name":"B","type":"terminal","args":"login",`+legacy+`}`))
	requireField(t, "authMethods[1].args", err)
	require.Equal(t, []signin.Method{{ID: "a", Name: "A", Args: []string{"login"}}}, methods)
}

// A null counts as an absent member, as the schema says, and so does a description of another type.
func TestNullsInAMethod(t *testing.T) {
	for version, id := range map[int]string{1: "id", 2: "methodId"} {
		methods, err := signin.ReadMethods(resultOf(version, `{"`+id+`":"m","name":"","type":"terminal",`+
			`"description":7,"args":null,"env":null,"_meta":null}`))
		require.NoError(t, err)
		require.Equal(t, []signin.Method{{ID: "m"}}, methods)
	}
}

// Each method has its own ID.
func TestMethodsWithTheSameID(t *testing.T) {
	methods, err := signin.ReadMethods(resultOf(1, good[1],
		`{"id":"good","name":"Other","type":"terminal","args":["other"]}`,
		`{"id":"good","name":"Other","_meta":{"terminal-auth":{"command":"sh"}}}`))
	requireField(t, "authMethods[1].id", err)
	require.Equal(t, []signin.Method{{ID: "good", Name: "Good", Args: []string{"login"}}}, methods)
}

// Names of variables are compared in the system's way.
func TestVariablesOfAMethodThatDifferInCase(t *testing.T) {
	methods, err := signin.ReadMethods(resultOf(1, `{"id":"m","name":"M","type":"terminal",`+
		`"env":{"Path":"1","PATH":"2"}}`))
	if runtime.GOOS == "windows" {
		require.ErrorIs(t, err, acpterm.ErrInvalidParams)
		require.Empty(t, methods)
		return
	}
	require.NoError(t, err)
	require.Len(t, methods[0].Env, 2)
}

// requireField checks that err is about a field.
func requireField(t *testing.T, field string, err error, about ...any) {
	t.Helper()
	e, ok := errors.AsType[*acpterm.Error](err)
	require.True(t, ok, about...)
	require.Equal(t, acpterm.ErrInvalidParams, e.Kind)
	require.Equal(t, field, e.Field, about...)
}

// numbered returns methods with the ids m0, m1 and so on.
func numbered(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf(`{"id":"m%d","name":"M","type":"terminal"}`, i))
	}
	return all
}

// The first 64 elements are read, and an error says that others are left out, also if one of these is malformed.
func TestTooManyMethods(t *testing.T) {
	methods, err := signin.ReadMethods(resultOf(1, numbered(64)...))
	require.NoError(t, err)
	require.Len(t, methods, 64)
	malformed := `{"id":"","name":"M","type":"terminal"}`
	other := `{"id":"other","name":"M","type":"agent"}`
	for _, c := range []struct {
		all   []string
		found int
	}{
		{numbered(65), 64},
		{numbered(1000), 64},
		{append([]string{malformed}, numbered(64)...), 63},
		{append(numbered(64), other), 64},
		{append(slices.Repeat([]string{other}, 64), numbered(1)...), 0},
	} {
		methods, err = signin.ReadMethods(resultOf(1, c.all...))
		requireField(t, "authMethods", err)
		require.ErrorContains(t, err, "more than 64")
		require.Len(t, methods, c.found)
	}
}

// A method is read if it ends in the first MiB of the array. An error says that others are left out.
func TestMethodsThatAreTooLong(t *testing.T) {
	const most = 1 << 20
	last := `{"id":"last","name":"M","type":"terminal"}`
	space := strings.Repeat(" ", most-len("["+good[1]+","+last))
	methods, err := signin.ReadMethods(resultOf(1, good[1], space+last))
	require.NoError(t, err)
	require.Equal(t, []string{"good", "last"}, idsOf(methods))
	methods, err = signin.ReadMethods(resultOf(1, good[1], space+" "+last))
	requireField(t, "authMethods", err)
	require.ErrorContains(t, err, "1 MiB")
	require.Equal(t, []string{"good"}, idsOf(methods))
	methods, err = signin.ReadMethods(resultOf(1, good[1], `"`+strings.Repeat("x", most)+`"`))
	requireField(t, "authMethods", err)
	require.Equal(t, []string{"good"}, idsOf(methods))
}

// A method may have 64 KiB. The error names a longer one, also in the older form.
func TestMethodThatIsTooLong(t *testing.T) {
	for version, method := range map[int][]string{
		1: {
			`{"id":"long","type":"terminal","name":"%s"}`,
			`{"id":"long","_meta":{"terminal-auth":{"command":"sh"}},"name":"%s"}`,
		},
		2: {`{"methodId":"long","type":"terminal","name":"%s"}`},
	} {
		for _, form := range method {
			fill := 64<<10 - len(fmt.Sprintf(form, ""))
			methods, err := signin.ReadMethods(resultOf(version, good[version], fmt.Sprintf(form, strings.Repeat("x", fill))))
			require.NoError(t, err, form)
			require.Equal(t, []string{"good", "long"}, idsOf(methods))

			methods, err = signin.ReadMethods(resultOf(version, good[version], fmt.Sprintf(form, strings.Repeat("x", fill+1))))
			requireField(t, "authMethods[1]", err)
			require.ErrorContains(t, err, "64 KiB")
			require.Equal(t, []string{"good"}, idsOf(methods))
		}
	}
}

func TestIsRequired(t *testing.T) {
	required := &jsonrpc2.Error{Code: signin.CodeRequired, Message: "Authentication required"}
	require.True(t, signin.IsRequired(required))
	require.True(t, signin.IsRequired(fmt.Errorf("session/new: %w", required)))
	for _, err := range []error{
		nil, errors.New("Authentication required"), &jsonrpc2.Error{Code: jsonrpc2.CodeInternalError},
		&acpterm.Error{Kind: acpterm.ErrDenied}, jsonrpc2.ErrClosed,
	} {
		require.False(t, signin.IsRequired(err))
	}
}

// For any input, ReadMethods does not panic, and its methods can be run.
func FuzzReadMethods(f *testing.F) {
	examples := readExamples(f)
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		f.Add([]byte(examples[name].Result))
	}
	f.Add(resultOf(1, `{"id":"m","name":"M","type":"terminal","env":{"A":"1","A":"2"}}`))
	f.Add(resultOf(2, `{"methodId":"m","name":"M","type":"terminal","env":[{"name":"A","value":"\u0000"}]}`))
	f.Fuzz(func(t *testing.T, result []byte) {
		methods, err := signin.ReadMethods(result)
		if err != nil {
			require.ErrorIs(t, err, acpterm.ErrInvalidParams)
		}
		ids := make(map[string]bool)
		for _, m := range methods {
			require.NotEmpty(t, m.ID)
			require.False(t, ids[m.ID])
			ids[m.ID] = true
			require.True(t, m.Args == nil || m.LegacyCommand == nil)
			if m.LegacyCommand != nil {
				require.NotEmpty(t, m.LegacyCommand[0])
			}
			for _, arg := range slices.Concat(m.Args, m.LegacyCommand) {
				require.NotContains(t, arg, "\x00")
			}
			names := make(map[string]bool)
			for _, v := range m.Env {
				require.NotEmpty(t, v.Name)
				require.False(t, names[v.Name])
				names[v.Name] = true
				require.False(t, strings.ContainsAny(v.Name, "=\x00") || strings.Contains(v.Value, "\x00"))
			}
		}
	})
}

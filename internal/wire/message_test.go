package wire

// Parts read without jsonrpc2 and encoding/json are the same as those packages would have read.

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

// A request's parts are those that jsonrpc2 finds in it.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"terminal/output","params":{"sessionId":"s","terminalId":"t"}}`,
		`{"params":[1, {"a":"}"}] , "method":"\u0074erminal/kill","id":"\u0061\\"}`,
		`{"id":-1,"method":"x"}`, `{"id":18446744073709551615,"method":"x"}`, `{"id":1.50,"method":"x","params":null}`,
		`{"id":"raw-id:7","method":"x","params":7}`, `{"method":"$/cancel_request","params":{"requestId":"a"}}`,
		`{"id":"\ud800","method":"x"}`, "{\"id\":\"\xff\",\"method\":\"x\"}", "{\"id\":\"\xff\xfe\",\"method\":\"x\"}",
		`{"method":"x","id":0}`, `{"method":"x","id":01}`, `{"id":3,"result":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, fault := Parse(line)
		if fault != nil || m.Method == "" {
			return
		}
		var req jsonrpc2.Request
		require.NoError(t, req.UnmarshalJSON(m.Line))
		require.Equal(t, req.Method, m.Method)
		require.Equal(t, req.Notif, m.ID == nil)
		if req.Params != nil {
			requireSameJSON(t, string(*req.Params), string(m.Params))
		} else {
			require.Contains(t, []string{"", "null"}, string(m.Params))
		}
		if m.ID != nil {
			id, ok := RequestID(m.ID)
			require.True(t, ok)
			require.Equal(t, req.ID, id)
			response, err := json.Marshal(jsonrpc2.Response{ID: req.ID, Result: new(json.RawMessage("1"))})
			require.NoError(t, err)
			requireSameJSON(t, `{"jsonrpc":"2.0","result":1,"id":`+string(m.ID)+`}`, string(restoreID(response)))
		}
	})
}

// requireSameJSON is require.JSONEq for numbers of any size.
func requireSameJSON(t *testing.T, want, got string) {
	t.Helper()
	var values [2]any
	for i, text := range []string{want, got} {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		require.NoError(t, d.Decode(&values[i]), text)
	}
	require.Equal(t, values[0], values[1])
}

// A host's error is sent even if its data is not JSON.
func TestAppendErrorWithDataThatIsNoJSON(t *testing.T) {
	data := json.RawMessage("{")
	line := AppendError(nil, []byte("7"), &jsonrpc2.Error{Code: 1, Message: "m", Data: &data})
	require.Equal(t, `{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"m"}}`+"\n", string(line))
}

// A value counts as readable exactly if encoding/json decodes it into any.
func TestDecodesAsEncodingJSONDoes(t *testing.T) {
	for _, value := range []string{
		`null`, `""`, `"1e999"`, `"\"1e999"`, `"\\"`, `0`, `-0.5`, `1e308`, `1e309`, `-1e309`, `1e-999`, `123456789012345678901234567890`,
		`[1,2,[3]]`, `[1,1e999,2]`, `{"1e999":1}`, `{"a":"x","b":{"c":[1E400]}}`, `{"a":1}`, `[ 1 , -2.5e+3 ]`, `true`,
	} {
		var into any
		require.Equal(t, json.Unmarshal([]byte(value), &into) == nil, decodes([]byte(value)), value)
	}
}

package wiretest

// Errors on the wire, and the capability.

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/stretchr/testify/require"
)

// Every row of the table of errors, each followed by a request that works.
func TestWireErrors(t *testing.T) {
	dir := filepath.ToSlash(t.TempDir()) // JSON gives backslashes a meaning
	plain := dir + "/plain"
	require.NoError(t, os.WriteFile(plain, nil, 0o600))
	_, missing := os.Stat(dir + "/missing")
	noSuchFile, _ := errors.AsType[syscall.Errno](missing)
	a := hosttest.Connect(t, hosttest.NewManager(t, nil), nil)
	mine := a.Create("exit", "0")
	invalid := func(field, reason string) string {
		return fmt.Sprintf(`{"kind":"invalid_params","field":%q,"reason":%q}`, field, reason)
	}
	const limits = "must be an integer from 0 to 18446744073709551615"
	refused := func(method, params string, code int64, data string) {
		t.Helper()
		_, err := a.Do(method, json.RawMessage(params))
		t.Log(method, params)
		a.Failed(err, code, data)
		require.NotContains(t, err.Error(), "secret")
	}

	// A create of "ls" with one member changed.
	for _, bad := range []struct{ member, field, reason string }{
		{`"sessionId":5`, "sessionId", "must be a string"},
		{`"sessionId":""`, "sessionId", "must not be empty"},
		{`"command":{}`, "command", "must be a string"},
		{`"args":"-l"`, "args", "must be an array"},
		{`"args":["a",7]`, "args[1]", "must be a string"},
		{`"env":{"A":"1"}`, "env", "must be an array"},
		{`"env":[{"name":"A"}]`, "env[0].value", "required"},
		{`"outputByteLimit":-1`, "outputByteLimit", limits},
		{`"outputByteLimit":18446744073709551616`, "outputByteLimit", limits},
		{`"cwd":7`, "cwd", "must be a string"},
		{`"cwd":""`, "cwd", "must be an absolute path"},
	} {
		refused(acpterm.MethodCreate, createOfLs(bad.member), -32602, invalid(bad.field, bad.reason))
	}
	// The same, where the session is known.
	for _, bad := range []struct{ member, field, reason string }{
		{`"cwd":"x/y"`, "cwd", "must be an absolute path"},
		{`"cwd":"` + dir + `/missing"`, "cwd", noSuchFile.Error()},
		{`"cwd":"` + plain + `"`, "cwd", "not a directory"},
		{`"cwd":"` + dir + `\u0000"`, "cwd", "must not contain NUL"},
		{`"command":""`, "command", "must not be empty"},
		{`"command":"l\u0000s"`, "command", "must not contain NUL"},
		{`"args":["a","\u0000"]`, "args[1]", "must not contain NUL"},
		{`"_meta":{"acpterm":"secret"}`, "_meta.acpterm", "must be an object"},
		{`"_meta":{"acpterm":{"headBytes":-1}}`, "_meta.acpterm.headBytes", limits},
		{`"_meta":{"acpterm":{"headBytes":"secret"}}`, "_meta.acpterm.headBytes", limits},
		{`"env":[{"name":"","value":"secret"}]`, "env[0].name", "must not be empty"},
		{`"env":[{"name":"A","value":""},{"name":"A=B","value":"secret"}]`, "env[1].name", `must not contain "=" or NUL`},
		{`"env":[{"name":"A","value":"secret\u0000"}]`, "env[0].value", "must not contain NUL"},
	} {
		data := strings.TrimSuffix(invalid(bad.field, bad.reason), "}") + `,"sessionId":"s"}`
		refused(acpterm.MethodCreate, createOfLs(bad.member), -32602, data)
	}
	notExecutable := `{"kind":"not_executable","field":"command","reason":"cannot be executed: permission denied",` +
		`"command":"` + plain + `","sessionId":"s"}`
	refused(acpterm.MethodCreate, createOfLs(`"command":"`+plain+`"`), -32602, notExecutable)
	for _, missing := range []string{"no-such-program", dir + "/missing"} {
		data := `{"kind":"command_not_found","command":"` + missing + `","sessionId":"s"}`
		refused(acpterm.MethodCreate, createOfLs(`"command":"`+missing+`"`), -32002, data)
	}

	for _, bad := range []struct{ method, params, field, reason string }{
		{acpterm.MethodCreate, `null`, "params", "must be an object"},
		{acpterm.MethodCreate, `["s","ls"]`, "params", "must be an object"},
		{acpterm.MethodCreate, `{}`, "sessionId", "required"},
		{acpterm.MethodCreate, `{"sessionId":"s"}`, "command", "required"},
		{acpterm.MethodOutput, `{"sessionId":"s"}`, "terminalId", "required"},
		{acpterm.MethodWaitForExit, `{"terminalId":"x"}`, "sessionId", "required"},
		{acpterm.MethodKill, `{"sessionId":"s","terminalId":["x"]}`, "terminalId", "must be a string"},
		{acpterm.MethodRelease, `[]`, "params", "must be an object"},
		{acpterm.MethodWaitForExit, `{"sessionId":"s","terminalId":"` + strings.Repeat("x", 64<<10) + `"}`,
			"params", "longer than 65536 bytes"},
	} {
		refused(bad.method, bad.params, -32602, invalid(bad.field, bad.reason))
	}
	for _, method := range []string{acpterm.MethodOutput, acpterm.MethodRelease} {
		for session, id := range map[string]acpterm.TerminalID{"s": "x", "other": mine} {
			params := fmt.Sprintf(`{"sessionId":%q,"terminalId":%q}`, session, id)
			refused(method, params, -32002, `{"kind":"terminal_not_found",`+params[1:])
		}
	}
	for _, method := range []string{"terminal/resize", "fs/read_text_file"} {
		refused(method, `{}`, -32601, `{"kind":"method_not_found","method":"`+method+`"}`)
	}
	_, err := a.Do(acpterm.MethodCreate, nil)
	a.Failed(err, -32602, invalid("params", "must be an object"))
	a.Output(mine)
}

// createOfLs returns the params of a create of "ls" in session "s", with a member added or replaced.
func createOfLs(member string) string {
	params := map[string]json.RawMessage{"sessionId": json.RawMessage(`"s"`), "command": json.RawMessage(`"ls"`)}
	if err := json.Unmarshal([]byte("{"+member+"}"), &params); err != nil {
		panic(err)
	}
	encoded, err := json.Marshal(params)
	if err != nil {
		panic(err)
	}
	return string(encoded)
}

// docs/wire.md documents the maximum length of a request's params.
func TestWireParamsAtTheirLimit(t *testing.T) {
	page, err := os.ReadFile("../../docs/wire.md")
	require.NoError(t, err)
	found := regexp.MustCompile(`a create may have (\d+) MiB\s[^,]*, and those of the\s+other requests\s+(\d+) KiB`).
		FindSubmatch(page)
	require.Len(t, found, 3)
	create, other := hosttest.Number(string(found[1]))<<20, hosttest.Number(string(found[2]))<<10
	a := hosttest.Connect(t, hosttest.NewManager(t, nil), nil)
	mine := a.Create("sleep")
	for _, method := range []string{
		acpterm.MethodOutput, acpterm.MethodKill, acpterm.MethodWaitForExit, acpterm.MethodRelease, acpterm.MethodCreate,
	} {
		begin, limit := fmt.Sprintf(`{"sessionId":"s","terminalId":%q,"_meta":{"x":"`, mine), other
		if method == acpterm.MethodCreate {
			begin, limit = `{"sessionId":"s","command":"acpterm-no-such-program","_meta":{"x":"`, create
		}
		params := begin + strings.Repeat("x", limit-len(begin)-len(`"}}`)) + `"}}`
		_, err := a.Do(method, json.RawMessage(strings.Replace(params, `"}}`, `x"}}`, 1)))
		if method == acpterm.MethodCreate {
			require.ErrorContains(t, err, "create_bytes")
			_, err = a.Do(method, json.RawMessage(params))
			a.Failed(err, -32002, `{"kind":"command_not_found","command":"acpterm-no-such-program","sessionId":"s"}`)
			continue
		}
		a.Failed(err, -32602, `{"kind":"invalid_params","field":"params","reason":"longer than 65536 bytes"}`)
		_, err = a.Do(method, json.RawMessage(params))
		require.NoError(t, err, method)
	}
}

func TestCapabilityIsReadAsItWasWritten(t *testing.T) {
	for params, want := range map[string]bool{
		`{"protocolVersion":1,"clientCapabilities":{"terminal":true}}`:   true,
		`{"protocolVersion":1,"clientCapabilities":{"terminal":false}}`:  false,
		`{"protocolVersion":1,"clientCapabilities":{"terminal":null}}`:   false,
		`{"protocolVersion":1,"clientCapabilities":{"terminal":"true"}}`: false,
		`{"protocolVersion":1,"clientCapabilities":{"Terminal":true}}`:   false,
		`{"protocolVersion":1,"clientCapabilities":{}}`:                  false,
		`{"protocolVersion":1,"clientCapabilities":null}`:                false,
		`{"protocolVersion":1,"clientCapabilities":7}`:                   false,
		`{"protocolVersion":1}`:                                          false,
	} {
		c, err := agent.ReadClientCapabilities([]byte(params))
		require.NoError(t, err)
		require.Equal(t, want, c.Terminal, params)
		if want {
			require.NoError(t, c.Require(acpterm.MethodCreate))
			continue
		}
		refused, ok := errors.AsType[*acpterm.CapabilityError](c.Require(acpterm.MethodCreate))
		require.True(t, ok)
		require.Equal(t, acpterm.MethodCreate, refused.Method)
	}
	_, err := agent.ReadClientCapabilities([]byte(`[]`))
	require.ErrorIs(t, err, acpterm.ErrInvalidParams)

	for want, options := range map[string]acpterm.HandlerOptions{
		`{"terminal":true}`:  {},
		`{"terminal":false}`: {Capabilities: new(acpterm.ClientCapabilities)},
		`{"terminal":true,"auth":{"terminal":true}}`: {Capabilities: &acpterm.ClientCapabilities{
			Terminal: true, Auth: acpterm.AuthCapabilities{Terminal: true},
		}},
	} {
		written, err := json.Marshal(acpterm.NewHandler(hosttest.Must(acpterm.NewManager(nil)), &options).Capabilities())
		require.NoError(t, err)
		require.JSONEq(t, want, string(written))
	}
}

// A client's statement about signing in is read from either version's shape, and is false when in doubt.
func TestAuthCapabilityIsReadAsItWasWritten(t *testing.T) {
	for params, want := range map[string]bool{
		`{"protocolVersion":1,"clientCapabilities":{"auth":{"terminal":true}}}`:   true,
		`{"protocolVersion":1,"clientCapabilities":{"auth":{"terminal":false}}}`:  false,
		`{"protocolVersion":1,"clientCapabilities":{"auth":{"terminal":{}}}}`:     false,
		`{"protocolVersion":1,"clientCapabilities":{"auth":{"terminal":"true"}}}`: false,
		`{"protocolVersion":1,"clientCapabilities":{"auth":true}}`:                false,
		`{"protocolVersion":1,"clientCapabilities":{"auth":null}}`:                false,
		`{"protocolVersion":2,"capabilities":{"auth":{"terminal":{}}}}`:           true,
		`{"protocolVersion":2,"capabilities":{"auth":{"terminal":{"_meta":{}}}}}`: true,
		`{"protocolVersion":2,"capabilities":{"auth":{"terminal":null}}}`:         false,
		`{"protocolVersion":2,"capabilities":{"auth":{"terminal":true}}}`:         false,
		`{"protocolVersion":2,"capabilities":{"auth":{}}}`:                        false,
		`{"protocolVersion":2,"capabilities":{"auth":null}}`:                      false,
		`{"protocolVersion":2,"capabilities":7}`:                                  false,
		`{"protocolVersion":2}`:                                                   false,
	} {
		c, err := agent.ReadClientCapabilities([]byte(params))
		require.NoError(t, err)
		require.Equal(t, want, c.Auth.Terminal, params)
		require.False(t, c.Terminal)
	}
}

// An error quotes the agent's request, but not all of it: an answer that the agent does not read stays in memory.
func TestAnErrorOnTheWireIsShort(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	response := acpterm.ResponseError(&acpterm.Error{
		Op: long, Kind: acpterm.ErrCommandNotFound, Field: long, Reason: long, Rule: long, Command: long,
		SessionID: acpterm.SessionID(long), TerminalID: acpterm.TerminalID(long),
	})
	encoded, err := json.Marshal(response)
	require.NoError(t, err)
	require.Less(t, len(encoded), 20<<10)
	require.True(t, utf8.Valid(encoded))
	require.Contains(t, response.Message, "éé")
	var data struct{ Command string }
	require.NoError(t, json.Unmarshal(*response.Data, &data))
	require.Equal(t, long[:2<<10]+"...", data.Command)
}

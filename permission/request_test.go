package permission_test

// Requests of both versions of ACP: what is read, and shown.

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/permission"
)

func TestReadNamesWhatIsWrong(t *testing.T) {
	const call = `"toolCall":{"toolCallId":"c"}`
	for params, field := range map[string]string{
		`[]`: "params",
		`{"sessionId":"s","sessionId":"s","options":[],` + call + `}`: "params",
		`{"sessionId":"s",`:                                                                         "params",
		`{"options":[],` + call + `}`:                                                               "sessionId",
		`{"SessionId":"s","options":[],` + call + `}`:                                               "sessionId",
		`{"sessionId":"s","options":[]}`:                                                            "toolCall",
		`{"sessionId":"s","options":[],"toolCall":{}}`:                                              "toolCall.toolCallId",
		`{"sessionId":"s","options":[],"toolCall":{"toolCallId":"c","title":1}}`:                    "toolCall.title",
		`{"sessionId":"s","options":[],"toolCall":{"toolCallId":"c","kind":{}}}`:                    "toolCall.kind",
		`{"sessionId":"s","options":null,` + call + `}`:                                             "options",
		`{"sessionId":"s","options":[1],` + call + `}`:                                              "options[0]",
		`{"sessionId":"s","options":[{"optionId":"","name":"n","kind":"allow_once"}],` + call + `}`: "options[0].optionId",
		`{"sessionId":"s","options":[{"optionId":"1","name":"n"}],` + call + `}`:                    "options[0].kind",
		`{"sessionId":"s","options":[{"optionId":"1","name":"","kind":"reject_once"},` +
			`{"optionId":"1","name":"n","kind":"allow_once"}],` + call + `}`: "options[1].optionId",
	} {
		requireField(t, field, []byte(params))
	}
}

// requireField requires that Read refuses params because of a field.
func requireField(t *testing.T, field string, params []byte) {
	t.Helper()
	r, err := permission.Read(params)
	require.ErrorIs(t, err, acpterm.ErrInvalidParams, "%s", params)
	var e *acpterm.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, field, e.Field, "%s", params)
	require.Zero(t, r)
}

func TestRead(t *testing.T) {
	r, err := permission.Read([]byte(`{"sessionId":"s","_meta":{},"options":[{"optionId":"1","name":"","kind":"new"}],
		"toolCall":{"toolCallId":"c","title":"t","kind":"execute","rawInput":{"command":"go vet"},"content":[]}}`))
	require.NoError(t, err)
	require.Equal(t, permission.Request{SessionID: "s", ToolCallID: "c", Title: "t", Kind: "execute",
		RawInput: json.RawMessage(`{"command":"go vet"}`), Options: []permission.Option{{ID: "1", Kind: "new"}}}, r)

	// An agent may omit values that it has already sent.
	r, err = permission.Read([]byte(`{"sessionId":"s","options":[],"toolCall":{"toolCallId":"c","title":null,"rawInput":null}}`))
	require.NoError(t, err)
	require.Equal(t, permission.Request{SessionID: "s", ToolCallID: "c"}, r)
	_, ok := r.Command()
	require.False(t, ok)
}

// Unknown input is not a command.
func TestCommand(t *testing.T) {
	type command = permission.Command
	for input, want := range map[string]command{
		`{"command":"go"}`:                             {Args: []string{"go"}},
		`{"command":"go vet"}`:                         {Line: "go vet"},
		`{"command":"a$b"}`:                            {Line: "a$b"},
		`{"command":["go","vet x",""]}`:                {Args: []string{"go", "vet x", ""}},
		`{"command":"go vet","args":["x"],"cwd":"/p"}`: {Args: []string{"go vet", "x"}, Dir: "/p"},
		`{"command":"go","args":[],"timeout":1}`:       {Args: []string{"go"}},
		`{"command":""}`:                               {},
		`{"command":"","args":["x"]}`:                  {},
		`{"command":[]}`:                               {},
		`{"command":[""]}`:                             {},
		`{"command":["go",null]}`:                      {},
		`{"command":["go",1]}`:                         {},
		`{"command":["go"],"args":["x"]}`:              {},
		`{"command":"go","args":"x"}`:                  {},
		`{"command":"go","args":[null]}`:               {},
		`{"command":"go","cwd":1}`:                     {},
		`{"command":"go","cwd":""}`:                    {},
		`{"Command":"go"}`:                             {},
		`{"command":"go","command":"rm"}`:              {},
		`{"command":{"command":"go"}}`:                 {},
		`{"args":["go"]}`:                              {},
		`"go"`:                                         {},
		`["go"]`:                                       {},
		`null`:                                         {},
	} {
		c, ok := read(t, "s", input).Command()
		require.Equal(t, want, c, input)
		require.Equal(t, want.Line != "" || want.Args != nil, ok, input)
	}
	r := read(t, "s", `{"command":"view"}`)
	for _, kind := range []string{"", "edit", "Execute"} {
		r.Kind = kind
		_, ok := r.Command()
		require.False(t, ok, kind)
	}
}

// Everything that the agent sends is visible, and does not look like something else.
func TestTextHidesNothing(t *testing.T) {
	for input, want := range map[string]string{
		`{"command":"go vet\u202e\n&& x"}`: `line       "go vet\u202e\n&& x"` + "\ndirectory  the session's\n",
		`{"command":["a b","\u001b[2J","\""],"cwd":"/p\r"}`: `command    "a b" "\x1b[2J" "\""` +
			"\ndirectory  \"/p\\r\"\n",
		`{"command":"go","workdir":"/q\u200b"}`: "command    \"go\"\ndirectory  the session's\n" +
			`input      {"command":"go","workdir":"/q\u200b"}` + "\n",
		"{\"script\":\n\"\u202ex\"}": "kind       \"execute\"\n" + `input      {"script":\n"\u202ex"}` + "\n",
		`{"script":"x"}`:             "kind       \"execute\"\n" + `input      {"script":"x"}` + "\n",
		`null`:                       "kind       \"execute\"\n",
	} {
		text, whole := read(t, "s", input).Text(0)
		require.Equal(t, "title      \"t\"\n"+want, text)
		require.True(t, whole)
	}

	r := read(t, "s", `{"command":["go","`+strings.Repeat("x", 10_000)+`","end"]}`)
	text, whole := r.Text(100)
	require.False(t, whole)
	require.Less(t, len(text), 400)
	require.Contains(t, text, `"end"`)
	r.Title = strings.Repeat("\n", 10_000)
	text, _ = r.Text(100)
	require.Equal(t, 3, strings.Count(text, "\n"))
}

func TestTheKindOfAnOptionIsShown(t *testing.T) {
	for kind, want := range map[permission.OptionKind]string{
		permission.OptionKindAllowOnce: `allow once: "No\n"`, permission.OptionKindAllowAlways: `allow always: "No\n"`,
		permission.OptionKindRejectOnce: `reject once: "No\n"`, permission.OptionKindRejectAlways: `reject always: "No\n"`,
		"allow\x1b": `answer the agent only: "No\n"`,
	} {
		require.Equal(t, want, permission.Option{ID: "1", Name: "No\n", Kind: kind}.Text(0))
	}
}

// paramsV2 returns the params of a request of ACP v2.
func paramsV2(subject string) []byte {
	return []byte(`{"sessionId":"s","title":"Run?","description":"to test","options":` + allKinds +
		`,"subject":` + subject + `}`)
}

func TestReadV2(t *testing.T) {
	const command = `{"type":"command","command":"go test ./...","cwd":"/p","toolCallId":"c","terminalId":"term"}`
	r, err := permission.Read(paramsV2(command))
	require.NoError(t, err)
	require.Len(t, r.Options, 5)
	r.Options = nil
	require.Equal(t, permission.Request{
		SessionID: "s", ToolCallID: "c", Title: "Run?", Description: "to test",
		Subject: permission.Subject{Type: permission.SubjectCommand, Command: "go test ./...", Cwd: "/p",
			TerminalID: "term", Raw: json.RawMessage(command)},
	}, r)
	c, ok := r.Command()
	require.True(t, ok)
	require.Equal(t, permission.Command{Line: "go test ./...", Dir: "/p"}, c)
	text, whole := r.Text(0)
	require.True(t, whole)
	require.Equal(t, "title      \"Run?\"\nreason     \"to test\"\nline       \"go test ./...\"\ndirectory  \"/p\"\n", text)

	const call = `{"type":"tool_call","toolCall":{"toolCallId":"c","title":null,"kind":"execute","rawInput":` +
		`{"command":["go","vet"]}}}`
	r, err = permission.Read(paramsV2(call))
	require.NoError(t, err)
	require.Equal(t, "Run?", r.Title)
	require.Equal(t, "c", r.ToolCallID)
	require.Equal(t, permission.Subject{Type: permission.SubjectToolCall, Raw: json.RawMessage(call)}, r.Subject)
	c, ok = r.Command()
	require.True(t, ok)
	require.Equal(t, permission.Command{Args: []string{"go", "vet"}}, c)

	for _, params := range []string{
		`{"sessionId":"s","title":"t","options":[]}`,
		`{"sessionId":"s","title":"t","options":[],"subject":null,"description":7}`,
	} {
		r, err = permission.Read([]byte(params))
		require.NoError(t, err)
		require.Equal(t, permission.Request{SessionID: "s", Title: "t"}, r)
		_, ok = r.Command()
		require.False(t, ok)
	}
}

// The command of a subject that is not understood is never known, even if the host adds a tool call.
func TestUnknownSubjectIsShownAndHasNoCommand(t *testing.T) {
	for subject, line := range map[string]string{
		`{"type":"_mine","command":"go vet","cwd":"/p"}`:         "",
		`{"type":"commands","toolCall":{"toolCallId":"c"}}`:      "",
		`{"type":"command","command":"","cwd":"/p"}`:             "",
		`{"type":"command","command":"go","cwd":"/p","env":[1]}`: "command    \"go\"\ndirectory  \"/p\"\n",
	} {
		r, err := permission.Read(paramsV2(subject))
		require.NoError(t, err, subject)
		require.JSONEq(t, subject, string(r.Subject.Raw))
		text, _ := r.Text(0)
		require.Equal(t, "title      \"Run?\"\nreason     \"to test\"\n"+line+"subject    "+subject+"\n", text)
		r.Kind, r.RawInput = "execute", json.RawMessage(`{"command":"go vet"}`)
		_, ok := r.Command()
		require.Equal(t, line != "", ok, subject)
	}
}

func TestReadNamesWhatIsWrongInV2(t *testing.T) {
	for subject, field := range map[string]string{
		`1`:  "subject",
		`[]`: "subject",
		`{}`: "subject.type",
		`{"type":"","command":"go vet","cwd":"/p"}`: "subject.type",
		`{"type":1}`:                                     "subject.type",
		`{"type":"a","type":"a"}`:                        "subject",
		`{"type":"tool_call"}`:                           "subject.toolCall",
		`{"type":"command"}`:                             "subject.command",
		`{"type":"command","cwd":1}`:                     "subject.command",
		`{"type":"command","command":"go"}`:              "subject.cwd",
		`{"type":"command","command":"go","cwd":""}`:     "subject.cwd",
		`{"type":"tool_call","toolCall":{}}`:             "subject.toolCall.toolCallId",
		`{"type":"command","command":["go"],"cwd":"/p"}`: "subject.command",
		`null,"toolCall":{}`:                             "toolCall.toolCallId",
		`{"type":"a"},"toolCall":{"toolCallId":"c"}`:     "subject",
		`{"type":"a"},"title":7`:                         "params", // twice
	} {
		requireField(t, field, paramsV2(subject))
	}
	requireField(t, "title", []byte(`{"sessionId":"s","options":[],"subject":{"type":"a"}}`))
}

// A command that the user has permitted as a subject is not asked about again, and no other command is permitted.
func TestAnswerForASubject(t *testing.T) {
	h := newHost(t, acpterm.Options{})
	answer := func(subject string, kind permission.OptionKind) {
		r, err := permission.Read(paramsV2(subject))
		require.NoError(t, err)
		require.Equal(t, "selected", h.bridge.Answer(t.Context(), r, choosing(kind)).Outcome.Outcome)
	}
	dir := t.TempDir()
	quoted, err := json.Marshal(dir)
	require.NoError(t, err)
	line := acpterm.CreateTerminalRequest{Command: "go test && go vet", Cwd: dir}
	of := func(kind, more string) string {
		return `{"type":"` + kind + `","command":"go test && go vet","cwd":` + string(quoted) + more + `}`
	}

	answer(of("command", ""), permission.OptionKindAllowOnce)
	require.Equal(t, "asked", h.create(t, acpterm.CreateTerminalRequest{Command: "go test && go vet", Cwd: t.TempDir()}))
	require.Equal(t, "asked", h.create(t, acpterm.CreateTerminalRequest{Command: "go test; go vet", Cwd: dir}))
	require.Equal(t, "runs", h.create(t, line))
	require.Equal(t, "asked", h.create(t, line))

	answer(of("command", `,"terminalId":"t"`), permission.OptionKindAllowOnce) // the agent runs it
	require.Equal(t, "asked", h.create(t, line))

	for _, unknown := range []string{"_mine", "command2"} {
		answer(of(unknown, ""), permission.OptionKindAllowAlways)
		require.Equal(t, "asked", h.create(t, line))
	}

	r, err := permission.Read(paramsV2(of("command", "")))
	require.NoError(t, err)
	ended, end := context.WithCancel(t.Context())
	end()
	require.Equal(t, "cancelled", h.bridge.Answer(ended, r, choosing(permission.OptionKindAllowOnce)).Outcome.Outcome)
	require.Equal(t, "asked", h.create(t, line))
}

// For any input, Read does not panic, the text consists of lines that begin with our words, and the shown command is
// the one compared with a create.
func FuzzRead(f *testing.F) {
	for _, input := range []string{`{"command":"go vet"}`, `{"command":["go",""],"cwd":"/p"}`, `{"command":"go","args":[]}`} {
		f.Add([]byte(`{"sessionId":"s","options":` + allKinds + `,"toolCall":{"toolCallId":"c","title":"t",` +
			`"kind":"execute","rawInput":` + input + `}}`))
	}
	f.Add([]byte(`{"sessionId":"s","sessionId":{}}`))
	for _, subject := range []string{`{"type":"command","command":"go vet","cwd":"/p"}`, `{"type":"new","command":"go"}`,
		`{"type":"tool_call","toolCall":{"toolCallId":"c","kind":"execute","rawInput":{"command":"go"}}}`, `null`} {
		f.Add([]byte(`{"sessionId":"s","title":"t","description":"d","options":` + allKinds + `,"subject":` + subject + `}`))
	}
	f.Fuzz(func(t *testing.T, params []byte) {
		r, err := permission.Read(params)
		if err != nil {
			require.ErrorIs(t, err, acpterm.ErrInvalidParams)
			require.Zero(t, r)
			return
		}
		ids := make(map[string]bool)
		for _, o := range r.Options {
			require.NotEmpty(t, o.ID)
			require.False(t, ids[o.ID])
			ids[o.ID] = true
			require.NotContains(t, o.Text(0), "\n")
		}
		text, whole := r.Text(0)
		require.True(t, whole)
		for line := range strings.Lines(text) {
			require.Regexp(t, `^(title|reason|kind|line|command|directory|input|subject) `, line)
		}
		if c, ok := r.Command(); ok {
			if r.Subject.Type != permission.SubjectCommand {
				require.Equal(t, "execute", r.Kind)
				require.Contains(t, []permission.SubjectType{"", permission.SubjectToolCall}, r.Subject.Type)
			}
			require.True(t, c.Line == "" && len(c.Args) > 0 && c.Args[0] != "" || c.Line != "" && c.Args == nil)
		} else {
			require.Zero(t, c)
		}
	})
}

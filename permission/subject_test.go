package permission_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/permission"
)

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
		_, err := permission.Read(paramsV2(subject))
		var e *acpterm.Error
		require.ErrorAs(t, err, &e, subject)
		require.ErrorIs(t, err, acpterm.ErrInvalidParams)
		require.Equal(t, field, e.Field, subject)
	}
	_, err := permission.Read([]byte(`{"sessionId":"s","options":[],"subject":{"type":"a"}}`))
	var e *acpterm.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "title", e.Field)
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

	answer(`{"type":"command","command":"go test && go vet","cwd":`+string(quoted)+`}`, permission.OptionKindAllowOnce)
	require.Equal(t, "asked", h.create(t, acpterm.CreateTerminalRequest{Command: "go test && go vet", Cwd: t.TempDir()}))
	require.Equal(t, "asked", h.create(t, acpterm.CreateTerminalRequest{Command: "go test; go vet", Cwd: dir}))
	require.Equal(t, "runs", h.create(t, line))
	require.Equal(t, "asked", h.create(t, line))

	own := `{"type":"command","command":"go test && go vet","cwd":` + string(quoted) + `,"terminalId":"t"}`
	answer(own, permission.OptionKindAllowOnce) // the agent runs it
	require.Equal(t, "asked", h.create(t, line))

	for _, unknown := range []string{
		`{"type":"_mine","command":"go test && go vet","cwd":` + string(quoted) + `}`,
		`{"type":"command2","command":"go test && go vet","cwd":` + string(quoted) + `}`,
	} {
		answer(unknown, permission.OptionKindAllowAlways)
		require.Equal(t, "asked", h.create(t, line))
	}

	r, err := permission.Read(paramsV2(`{"type":"command","command":"go test && go vet","cwd":` + string(quoted) + `}`))
	require.NoError(t, err)
	ended, end := context.WithCancel(t.Context())
	end()
	require.Equal(t, "cancelled", h.bridge.Answer(ended, r, choosing(permission.OptionKindAllowOnce)).Outcome.Outcome)
	require.Equal(t, "asked", h.create(t, line))
}

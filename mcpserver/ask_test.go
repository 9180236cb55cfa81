//go:build unix

package mcpserver

// Questions of policies.

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/policy"
)

// asking is options whose policy asks about every command.
func asking() *acpterm.Options {
	return &acpterm.Options{
		Policy: acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
			return acpterm.Decision{Verdict: acpterm.VerdictAsk, Rule: "ask", Reason: "it may be dangerous"}
		}),
		Approve: AskClient,
	}
}

// answers makes a client answer questions.
func answers(answer func(*mcp.ElicitParams) (*mcp.ElicitResult, error)) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return answer(r.Params)
		},
	}
}

func accept(content map[string]any) *mcp.ClientOptions {
	return answers(func(*mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: content}, nil
	})
}

func act(action string) *mcp.ClientOptions {
	return answers(func(*mcp.ElicitParams) (*mcp.ElicitResult, error) { return &mcp.ElicitResult{Action: action}, nil })
}

func TestUserIsAskedByTheClient(t *testing.T) {
	for _, version := range versions {
		var message string
		var form any
		client := answers(func(p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			message, form = p.Message, p.RequestedSchema
			return &mcp.ElicitResult{Action: "accept", Content: object{"answer": "allow_once"}}, nil
		})
		options := asking()
		var decided []*acpterm.DecisionEvent
		options.Record = func(_ context.Context, e acpterm.Event) error {
			if d, ok := e.(*acpterm.DecisionEvent); ok {
				decided = append(decided, d)
			}
			return nil
		}
		s := connect(t, newServer(t, options, nil), client, version)
		r, _ := call[commandResult](t, s, "run", object{"command": "echo 'asked\033[8m'", "env": object{"A": "b"}})
		require.Equal(t, "ended", r.State)
		require.Contains(t, message, `echo 'asked\x1b[8m'`)
		require.Contains(t, message, "it may be dangerous")
		require.Contains(t, message, `"b"`)
		encoded, err := json.Marshal(form)
		require.NoError(t, err)
		require.Contains(t, string(encoded), `["allow_once","allow_session","reject_once"]`)
		require.Len(t, decided, 1) // although the client of the new version has called twice
		require.Equal(t, "allow_once", decided[0].Approval)
		require.Equal(t, "the user of tester", decided[0].Approver)
	}
}

func TestAlwaysIsAnAnswerOfItsOwn(t *testing.T) {
	always := accept(object{"answer": "allow_always"})
	options := asking()
	options.Approve = AskClientAlways
	s := connect(t, newServer(t, options, nil), always)
	r, _ := call[commandResult](t, s, "run", object{"command": "echo x"})
	require.Equal(t, "ended", r.State)
	require.Equal(t, acpterm.ApprovalRejectOnce, approval(
		&mcp.ElicitResult{Action: "accept", Content: object{"answer": "allow_always"}},
		[]acpterm.Approval{acpterm.ApprovalAllowOnce}))
}

func TestOnlyAnAnswerThatAllowsAllows(t *testing.T) {
	for name, client := range map[string]*mcp.ClientOptions{
		"the user denied it":              act("decline"),
		"the user dismissed the question": act("cancel"),
		"does not support elicitation":    nil,
		"the user denied it ":             accept(object{"answer": "reject_once"}),
		"the user denied it  ": answers(func(*mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "decline", Content: object{"answer": "allow_once"}}, nil
		}),
		"out of order": answers(func(*mcp.ElicitParams) (*mcp.ElicitResult, error) { return nil, errors.New("out of order") }),
		"required: missing properties: [\"answer\"]": accept(object{}),
		"does not equal any of":                      accept(object{"answer": "yes"}),
		"type":                                       accept(object{"answer": true}),
		"invalid":                                    act("shrug"),
	} {
		for _, version := range versions {
			t.Run(name+" "+version, func(t *testing.T) {
				s := connect(t, newServer(t, asking(), nil), client, version)
				result, err := s.CallTool(t.Context(), &mcp.CallToolParams{
					Name: "run", Arguments: object{"command": "echo done > " + t.TempDir() + "/ran"},
				})
				if err == nil {
					require.True(t, result.IsError, "%v", textOf(result))
					require.Contains(t, textOf(result), "ask")
				} else {
					require.Equal(t, versions[1], version, "%v", err) // the client itself refuses the answer
				}
				l, _ := call[listResult](t, s, "list", nil)
				for _, c := range l.Commands { // a question that the client has not answered
					require.Equal(t, "starting", c.State)
				}
			})
		}
	}
}

func TestApprovalForTheSessionIsRemembered(t *testing.T) {
	var approvals policy.Approvals
	options := asking()
	options.Policy, options.Approve = approvals.Policy(options.Policy), approvals.Approve(AskClient)
	for _, version := range versions {
		asked := 0
		client := answers(func(*mcp.ElicitParams) (*mcp.ElicitResult, error) {
			asked++
			return &mcp.ElicitResult{Action: "accept", Content: object{"answer": "allow_session"}}, nil
		})
		server := newServer(t, options, nil)
		s := connect(t, server, client, version)
		for range 3 {
			call[commandResult](t, s, "run", object{"command": "true"})
		}
		require.Equal(t, 1, asked)
		other := connect(t, server, client, version)
		call[commandResult](t, other, "run", object{"command": "true"})
		require.Equal(t, 2, asked)
	}
}

func TestCommandTooLongToShowIsDenied(t *testing.T) {
	s := connect(t, newServer(t, asking(), nil), accept(object{"answer": "allow_once"}))
	require.Contains(t, fails(t, s, "run", object{"command": "true " + strings.Repeat("x ", 40<<10)}), "too long to show")
}

func TestAskClientDeniesOtherCommands(t *testing.T) {
	m := acptermtest.NewManager(t, asking())
	_, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "true"}, nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
	require.ErrorContains(t, err, "no MCP client")
}

// slowStart is a Runner whose commands take long to start.
type slowStart struct{ acptermtest.Commands }

func (s slowStart) Start(ctx context.Context, r acpterm.StartRequest) (acpterm.Process, error) {
	select {
	case <-time.After(questionLimit):
		return s.Commands.Start(ctx, r)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// The time in the tests of the limit is that of synctest.
func TestQuestionExpires(t *testing.T) {
	for _, version := range versions {
		synctest.Test(t, func(t *testing.T) {
			options := asking()
			options.Runner = acptermtest.Commands{"*": acptermtest.Print("", 0)}
			client := &mcp.ClientOptions{
				ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					select { // the client of the new version is not told that the question has expired
					case <-ctx.Done():
					case <-time.After(questionLimit + time.Second):
					}
					return &mcp.ElicitResult{Action: "accept", Content: object{"answer": "allow_once"}}, nil
				},
			}
			s := connect(t, newServer(t, options, nil), client, version)
			text := fails(t, s, "run", object{"command": "x"})
			if version < asksByResult {
				require.Contains(t, text, "no answer in ten minutes")
			} else {
				require.Contains(t, text, "no longer open")
			}
			l, _ := call[listResult](t, s, "list", nil)
			require.Empty(t, l.Commands)
		})
	}
}

func TestLateAnswerDoesNotShortenTheStart(t *testing.T) {
	for _, version := range versions {
		synctest.Test(t, func(t *testing.T) {
			options := asking()
			options.Runner = slowStart{acptermtest.Commands{"*": acptermtest.Print("started", 0)}}
			client := answers(func(*mcp.ElicitParams) (*mcp.ElicitResult, error) {
				time.Sleep(questionLimit - time.Second)
				return &mcp.ElicitResult{Action: "accept", Content: object{"answer": "allow_once"}}, nil
			})
			s := connect(t, newServer(t, options, nil), client, version)
			r, _ := call[commandResult](t, s, "run", object{"command": "x"})
			require.Equal(t, "started", r.Output)
		})
	}
}

// A client of the new version, whose calls the test repeats.
func TestQuestionIsAnsweredOnceByTheSameCall(t *testing.T) {
	options := answers(nil)
	options.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	server := newServer(t, asking(), nil)
	s, other := connect(t, server, options), connect(t, server, options)
	question := func(command string) string {
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "run", Arguments: object{"command": command}})
		require.NoError(t, err)
		require.Contains(t, r.InputRequests, questionName)
		require.NotEmpty(t, r.RequestState)
		return r.RequestState
	}
	allow := mcp.InputResponseMap{questionName: &mcp.ElicitResult{
		Action: "accept", Content: object{"answer": "allow_once"},
	}}
	repeat := func(s *mcp.ClientSession, command, state string, answer mcp.InputResponseMap) (string, bool) {
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "run", Arguments: object{"command": command}, RequestState: state, InputResponses: answer,
		})
		require.NoError(t, err)
		return textOf(r), !r.IsError
	}
	state := question("echo harmless")
	for _, try := range []func() (string, bool){
		func() (string, bool) { return repeat(s, "echo harmful", state, allow) },
		func() (string, bool) { return repeat(other, "echo harmless", state, allow) },
		func() (string, bool) { return repeat(s, "echo harmless", "x", allow) },
		func() (string, bool) { return repeat(s, "echo harmless", "", allow) },
	} {
		text, ok := try()
		require.False(t, ok, text)
		require.Contains(t, text, "no longer open")
	}
	text, ok := repeat(s, "echo harmless", state, allow)
	require.True(t, ok)
	require.Contains(t, text, "harmless\n")
	_, ok = repeat(s, "echo harmless", state, allow)
	require.False(t, ok) // it was answered

	for _, answer := range []mcp.InputResponseMap{
		nil, {"other": allow[questionName]}, {questionName: &mcp.ElicitResult{Action: "accept"}},
	} {
		text, ok := repeat(s, "echo x", question("echo x"), answer)
		require.False(t, ok)
		require.Contains(t, text, "denied")
	}
	question("echo never answered") // ends with the session
}

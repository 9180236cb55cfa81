package mcpserver

// Questions of a policy, put to the user by the MCP client (elicitation).

import (
	"context"
	"errors"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
)

// maxQuestion is the length of a question, in bytes. Commands that need more to be shown in full are denied.
const maxQuestion = 32 << 10

// maxRule is the length of the rule in a question, in bytes.
const maxRule = 200

// AskClient asks the user by means of the MCP client that requested the command (elicitation). It is a function for
// acpterm.Options.Approve:
//
//	m, err := acpterm.NewManager(&acpterm.Options{Policy: rules, Approve: mcpserver.AskClient})
//
// The user can allow the command once or for the rest of the session, or deny it. Wrap AskClient with policy.Approvals
// to remember the answer. The command is denied if it was not requested through a Server, if the client does not
// support elicitation, if the user dismisses the question or does not answer in ten minutes, and if the question is
// longer than 32 KiB.
//
// The answer comes from the client, which is also the agent's program. Some clients can be set up to answer by
// themselves. To ask the user in another way, use a function of your own.
func AskClient(ctx context.Context, q acpterm.Question) acpterm.Answer {
	return askClient(ctx, q, acpterm.ApprovalAllowOnce, acpterm.ApprovalSession)
}

// AskClientAlways is AskClient with one more answer, acpterm.ApprovalAllowAlways, for hosts that keep it. See
// acpterm.Answer and policy.Approvals.
func AskClientAlways(ctx context.Context, q acpterm.Question) acpterm.Answer {
	return askClient(ctx, q, acpterm.ApprovalAllowOnce, acpterm.ApprovalSession, acpterm.ApprovalAllowAlways)
}

// askClient asks the user, who can allow the command in some ways, or deny it.
func askClient(ctx context.Context, q acpterm.Question, ways ...acpterm.Approval) acpterm.Answer {
	ask, ok := ctx.Value(clientKey{}).(client)
	if !ok {
		return acpterm.Answer{Reason: "approval is required, and there is no MCP client to ask for it"}
	}
	text, omitted := display.Question(q, maxQuestion)
	if q.Rule != "" {
		text += "rule       " + display.Quote(q.Rule, maxRule) + "\n"
	}
	if omitted > 0 || len(text) > 3*maxQuestion {
		return acpterm.Answer{Reason: "approval is required, and the command is too long to show; use a shorter one"}
	}
	result, err := ask.question(ctx, &mcp.ElicitParams{
		Message: "An agent wants to run a command:\n" + text, RequestedSchema: answerSchema(ways),
	})
	if err != nil {
		return acpterm.Answer{Reason: "approval is required, and the MCP client cannot ask for it: " + err.Error()}
	}
	return acpterm.Answer{Approval: approval(result, ways), Reason: refusal(result), By: "the user of " + ask.name}
}

// answerSchema describes the form that the client shows.
func answerSchema(ways []acpterm.Approval) *jsonschema.Schema {
	var answers []any
	for _, way := range ways {
		answers = append(answers, way.String())
	}
	answers = append(answers, acpterm.ApprovalRejectOnce.String())
	return &jsonschema.Schema{
		Type: "object",
		Properties: map[string]*jsonschema.Schema{"answer": {
			Type: "string", Title: "Answer", Description: "Whether the command may run",
			Enum: answers,
		}},
		Required: []string{"answer"},
	}
}

// approval returns the decision in a form. Everything but the ways to allow is a rejection.
func approval(r *mcp.ElicitResult, ways []acpterm.Approval) acpterm.Approval {
	if r == nil || r.Action != "accept" {
		return acpterm.ApprovalRejectOnce
	}
	for _, a := range ways {
		if r.Content["answer"] == a.String() {
			return a
		}
	}
	return acpterm.ApprovalRejectOnce
}

func refusal(r *mcp.ElicitResult) string {
	if r != nil && r.Action == "cancel" {
		return "the user dismissed the question"
	}
	return "the user denied it"
}

// client is how questions about a command reach its user. It is a value of the context of Manager.Create.
type client struct {
	name     string
	question func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error)
}

type clientKey struct{}

// canAsk reports whether a client supports forms. A client that supports nothing in particular supports forms.
func canAsk(ss *mcp.ServerSession) error {
	p := ss.InitializeParams()
	if p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil ||
		p.Capabilities.Elicitation.Form == nil && p.Capabilities.Elicitation.URL != nil {
		return errors.New("it does not support elicitation")
	}
	return nil
}

// Package permission lets a person answer once for a command that an agent announces and then creates.
//
// An agent asks its client before it runs a tool call, by session/request_permission
// (https://agentclientprotocol.com/protocol/v1/tool-calls#requesting-permission), and creates the terminal after that.
// Where a policy says acpterm.VerdictAsk, the person would be asked a second time. A [Bridge] remembers the person's
// answer to the first question, and gives it to the second one if what will run is what was shown.
//
//	var bridge permission.Bridge
//	m, err := acpterm.NewManager(&acpterm.Options{Policy: rules, Approve: bridge.Approve(ask)})
//
//	// session/request_permission, in a goroutine that may wait for a person:
//	request, err := permission.Read(params)
//	if err != nil {
//		return nil, err // acpterm.ResponseError makes it one for the wire
//	}
//	request.Dir = cwd // of the session
//	return bridge.Answer(ctx, request, choose), nil
//
// An answer stands in for Options.Approve only if all of this holds:
//
//   - The session is the same.
//   - The command is the same, byte for byte: a line that the shell runs, or a program and its arguments, word for
//     word. A plain word (see [Command]) can be either. No policy has put another program or line in its place.
//   - The request to create sets no variables.
//   - The directory is the one that was shown. If none was shown, the request names none.
//   - It is not older than Bridge.Lifetime, no create has used it, and the session was not forgotten.
//
// In all other cases the person is asked as if there were no Bridge.
//
// An option's kind is a promise of the agent's. This is what it means here:
//
//   - allow_once allows one create.
//   - allow_always allows one create too, with acpterm.ApprovalSession: policy.Approvals then remembers it, for this
//     command in this session, until CloseSession. ACP lets the agent decide what it does not ask about again; that is
//     no permission for other commands here.
//   - reject_once denies one create: an agent that goes on after a no does not get a second question.
//   - reject_always denies one create, with acpterm.ApprovalRejectAlways: policy.Approvals then remembers it, for
//     this command in every session.
//   - Any other kind answers the agent alone.
//
// A rejection takes back what was allowed before for the same command, and was not used. It does not take back
// an answer in policy.Approvals: Approvals.Revoke does.
//
// # What callers owe
//
// Show [Request.Text] and, on each button, [Option.Text]: names are the agent's words, and one may say "No" of a kind
// that allows. Let no one allow what was not shown as a whole.
//
// Answer only requests for sessions of the connection that they came through, or one agent speaks for another. End the
// ctx of a session's Answers and then call [Bridge.Forget], when the session ends and when the person cancels its turn.
//
// Names are compared, not files: between the answer and the create, a process may replace the program or what a link
// leads to. The person has not seen the decision's Rule and Reason either, nor Question.Unverified. A host that wants a
// question for some rule in any case calls its own function for that, and the Bridge's for the rest. Which program
// has a name, which shell runs a line, and in what environment and session's directory, is the host's to choose.
//
// The package imports the root package, the package display and the standard library.
package permission

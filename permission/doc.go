// Package permission lets a user answer once for a command that an agent announces and then creates.
//
// Before a tool call, an agent asks its client by session/request_permission
// (https://agentclientprotocol.com/protocol/v1/tool-calls#requesting-permission), and then creates the terminal. If a
// policy returns acpterm.VerdictAsk for it, the user would be asked again. A [Bridge] remembers the user's answer to
// the first question and uses it for the second one if the command to run is the one shown.
//
//	var bridge permission.Bridge
//	m, err := acpterm.NewManager(&acpterm.Options{Policy: rules, Approve: bridge.Approve(ask)})
//
//	// session/request_permission, in a goroutine that may wait for the user:
//	request, err := permission.Read(params)
//	if err != nil {
//		return nil, err // acpterm.ResponseError makes it one for the wire
//	}
//	request.Dir = cwd // of the session
//	return bridge.Answer(ctx, request, choose), nil
//
// An answer is used instead of calling Options.Approve only if all of the following hold:
//
//   - The session is the same.
//   - The command is the same, byte for byte: a shell line, or a program and its arguments, word for word. A plain word
//     (see [Command]) can be either. No policy has substituted another program or line.
//   - The create request does not set variables.
//   - The directory is the one shown. If none was shown, the request does not name one.
//   - The answer is not older than Bridge.Lifetime and has not been used, and the session has not been forgotten.
//
// Otherwise the user is asked as if the Bridge did not exist.
//
// The kind of an option is a promise of the agent. Kinds have the following meaning here:
//
//   - allow_once allows one create.
//   - allow_always also allows one create, but with acpterm.ApprovalSession, which makes policy.Approvals remember it
//     for this command in this session, until CloseSession. In ACP, the agent decides which questions not to repeat,
//     but here that does not permit other commands.
//   - reject_once denies one create, so an agent that continues after a rejection does not cause a second question.
//   - reject_always denies one create, with acpterm.ApprovalRejectAlways, which makes policy.Approvals remember it for
//     this command in every session.
//   - Any other kind affects only the answer to the agent.
//
// A rejection revokes earlier, unused permissions for the same command. It does not revoke answers remembered by
// policy.Approvals; use Approvals.Revoke for them.
//
// # Responsibilities of callers
//
// Show [Request.Text] and, on each button, [Option.Text], because names are chosen by the agent, and an option named
// "No" may have a kind that allows. Do not let the user allow a request unless it is shown completely.
//
// Answer only requests for sessions of the connection they arrived on. Otherwise one agent could speak for another.
// When a session ends, or its turn is cancelled, cancel the ctx of its Answers and then call [Bridge.Forget].
//
// The Bridge compares names, not files. Between the answer and the create, a process may replace the program or the
// target of a symbolic link. The user has not seen the decision's Rule and Reason, or Question.Unverified. To ask about
// a rule in any case, a host can call its own function for that rule and the Bridge's for all others. The host chooses
// the program for a name, the shell for a line, the environment and the session's directory.
package permission

// Package permission lets a user answer once for a command that an agent announces and then creates.
//
// An agent asks its client before a tool call, by session/request_permission
// (https://agentclientprotocol.com/protocol/v1/tool-calls#requesting-permission), and then creates the terminal. Where
// a policy says acpterm.VerdictAsk, the user would be asked a second time. A [Bridge] remembers the user's answer to
// the first question, and uses it for the second one if the command to run equals the shown command.
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
// An answer replaces a call of Options.Approve only if all of these conditions hold:
//
//   - The session is the same.
//   - The command is the same, byte for byte: a line for the shell, or a program and its arguments, word for word. A
//     plain word (see [Command]) can be either. No policy has substituted another program or line.
//   - The create request does not set variables.
//   - The directory equals the shown directory. If none was shown, the request does not name one.
//   - The answer is not older than Bridge.Lifetime, no create has used it, and the session was not forgotten.
//
// In all other cases the user is asked as if the Bridge did not exist.
//
// The kind of an option is a promise of the agent. Here it has these meanings:
//
//   - allow_once allows one create.
//   - allow_always also allows one create, but with acpterm.ApprovalSession: policy.Approvals then remembers it, for
//     this command in this session, until CloseSession. In ACP the agent decides which questions it does not repeat;
//     here that does not permit other commands.
//   - reject_once denies one create: an agent that continues after a rejection does not get a second question.
//   - reject_always denies one create, with acpterm.ApprovalRejectAlways: policy.Approvals then remembers it, for this
//     command in every session.
//   - Any other kind affects only the answer to the agent.
//
// A rejection revokes earlier, unused permissions for the same command. It does not revoke an answer in
// policy.Approvals: Approvals.Revoke does.
//
// # Responsibilities of callers
//
// Show [Request.Text] and, on each button, [Option.Text]: names are the agent's words, and an option named "No" may
// have a kind that allows. Do not let the user allow an incompletely shown request.
//
// Answer only requests for sessions of the connection that they came through; otherwise one agent could speak for
// another. When a session ends, and when the user cancels its turn, end the ctx of the session's Answers and then call
// [Bridge.Forget].
//
// The Bridge compares names, not files: between the answer and the create, a process may replace the program or the
// target of a symbolic link. The user has also not seen the decision's Rule and Reason, nor Question.Unverified. A host
// that always wants a question for some rule calls its own function for that rule, and the Bridge's function for the
// rest. The host chooses the program for a name, the shell for a line, the environment and the session's directory.
package permission

// Package permission spares users from having to approve the same command twice.
//
// Before a tool call, an agent asks for permission with session/request_permission
// (https://agentclientprotocol.com/protocol/v1/tool-calls#requesting-permission), and then creates the terminal. If a
// policy returns acpterm.VerdictAsk for that terminal, the user would be asked a second time. A [Bridge] remembers the
// user's first answer and gives it again, provided that the command about to run is the one that the user saw.
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
// A remembered answer is used only if all of the following are true:
//
//   - The session is the same.
//   - The command is the same, byte for byte: either a shell line, or a program and its arguments. A single plain word
//     (see [Command]) can be both. No policy has substituted another program or line.
//   - The create request sets no environment variables.
//   - The directory is the one shown or, if none was shown, the create request does not name one.
//   - The answer is no older than Bridge.Lifetime and has not been used yet, and the session has not been forgotten.
//
// Otherwise, the user is asked as usual.
//
// An option's kind is only a promise made by the agent. A Bridge interprets the kinds as follows:
//
//   - allow_once allows a single create request.
//   - allow_always also allows a single create request, but with acpterm.ApprovalSession, which causes policy.Approvals
//     to remember it for this command in this session until CloseSession is called. In ACP, it is up to the agent which
//     questions not to repeat, but here that does not permit any other command.
//   - reject_once denies a single create request, so an agent that carries on does not cause a second question.
//   - reject_always denies a single create request with acpterm.ApprovalRejectAlways, which causes policy.Approvals to
//     remember the rejection for this command in every session.
//   - Any other kind only affects the response to the agent.
//
// A rejection also revokes earlier, unused permissions for the same command, but not answers remembered by
// policy.Approvals. Use Approvals.Revoke for those.
//
// # Responsibilities of callers
//
// Show the user [Request.Text], and [Option.Text] on each button. Names are chosen by the agent, so an option named
// "No" may have a kind that allows. Do not let users allow a request until all of it has been shown.
//
// Answer a request only if its session belongs to the connection it arrived on. Otherwise, one agent could speak for
// another. When a session ends, or its turn is cancelled, cancel the ctx of its Answers, then call [Bridge.Forget].
//
// Note that a Bridge compares names, not files, so a process may replace the program or the target of a symbolic link
// between the answer and the create request. The user has not seen the decision's Rule and Reason, nor
// Question.Unverified. To always ask about a rule, call your own function for it, and the Bridge's for all other rules.
// The host still chooses the program for a name, the shell for a line, the environment and the session's directory.
package permission

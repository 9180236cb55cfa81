// Package permission spares users from having to approve the same command twice.
//
// Before it makes a tool call, an agent asks for permission using session/request_permission
// (https://agentclientprotocol.com/protocol/v1/tool-calls#requesting-permission), and then creates the terminal. If a
// policy were to return acpterm.VerdictAsk for that terminal, the user would be asked a second time. To avoid this, a
// [Bridge] remembers the user's first answer and uses it again, provided that the command about to run is the same one
// that was shown to the user.
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
// Requests of ACP v2 are read in the same way. They name the command in [Request.Subject]. An agent of v2 runs it
// itself or by calling a tool of the client. In the second case, a Bridge answers the question that follows. It does
// not remember that the user allowed a command for which the agent already has a terminal.
//
// A remembered answer is used only if all of the following are true:
//
//   - The session is the same.
//   - The command is the same, byte for byte. It is either a shell line or a program and its arguments, although a
//     single plain word (see [Command]) can be both. No policy has substituted another program or line.
//   - The create request does not set any environment variables.
//   - The directory is the one shown to the user or, if none was shown, the create request does not specify a
//     directory.
//   - The answer is no older than one minute and has not been used yet, and the session has not been forgotten.
//
// Otherwise, the user is asked as usual.
//
// Note that the kind of an option is only a promise made by the agent. A Bridge interprets the kinds as follows:
//
//   - allow_once allows a single create request.
//   - allow_always also allows a single create request, but with acpterm.ApprovalSession, which causes policy.Approvals
//     to remember it for this command in this session until CloseSession is called. In ACP, the agent decides which
//     questions it does not repeat, but a Bridge does not permit any other command as a result.
//   - reject_once denies a single create request, so the user is not asked a second time if the agent carries on
//     regardless.
//   - reject_always denies a single create request with acpterm.ApprovalRejectAlways, which causes policy.Approvals to
//     remember the rejection for this command in every session.
//   - Any other kind only affects the response to the agent.
//
// A rejection also revokes any earlier, unused permissions for the same command. It does not revoke answers remembered
// by policy.Approvals. To revoke those as well, use Approvals.Revoke.
//
// # Responsibilities of callers
//
// Be sure to show [Request.Text] to the user, and to show [Option.Text] on each button. Since the names of options are
// chosen by the agent, an option named "No" may actually have a kind that allows the request. Users should not be able
// to allow a request until all of it has been shown.
//
// A request should only be answered if it arrived on the connection that its session belongs to. Otherwise, one agent
// could act on behalf of another. When a session ends, or when its turn is cancelled, cancel the ctx passed to each
// call to Answer for that session, and then call [Bridge.Forget].
//
// Note that a Bridge compares names rather than files, so a process may replace the program or the target of a symbolic
// link after the user has answered but before the create request is made. Also note that the user was not shown the
// decision's Rule and Reason or Question.Unverified. If the user should always be asked about a rule, write a function
// that asks about this rule and calls the function returned by [Bridge.Approve] for all other rules. It is still up to
// the host to choose the program for a name, the shell for a line, the environment, and the session's directory.
package permission

package agent

// One Run of Terminals: the updates of its tool call, and the command in the agent's own Manager.

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/acpterm/acpterm"
)

// shown is a running tool call.
type shown struct {
	*toolClient
	manager  *acpterm.Manager // nil if the client runs the command
	reporter *Reporter
	call     ToolCall
	posted   []*notification // in order
}

// post queues an update.
func (s *shown) post(update any) *notification {
	n := s.reporter.post(s.call.Request.SessionID, update)
	s.posted = append(s.posted, n)
	return n
}

// tell sends an update. It withdraws the update if the client does not read it within the grace.
func (s *shown) tell(ctx context.Context, update any) {
	n := s.post(update)
	if s.withGrace(ctx, n.await) != nil {
		s.reporter.out.withdraw(n)
	}
}

// withdraw withdraws the tool call, with the report of its terminal. It reports false if part of it has been sent.
// Later parts then stay in the queue, but only few calls are in this state.
func (s *shown) withdraw(id acpterm.TerminalID) bool {
	if !s.reporter.out.withdraw(s.posted[0]) {
		return false
	}
	for _, n := range s.posted[1:] {
		s.reporter.out.withdraw(n)
	}
	s.reporter.drop(s.call.Request.SessionID, id)
	return true
}

// update returns an update of the tool call that changes nothing.
func (s *shown) update() toolCallUpdate {
	return toolCallUpdate{SessionUpdate: "tool_call_update", ToolCallID: s.call.ID}
}

// announce begins the tool call. The _meta convention requires the terminal to be in it from the beginning.
func (s *shown) announce() {
	request := s.call.Request
	update := s.update()
	if !s.version2 {
		update.SessionUpdate = "tool_call"
	}
	line := commandLine(request)
	update.Title, update.Kind, update.Status = s.call.Title, "execute", "in_progress"
	if update.Title == "" {
		update.Title = line
	}
	update.RawInput = map[string]any{"command": line}
	if request.Cwd != "" {
		update.RawInput["cwd"] = request.Cwd
	}
	if s.version2 {
		update.Capabilities = json.RawMessage(canBeCancelled)
	}
	if s.byMeta() {
		update.Content = []json.Marshaler{s.metaContent()}
		update.Meta = map[string]any{"terminal_info": terminalInfo{s.call.ID, request.Cwd}}
	}
	s.post(update)
}

// commandLine returns a request's command as shown to the user. It omits variables, which may be secret.
func commandLine(request acpterm.CreateTerminalRequest) string {
	if len(request.Args) == 0 {
		return request.Command
	}
	return acpterm.Command{Args: append([]string{request.Command}, request.Args...)}.String()
}

// byMeta reports whether the _meta convention shows the command.
func (s *shown) byMeta() bool { return s.manager != nil && s.metaKey != "" }

func (s *shown) metaContent() Content { return Content{TerminalID: acpterm.TerminalID(s.call.ID)} }

// runHere runs the command in the Manager. It ends the command if the Reporter ends, for example with the connection.
func (s *shown) runHere(ctx context.Context, result *ToolCallResult) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.reporter.ctx, func() { cancel(context.Cause(s.reporter.ctx)) })()
	t, err := s.manager.Create(ctx, s.call.Request, nil)
	if err != nil {
		return err
	}
	result.TerminalID = t.ID()
	s.show(t, result)
	err = result.await(ctx, t, s.call.Timeout)
	// The release ends the remaining processes of the command, and so the output.
	err = joinErrors(err, s.manager.Release(context.WithoutCancel(ctx), t.SessionID(), t.ID()))
	if !s.version2 && !s.byMeta() {
		result.Content = []json.Marshaler{textContent(fenced(result.Output, result.Truncated))}
	}
	return err
}

// show begins to show a terminal of the Manager.
func (s *shown) show(t *acpterm.Terminal, result *ToolCallResult) {
	switch {
	case s.version2:
		result.Content = []json.Marshaler{Content{TerminalID: t.ID()}}
		update := s.update()
		update.Content = result.Content
		s.post(update)
		s.reporter.Report(t, nil)
	case s.byMeta():
		result.Content = []json.Marshaler{s.metaContent()}
		s.reporter.report(t, metaVoice{s.call.ID, s.metaKey}, false)
	}
}

// await waits for a terminal of the Manager, and kills its command after the timeout.
func (r *Result) await(ctx context.Context, t *acpterm.Terminal, timeout time.Duration) (err error) {
	var expired <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-t.Done():
		r.Outcome = Completed
	case <-expired:
		r.Outcome = TimedOut
		err = t.Kill(ctx)
	case <-ctx.Done():
		if _, err = t.Wait(ctx); err == nil {
			r.Outcome = Completed
		}
	}
	out := t.Output()
	r.Output, r.Truncated, r.ExitStatus = out.Output, out.Truncated, out.ExitStatus
	return err
}

// finish ends the tool call. failed is the error of the run, or nil.
func (s *shown) finish(ctx context.Context, result *ToolCallResult, failed error) error {
	update := s.update()
	if s.version2 {
		update.Capabilities = json.RawMessage(noCapabilities)
	}
	switch {
	case result.Outcome == Completed && result.ExitStatus != nil && result.ExitStatus.Success():
		update.Status = "completed"
	case s.version2 && result.Outcome == "" && ctx.Err() != nil:
		update.Status = "cancelled"
	default:
		update.Status = "failed"
	}
	if result.TerminalID == "" && failed != nil {
		result.Content = []json.Marshaler{textContent(failed.Error())}
		if s.byMeta() {
			s.post(metaVoice{s.call.ID, s.metaKey}.exited(acpterm.TerminalExitStatus{}))
		}
	}
	if len(result.Content) > 0 {
		if _, isText := result.Content[0].(textContent); isText {
			update.Content = result.Content // terminals were sent before, and a client may not know a released one
		}
	}
	id := result.TerminalID
	return s.withGrace(context.WithoutCancel(ctx), func(ctx context.Context) error {
		err := s.reporter.flush(ctx, s.call.Request.SessionID, id) // returns immediately for a client's terminal
		last := s.post(update)
		if err == nil {
			err = last.await(ctx)
		}
		if err != nil {
			s.withdraw(id)
		}
		return err
	})
}

// fenced returns output as a block of Markdown. Clients show texts as Markdown.
func fenced(output string, truncated bool) string {
	if truncated {
		output = "[the beginning of the output is not shown]\n" + output
	}
	fence := "```"
	for strings.Contains(output, fence) {
		fence += "`"
	}
	if output != "" && !strings.HasSuffix(output, "\n") {
		output += "\n"
	}
	return fmt.Sprintf("%sconsole\n%s%s", fence, output, fence)
}

package mcpserver

// The calls of the tools.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/acpterm/acpterm"
)

const (
	defaultWait = 30 * time.Second
	// quietWait is the longest wait of a call over HTTP without progress notifications. Node.js gives up on responses
	// that send nothing for five minutes.
	quietWait = 4 * time.Minute
	// maxLabel is the most bytes of a command, a directory or a description in a list.
	maxLabel = 200
	// killShare is the part of MaxText, as 1/killShare, that a result of kill may have: the model has asked for no output.
	killShare = 8
	// longRun is from when on a result says how long the command has been running.
	longRun = 10 * time.Second
)

func (c *session) run(ctx context.Context, req *mcp.CallToolRequest, in runInput) (
	*mcp.CallToolResult, commandResult, error,
) {
	if in.PTY && in.Stdin {
		return nil, commandResult{}, errors.New("pty and stdin are both set; pass either of them")
	}
	ctx, done := c.within(ctx)
	defer done()
	t, question, err := c.create(ctx, req, in)
	if err != nil || question != nil {
		return question, commandResult{}, c.explain(advice(naming(err, in)))
	}
	stop := report(ctx, req, t)
	err = c.await(ctx, t, c.limit(req, in.WaitMS, defaultWait))
	stop()
	if err != nil {
		if in.KillOnCancel {
			t.Kill(ctx) // begins, and does not wait, because ctx is done
		}
		return nil, commandResult{}, advice(err)
	}
	return c.describe(t, readState(t), 0, in.MaxBytes, showEnds)
}

// request returns the request for a call of run. Its Meta has the description and the trace context of the call, and
// asks for the beginning of the output.
func (c *session) request(req *mcp.CallToolRequest, in runInput) acpterm.CreateTerminalRequest {
	r := acpterm.CreateTerminalRequest{
		SessionID: c.id, Command: in.Command, Args: in.Args, Cwd: c.cwd(in.Cwd),
		Meta: acpterm.Meta{limitsName: fmt.Appendf(nil, `{"headBytes":%d}`, c.options.maxText()/headShare)},
	}
	for _, name := range slices.Sorted(maps.Keys(in.Env)) {
		r.Env = append(r.Env, acpterm.EnvVariable{Name: name, Value: in.Env[name]})
	}
	for _, name := range []string{"traceparent", "tracestate", "baggage"} {
		if value, ok := req.Params.Meta[name].(string); ok {
			r.Meta[name], _ = json.Marshal(value)
		}
	}
	if in.Description != "" {
		r.Meta[descriptionName], _ = json.Marshal(shorten(in.Description, maxLabel))
	}
	return r
}

// The keys of Meta.
const (
	descriptionName = "description"
	limitsName      = "acpterm"
)

// limit returns how long a call waits, by default for otherwise.
func (c *session) limit(req *mcp.CallToolRequest, ms *int64, otherwise time.Duration) time.Duration {
	most := c.options.maxWait()
	if c.quiet > 0 && req.Params.GetProgressToken() == nil {
		most = min(most, c.quiet)
	}
	if ms == nil {
		return min(otherwise, most)
	}
	return time.Duration(min(max(*ms, 0), most.Milliseconds())) * time.Millisecond
}

// await waits until a command has ended, the model should hear of it or the user moves it to the background, but not
// longer than limit. It fails if ctx is done first.
func (c *session) await(ctx context.Context, t *acpterm.Terminal, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	found, stop := c.awaitNews(ctx, t)
	defer stop()
	select {
	case <-t.Done():
	case <-found:
	case <-t.Released():
	case <-t.Backgrounded():
	case <-timer.C:
	case <-ctx.Done():
		return c.cancelled(ctx, t)
	}
	return nil
}

// cancelled returns the error of a call whose context is done.
func (c *session) cancelled(ctx context.Context, t *acpterm.Terminal) error {
	if c.ctx.Err() != nil {
		return closing("wait")
	}
	return &acpterm.Error{Op: "wait", TerminalID: t.ID(), Kind: acpterm.ErrCancelled, Err: context.Cause(ctx)}
}

func (c *session) wait(ctx context.Context, req *mcp.CallToolRequest, in waitInput) (
	*mcp.CallToolResult, commandResult, error,
) {
	t, err := c.terminal(in.ID)
	if err != nil {
		return nil, commandResult{}, err
	}
	match, err := matcher(in.Until, in.UntilRegexp)
	if err != nil {
		return nil, commandResult{}, err
	}
	var from int64 // where the search for a match begins
	if in.Offset != nil {
		from = *in.Offset
		if total := t.OutputTotal(); from < 0 {
			from = max(0, from+total)
		}
	}
	ctx, done := c.within(ctx)
	defer done()
	stop := report(ctx, req, t)
	var line string
	var found *bool
	if match == nil {
		err = c.await(ctx, t, c.limit(req, in.WaitMS, defaultWait))
	} else {
		line, found = c.awaitMatch(ctx, t, from, match, c.limit(req, in.WaitMS, defaultWait))
		if ctx.Err() != nil {
			err = c.cancelled(ctx, t)
		}
	}
	stop()
	if err != nil {
		return nil, commandResult{}, advice(err)
	}
	r := readState(t)
	r.Matched, r.MatchedLine = found, shorten(line, maxErrorText)
	offset := int64(unseen)
	if in.Offset != nil || r.failed() && c.command(t).shown.isCut() { // then it may have left out the first errors
		offset = from
	}
	return c.describe(t, r, offset, in.MaxBytes, showEnds)
}

// awaitMatch waits until a line matches, both the command and its output have ended, the user moves the command to the
// background, or limit has passed. Processes that the command has left in the background may still write to its output. With a limit of 0, awaitMatch looks at the
// output that exists.
func (c *session) awaitMatch(
	ctx context.Context, t *acpterm.Terminal, offset int64, match func(string) bool, limit time.Duration,
) (string, *bool) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	moved := t.Backgrounded()
	go func() {
		select {
		case <-moved:
			cancel()
		case <-ctx.Done():
		}
	}()
	line, found := awaitLine(ctx, t, offset, match)
	if !found && ctx.Err() == nil { // the output has ended, usually just before the command
		select {
		case <-t.Done():
		case <-ctx.Done():
		}
	} else if !found { // a limit of 0, or output that arrived at the last moment
		line, found = awaitLine(&unwaiting{}, t, offset, match)
	}
	return line, &found
}

func (c *session) output(_ context.Context, _ *mcp.CallToolRequest, in outputInput) (
	*mcp.CallToolResult, commandResult, error,
) {
	t, err := c.terminal(in.ID)
	if err != nil {
		return nil, commandResult{}, err
	}
	part, ok := map[string]show{"": showEnds, "ends": showEnds, "start": showStart, "end": showEnd}[in.Show]
	if !ok {
		return nil, commandResult{}, fmt.Errorf(`show is %q; pass "ends", "start" or "end"`, shorten(in.Show, maxLabel))
	}
	return c.describe(t, readState(t), in.Offset, in.MaxBytes, part)
}

func (c *session) kill(ctx context.Context, req *mcp.CallToolRequest, in idInput) (
	*mcp.CallToolResult, commandResult, error,
) {
	t, err := c.terminal(in.ID)
	if err != nil {
		return nil, commandResult{}, err
	}
	ctx, done := c.within(ctx)
	defer done()
	stop := report(ctx, req, t)
	err = t.Kill(ctx)
	stop()
	if err != nil {
		return nil, commandResult{}, advice(err)
	}
	return c.describe(t, readState(t), unseen, c.options.maxText()/killShare, showEnd)
}

func (c *session) release(ctx context.Context, _ *mcp.CallToolRequest, in idInput) (
	*mcp.CallToolResult, releaseResult, error,
) {
	ctx, done := c.within(ctx)
	defer done()
	if in.ID == endedCommands {
		return c.releaseEnded(ctx)
	}
	if err := c.manager.Release(ctx, c.id, c.terminalID(in.ID)); err != nil {
		return nil, releaseResult{}, advice(err)
	}
	return text("Released " + in.ID + "."), releaseResult(in), nil
}

// endedCommands is the id that means all commands that have ended. Models seldom release commands one by one.
const endedCommands = "ended"

func (c *session) releaseEnded(ctx context.Context) (*mcp.CallToolResult, releaseResult, error) {
	var releases sync.WaitGroup
	var mu sync.Mutex
	released := 0
	var failed error
	for _, t := range c.manager.SessionTerminals(c.id) {
		if state := t.State(); state != acpterm.StateEnded && state != acpterm.StateFailed {
			continue
		}
		releases.Go(func() {
			err := c.manager.Release(ctx, c.id, t.ID())
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				released++
			}
			failed = cmp.Or(failed, err)
		})
	}
	releases.Wait()
	if failed != nil {
		return nil, releaseResult{}, advice(failed)
	}
	return text(fmt.Sprintf("Released the %d commands that had ended.", released)), releaseResult{endedCommands}, nil
}

func (c *session) list(context.Context, *mcp.CallToolRequest, listInput) (*mcp.CallToolResult, listResult, error) {
	all := c.manager.SessionTerminals(c.id)
	r := listResult{Commands: []listedCommand{}}
	size := 0
	for _, t := range slices.Backward(all) { // the newest are more useful
		l := c.listed(t)
		if size += len(l.Command) + len(l.Cwd) + len(l.Description) + maxLabel; size > c.options.maxText() {
			r.Omitted = len(all) - len(r.Commands)
			break
		}
		r.Commands = append(r.Commands, l)
	}
	slices.Reverse(r.Commands)
	return text(r.String()), r, nil
}

func (c *session) listed(t *acpterm.Terminal) listedCommand {
	info, state := t.Info(), readState(t)
	l := listedCommand{
		ID: c.command(t).id, State: state.State, ExitCode: state.ExitCode, Signal: state.Signal, RunMS: state.RunMS,
		Command: shorten(info.Command.String(), maxLabel), Cwd: shorten(info.Command.Dir, maxLabel),
		OutputBytes: info.Written,
	}
	json.Unmarshal(t.Request().Meta[descriptionName], &l.Description) // is ours, or absent
	return l
}

// terminal returns a terminal of this session.
func (c *session) terminal(id string) (*acpterm.Terminal, error) {
	t, err := c.manager.Terminal(c.id, c.terminalID(id))
	if err != nil {
		return nil, advice(err)
	}
	return t, nil
}

// readState returns the state of a command. If the command has ended, a later read of the output is complete.
func readState(t *acpterm.Terminal) commandResult {
	info := t.Info()
	r := commandResult{State: info.State.String()}
	if info.EndedBy != acpterm.EndedByItself {
		r.EndedBy = string(info.EndedBy)
	}
	r.MovedToBackground = info.Backgrounded && info.State == acpterm.StateRunning
	if s := info.ExitStatus; s != nil {
		r.ExitCode = s.ExitCode
		if s.Signal != nil {
			r.Signal = *s.Signal
		}
	}
	switch {
	case info.Started.IsZero():
	case info.Ended.IsZero():
		r.RunMS = time.Since(info.Started).Milliseconds()
	default:
		r.RunMS = info.Ended.Sub(info.Started).Milliseconds()
	}
	return r
}

// describe completes a result with output.
func (c *session) describe(t *acpterm.Terminal, r commandResult, offset int64, limit int, part show) (
	*mcp.CallToolResult, commandResult, error,
) {
	known := c.command(t)
	r.ID = known.id
	c.look(t, &r)
	most := c.options.maxText()
	if limit > 0 {
		most = min(most, max(limit, minText))
	}
	var failures []piece
	if r.failed() {
		failures = c.failuresOf(t)
	}
	e := known.shown.excerpt(t, offset, most, part, failures)
	r.Output, r.OmittedBytes, r.LostBytes, r.More = e.text, e.omitted, e.lost, e.more
	if offset != unseen {
		r.Offset = e.offset
	}
	if r.More || r.State == acpterm.StateRunning.String() && !r.WaitsForInput {
		r.NextOffset = e.next
	}
	if strings.Contains(r.Output, r.MatchedLine) {
		r.MatchedLine = ""
	}
	if r.RunMS < longRun.Milliseconds() {
		r.RunMS = 0
	}
	return text(r.String()), r, nil
}

// failed reports whether the command has ended without success.
func (r *commandResult) failed() bool { return r.Signal != "" || r.ExitCode != nil && *r.ExitCode != 0 }

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// String returns a result as text for a model: a line about the command, and the output.
func (r commandResult) String() string {
	about := fmt.Sprintf("[%s %s", r.ID, status(r.State, r.Signal, r.ExitCode))
	switch r.EndedBy {
	case "":
	case string(acpterm.EndedByIdle):
		about += ", because it was silent and idle for too long"
	case string(acpterm.EndedByUser):
		about += ", stopped by the user: do not run it again unless asked"
	default:
		about += ", " + r.EndedBy
	}
	if r.MovedToBackground {
		about += ", moved to the background by the user: do not wait for it"
	}
	if r.RunMS > 0 {
		about += ", after " + (time.Duration(r.RunMS) * time.Millisecond).Round(time.Second).String()
	}
	switch {
	case r.Matched == nil:
	case !*r.Matched:
		about += ", no match"
	case r.MatchedLine != "":
		about += ", matched: " + r.MatchedLine
	default:
		about += ", matched"
	}
	if r.WaitsForInput {
		about += ", waits for input"
	}
	if len(r.Listening) > 0 {
		about += ", listening on " + strings.Join(r.Listening, " and ")
	}
	if r.NextOffset > 0 {
		about += fmt.Sprintf("; next_offset %d", r.NextOffset)
	}
	about += "]"
	if r.Output != "" {
		about += "\n" + r.Output
	}
	return about
}

// status returns how a command is, as text for a model.
func status(state, signal string, exitCode *uint32) string {
	switch {
	case signal != "":
		return state + " by " + signal
	case exitCode != nil:
		return fmt.Sprintf("exit code %d", *exitCode)
	}
	return state
}

// String returns the list as text for a model, one line for each command.
func (r listResult) String() string {
	if len(r.Commands) == 0 {
		return "There are no commands in this session."
	}
	lines := ""
	if r.Omitted > 0 {
		lines = fmt.Sprintf("[… %d older commands omitted …]\n", r.Omitted)
	}
	for _, l := range r.Commands {
		lines += fmt.Sprintf("%s %s: %s", l.ID, status(l.State, l.Signal, l.ExitCode), l.Command)
		if l.Description != "" {
			lines += " (" + l.Description + ")"
		}
		lines += "\n"
	}
	return lines
}

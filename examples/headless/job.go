package main

// This file runs one agent and its session, from start to end, and makes the result.

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/permission"
)

// job is an agent, its task, and its directory.
type job struct {
	Name   string            `json:"name"`
	Dir    string            `json:"dir"` // its commands run in it and below
	Agent  []string          `json:"agent"`
	Prompt string            `json:"prompt"`
	Env    map[string]string `json:"env"` // for this job's commands only
}

// sessionOptions returns the options that apply only to this job's commands.
func (h *host) sessionOptions(j job) *acpterm.SessionOptions {
	env := slices.Clone(h.env)
	for name, value := range j.Env {
		env = append(env, name+"="+value)
	}
	return &acpterm.SessionOptions{Roots: []string{j.Dir}, Commands: acpterm.CommandOptions{Env: env}}
}

// inReach reports whether commands with write access to dir could move or change the audit and the journal.
func (h *host) inReach(dir string) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false // no session can be opened in it
	}
	relative, err := filepath.Rel(dir, h.state)
	return err == nil && filepath.IsLocal(relative)
}

// run runs a job. When it returns, the agent and its commands are gone.
func (h *host) run(ctx context.Context, j job) result {
	r := report{result: result{Name: j.Name}}
	if err := h.runAgent(ctx, j, &r); err != nil {
		r.Error = err.Error()
	} else {
		r.Agent = nil
	}
	return r.result
}

// runAgent runs an agent for one turn.
func (h *host) runAgent(ctx context.Context, j job, r *report) (err error) {
	if len(j.Agent) == 0 {
		return errors.New("the job names no agent")
	}
	if j.Dir, err = filepath.Abs(j.Dir); err != nil {
		return err
	}
	if h.inReach(j.Dir) {
		return errors.New("the job's directory has the host's state in it")
	}
	// Each agent has its own manager: agents choose session ids, and two of them may choose the same.
	manager, err := acpterm.NewManager(&h.options)
	if err != nil {
		return err
	}
	manager.Observe(r.event)
	defer func() {
		graceful, stop := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer stop()
		manager.Shutdown(graceful)
		err = errors.Join(err, manager.Close()) // kills the remaining commands
	}()
	cmd := exec.Command(j.Agent[0], j.Agent[1:]...)
	cmd.Dir, cmd.Env = j.Dir, h.env
	agent, err := agentproc.Start(ctx, cmd, &agentproc.Options{Stderr: r.stderr})
	if err != nil {
		return err
	}
	defer func() {
		defer context.AfterFunc(ctx, func() { agent.Kill() })()
		err = errors.Join(err, agent.Close()) // before the manager's Close, and with the agent's last lines
		status, _ := agent.Wait(context.Background())
		r.Agent = &agentEnd{status.String(), r.lines}
	}()
	r.StopReason, err = h.runTurn(ctx, j, manager, agent)
	if _, unwritten := errors.AsType[*fs.PathError](err); unwritten || errors.Is(err, jsonrpc2.ErrClosed) {
		err = errors.New("the agent ended before it was done")
	}
	return err
}

// runTurn opens a session and lets the agent answer one prompt. The connection ends with the agent.
func (h *host) runTurn(
	ctx context.Context, j job, manager *acpterm.Manager, agent *agentproc.Process,
) (stopReason string, err error) {
	var session struct{ SessionID acpterm.SessionID }
	var notOpened error
	limits := &acpterm.HandlerOptions{LineLimit: 8 << 20, MaxPending: 256}
	handler := acpterm.NewHandler(manager, limits)
	rest := jsonrpc2.NewPlainObjectStream(handler.Filter(ctx, agent))
	// The session must be open before the next message after the agent's answer to session/new is read.
	opened := jsonrpc2.OnRecv(func(req *jsonrpc2.Request, answer *jsonrpc2.Response) {
		if req != nil && req.Method == "session/new" && answer != nil && answer.Result != nil {
			if notOpened = json.Unmarshal(*answer.Result, &session); notOpened == nil {
				notOpened = manager.OpenSession(session.SessionID, h.sessionOptions(j))
			}
		}
	})
	conn := jsonrpc2.NewConn(ctx, rest, jsonrpc2.HandlerWithError(answerAgent), opened)
	initialize := map[string]any{"protocolVersion": 1, "clientCapabilities": handler.Capabilities()}
	err = conn.Call(ctx, "initialize", initialize, nil)
	if err == nil {
		err = conn.Call(ctx, "session/new", map[string]any{"cwd": j.Dir, "mcpServers": []any{}}, nil)
	}
	if err = errors.Join(err, notOpened); err != nil {
		return "", err
	}
	text := []map[string]string{{"type": "text", "text": j.Prompt}}
	var turn struct{ StopReason string }
	err = conn.Call(ctx, "session/prompt", map[string]any{"sessionId": session.SessionID, "prompt": text}, &turn)
	return turn.StopReason, err
}

// answerAgent answers all requests except terminal/*. It cannot ask a user for permission, so it allows every request:
// the rules decide when the agent runs a command.
func answerAgent(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	if req.Notif {
		return nil, nil
	}
	if req.Method != "session/request_permission" || req.Params == nil {
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: req.Method}
	}
	r, err := permission.Read(*req.Params)
	if err != nil {
		return nil, acpterm.ResponseError(err)
	}
	for _, option := range r.Options {
		if option.Kind == permission.OptionKindAllowOnce {
			return permission.Response{Outcome: permission.Outcome{Outcome: "selected", OptionID: option.ID}}, nil
		}
	}
	return permission.Response{Outcome: permission.Outcome{Outcome: "cancelled"}}, nil
}

const maxDenied, maxStderr = 100, 10 // agents choose the amount of each, so it is limited

// result is the printed line about a job.
type result struct {
	Name       string    `json:"name"`
	StopReason string    `json:"stopReason,omitempty"`
	Error      string    `json:"error,omitempty"`
	Denied     []denial  `json:"denied,omitempty"` // the first maxDenied
	Agent      *agentEnd `json:"agent,omitempty"`  // if the job failed
}

// denial is a command denied by a rule.
type denial struct {
	Command string `json:"command"`
	Rule    string `json:"rule,omitempty"`
	Reason  string `json:"reason"`
}

// agentEnd says how an agent ended, with the last maxStderr lines of its standard error.
type agentEnd struct {
	Status string   `json:"status"`
	Stderr []string `json:"stderr,omitempty"`
}

// report collects the data of a result.
type report struct {
	result
	lines []string // of the agent's standard error
}

// event is passed to acpterm.Manager.Observe, which calls it for one event at a time until the Manager is shut down.
func (r *report) event(event acpterm.Event) {
	decision, ok := event.(*acpterm.DecisionEvent)
	if !ok || len(r.Denied) == maxDenied {
		return
	}
	if e, ok := errors.AsType[*acpterm.Error](decision.Err); ok && errors.Is(e, acpterm.ErrDenied) {
		r.Denied = append(r.Denied, denial{Command: e.Command, Rule: e.Rule, Reason: e.Reason})
	}
}

// stderr is passed to agentproc.Options.Stderr, which calls it for one line at a time until the agent is closed.
func (r *report) stderr(line string) {
	r.lines = append(r.lines, line)
	r.lines = r.lines[max(0, len(r.lines)-maxStderr):]
}

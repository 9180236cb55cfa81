package main

// This file runs one agent and its session, from start to end.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
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
	report := report{job: j.Name}
	stopReason, status, err := h.runAgent(ctx, j, &report)
	r := result{Name: j.Name, StopReason: stopReason, Denied: report.denied}
	if err != nil {
		r.Error = err.Error()
		if status != "" {
			r.Agent = &agentEnd{Status: status, Stderr: report.stderr}
		}
	}
	return r
}

// runAgent runs an agent for one turn. It returns the stop reason and, if the agent was started, how the agent ended.
func (h *host) runAgent(ctx context.Context, j job, report *report) (stopReason, status string, err error) {
	if len(j.Agent) == 0 {
		return "", "", errors.New("the job names no agent")
	}
	if j.Dir, err = filepath.Abs(j.Dir); err != nil {
		return "", "", err
	}
	if h.inReach(j.Dir) {
		return "", "", errors.New("the job's directory has the host's state in it")
	}
	// Each agent has its own manager: agents choose session ids, and two of them may choose the same.
	manager, err := acpterm.NewManager(&h.options)
	if err != nil {
		return "", "", err
	}
	manager.Observe(report.event)
	defer func() {
		graceful, stop := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer stop()
		manager.Shutdown(graceful)
		err = errors.Join(err, manager.Close()) // kills the remaining commands
	}()
	cmd := exec.Command(j.Agent[0], j.Agent[1:]...)
	cmd.Dir, cmd.Env = j.Dir, h.env
	agent, err := agentproc.Start(ctx, cmd, &agentproc.Options{Stderr: report.stderrLine})
	if err != nil {
		return "", "", err
	}
	defer func() {
		defer context.AfterFunc(ctx, func() { agent.Kill() })()
		err = errors.Join(err, agent.Close()) // before the manager's Close, and with the agent's last lines
		status = howItEnded(agent)
	}()
	stopReason, err = h.runTurn(ctx, j, manager, agent)
	_, unwritten := errors.AsType[*fs.PathError](err)
	if unwritten || errors.Is(err, jsonrpc2.ErrClosed) {
		err = errors.New("the agent ended before it was done")
	}
	return stopReason, "", err
}

// howItEnded returns the exit status of an agent after its shutdown.
func howItEnded(agent *agentproc.Process) string {
	status, err := agent.Wait(context.Background())
	if err != nil {
		return err.Error()
	}
	return status.String()
}

// runTurn opens a session and lets the agent answer one prompt. The connection ends with the agent.
func (h *host) runTurn(
	ctx context.Context, j job, manager *acpterm.Manager, agent *agentproc.Process,
) (stopReason string, err error) {
	var session acpterm.SessionID
	var notOpened error
	handler := acpterm.NewHandler(manager, &acpterm.HandlerOptions{
		LineLimit:      8 << 20,
		MaxPending:     256,
		MaxCreateBytes: 256 << 10,
	})
	rest := jsonrpc2.NewPlainObjectStream(handler.Filter(ctx, agent))
	yours := jsonrpc2.HandlerWithError(answerAgent)
	// The session must be open before the next message after the agent's answer to session/new is read.
	conn := jsonrpc2.NewConn(ctx, rest, yours, jsonrpc2.OnRecv(func(req *jsonrpc2.Request, answer *jsonrpc2.Response) {
		if req != nil && req.Method == "session/new" && answer != nil && answer.Result != nil {
			session, notOpened = sessionIn(*answer.Result)
			if notOpened == nil {
				notOpened = manager.OpenSession(session, h.sessionOptions(j))
			}
		}
	}))
	var prompted struct {
		StopReason string `json:"stopReason"`
	}
	initialize := map[string]any{"protocolVersion": 1, "clientCapabilities": handler.Capabilities()}
	err = conn.Call(ctx, "initialize", initialize, nil)
	if err == nil {
		err = conn.Call(ctx, "session/new", map[string]any{"cwd": j.Dir, "mcpServers": []any{}}, nil)
	}
	if err = errors.Join(err, notOpened); err != nil {
		return "", err
	}
	text := []map[string]string{{"type": "text", "text": j.Prompt}}
	err = conn.Call(ctx, "session/prompt", map[string]any{"sessionId": session, "prompt": text}, &prompted)
	return prompted.StopReason, err
}

func sessionIn(result json.RawMessage) (acpterm.SessionID, error) {
	var created struct {
		SessionID acpterm.SessionID `json:"sessionId"`
	}
	err := json.Unmarshal(result, &created)
	return created.SessionID, err
}

// answerAgent answers all requests except terminal/*. It cannot ask a user for permission, so it allows every request:
// the rules decide when the agent runs a command.
func answerAgent(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	switch {
	case req.Notif:
		return nil, nil
	case req.Method != "session/request_permission":
		message := fmt.Sprintf("%q is not served", req.Method)
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: message}
	}
	var params struct {
		Options []struct {
			ID   string `json:"optionId"`
			Kind string `json:"kind"`
		} `json:"options"`
	}
	if req.Params != nil {
		json.Unmarshal(*req.Params, &params) // unreadable params offer no options
	}
	for _, option := range params.Options {
		if option.Kind == "allow_once" {
			return map[string]any{"outcome": map[string]string{"outcome": "selected", "optionId": option.ID}}, nil
		}
	}
	return map[string]any{"outcome": map[string]string{"outcome": "cancelled"}}, nil
}

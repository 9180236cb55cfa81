package main

// The naive Go client: an unmodified jsonrpc2, a goroutine for each request, and the naive terminals.

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
)

type naiveClient struct{ terminals *naiveTerminals }

func serveNaive(conn io.ReadWriteCloser) (ended <-chan struct{}, err error) {
	c := naiveClient{newNaiveTerminals()}
	return jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(conn), jsonrpc2.AsyncHandler(c),
		jsonrpc2.SetLogger(log.New(io.Discard, "", 0))).DisconnectNotify(), nil
}

func (c naiveClient) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	result, err := c.serve(req)
	if err != nil {
		conn.ReplyWithError(ctx, req.ID, &jsonrpc2.Error{Code: jsonrpc2.CodeInternalError, Message: err.Error()})
		return
	}
	conn.Reply(ctx, req.ID, result)
}

type naiveStatus struct {
	ExitCode *int    `json:"exitCode"`
	Signal   *string `json:"signal"`
}

type naiveOutput struct {
	Output     string       `json:"output"`
	Truncated  bool         `json:"truncated"`
	ExitStatus *naiveStatus `json:"exitStatus,omitempty"`
}

func (c naiveClient) serve(req *jsonrpc2.Request) (any, error) {
	if req.Params == nil {
		return nil, errors.New("no params")
	}
	var params struct {
		Command         string
		Args            []string
		Env             []struct{ Name, Value string }
		Cwd             string
		OutputByteLimit *int
		TerminalID      string
	}
	if err := json.Unmarshal(*req.Params, &params); err != nil {
		return nil, err
	}
	if req.Method == acpterm.MethodCreate {
		limit := 1 << 20
		if params.OutputByteLimit != nil {
			limit = *params.OutputByteLimit
		}
		var env []string
		for _, v := range params.Env {
			env = append(env, v.Name+"="+v.Value)
		}
		id, err := c.terminals.create(params.Command, params.Args, env, params.Cwd, limit)
		return map[string]string{"terminalId": id}, err
	}
	t, err := c.terminals.get(params.TerminalID)
	if err != nil {
		return nil, err
	}
	switch req.Method {
	case acpterm.MethodOutput:
		var out naiveOutput
		if t.ended() {
			code, signal := t.status()
			out.ExitStatus = &naiveStatus{code, signal}
		}
		out.Output, out.Truncated = t.out.text()
		return out, nil
	case acpterm.MethodWaitForExit:
		<-t.done
		code, signal := t.status()
		return naiveStatus{code, signal}, nil
	case acpterm.MethodKill:
		t.kill()
		return struct{}{}, nil
	case acpterm.MethodRelease:
		return struct{}{}, c.terminals.release(params.TerminalID)
	}
	return nil, errors.New("no method " + req.Method)
}

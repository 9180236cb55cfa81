package main

// A client on an unmodified github.com/coder/acp-go-sdk, with the naive terminals.

import (
	"context"
	"io"
	"log/slog"

	acp "github.com/coder/acp-go-sdk"
)

type goSDKClient struct {
	acp.Client // nil: the agent calls no other methods
	terminals  *naiveTerminals
}

func serveGoSDK(conn io.ReadWriteCloser) (ended <-chan struct{}, err error) {
	c := acp.NewClientSideConnection(goSDKClient{terminals: newNaiveTerminals()}, conn, conn)
	c.SetLogger(slog.New(slog.DiscardHandler))
	return c.Done(), nil
}

func (c goSDKClient) CreateTerminal(
	_ context.Context, req acp.CreateTerminalRequest,
) (r acp.CreateTerminalResponse, err error) {
	limit := 1 << 20
	if req.OutputByteLimit != nil {
		limit = *req.OutputByteLimit
	}
	var env []string
	for _, v := range req.Env {
		env = append(env, v.Name+"="+v.Value)
	}
	cwd := ""
	if req.Cwd != nil {
		cwd = *req.Cwd
	}
	r.TerminalId, err = c.terminals.create(req.Command, req.Args, env, cwd, limit)
	return r, err
}

func (c goSDKClient) TerminalOutput(
	_ context.Context, req acp.TerminalOutputRequest,
) (r acp.TerminalOutputResponse, err error) {
	t, err := c.terminals.get(req.TerminalId)
	if err != nil {
		return r, err
	}
	if t.ended() {
		code, signal := t.status()
		r.ExitStatus = &acp.TerminalExitStatus{ExitCode: code, Signal: signal}
	}
	r.Output, r.Truncated = t.out.text()
	return r, nil
}

func (c goSDKClient) WaitForTerminalExit(
	ctx context.Context, req acp.WaitForTerminalExitRequest,
) (r acp.WaitForTerminalExitResponse, err error) {
	t, err := c.terminals.get(req.TerminalId)
	if err != nil {
		return r, err
	}
	select {
	case <-t.done:
	case <-ctx.Done():
		return r, ctx.Err()
	}
	r.ExitCode, r.Signal = t.status()
	return r, nil
}

func (c goSDKClient) KillTerminal(
	_ context.Context, req acp.KillTerminalRequest,
) (r acp.KillTerminalResponse, err error) {
	t, err := c.terminals.get(req.TerminalId)
	if err == nil {
		t.kill()
	}
	return r, err
}

func (c goSDKClient) ReleaseTerminal(
	_ context.Context, req acp.ReleaseTerminalRequest,
) (r acp.ReleaseTerminalResponse, err error) {
	return r, c.terminals.release(req.TerminalId)
}

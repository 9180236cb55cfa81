package acpsdk_test

import (
	"context"
	"testing"

	"github.com/acpterm/acpterm/acpsdk"
	acp "github.com/coder/acp-go-sdk"
)

// terminalClient is the smallest possible client type.
type terminalClient struct {
	*acpsdk.Terminals
	acpsdk.NoFiles
}

var _ acp.Client = terminalClient{}

func (terminalClient) RequestPermission(
	context.Context, acp.RequestPermissionRequest,
) (r acp.RequestPermissionResponse, err error) {
	return r, nil
}

func (terminalClient) SessionUpdate(context.Context, acp.SessionNotification) error { return nil }

func TestNoFilesRefuses(t *testing.T) {
	w := newWires()
	conn := acp.NewAgentSideConnection(agent{}, w.toClient, w.fromClient)
	terminalClient{}.Connect(terminalClient{}, w.toAgent, w.fromAgent)
	_, err := conn.ReadTextFile(t.Context(), acp.ReadTextFileRequest{SessionId: "s", Path: "/a"})
	requireError(t, err, -32601)
	_, err = conn.WriteTextFile(t.Context(), acp.WriteTextFileRequest{SessionId: "s", Path: "/a", Content: "x"})
	requireError(t, err, -32601)
	w.toAgent.Close()
	<-conn.Done()
	w.toClient.Close()
}

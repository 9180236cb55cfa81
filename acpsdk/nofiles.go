package acpsdk

import (
	"context"

	acp "github.com/coder/acp-go-sdk"
)

// NoFiles provides the file methods of acp.Client for use by clients that do not advertise the fs capability. They
// always return -32601. To implement acp.Client, a type can embed both NoFiles and *Terminals, and define SessionUpdate
// and RequestPermission.
type NoFiles struct{}

// ReadTextFile always fails with -32601.
func (NoFiles) ReadTextFile(context.Context, acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	return acp.ReadTextFileResponse{}, acp.NewMethodNotFound(acp.ClientMethodFsReadTextFile)
}

// WriteTextFile always fails with -32601.
func (NoFiles) WriteTextFile(context.Context, acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	return acp.WriteTextFileResponse{}, acp.NewMethodNotFound(acp.ClientMethodFsWriteTextFile)
}

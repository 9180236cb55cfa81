package acpsdk

import (
	"context"

	acp "github.com/coder/acp-go-sdk"
)

// NoFiles implements the file methods of acp.Client for clients that do not advertise the fs capability. All of them
// return -32601. By embedding NoFiles and *Terminals, a type implements acp.Client except for SessionUpdate and
// RequestPermission.
type NoFiles struct{}

// ReadTextFile always fails with -32601.
func (NoFiles) ReadTextFile(context.Context, acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	return acp.ReadTextFileResponse{}, acp.NewMethodNotFound(acp.ClientMethodFsReadTextFile)
}

// WriteTextFile always fails with -32601.
func (NoFiles) WriteTextFile(context.Context, acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	return acp.WriteTextFileResponse{}, acp.NewMethodNotFound(acp.ClientMethodFsWriteTextFile)
}

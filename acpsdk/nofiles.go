package acpsdk

import (
	"context"

	acp "github.com/coder/acp-go-sdk"
)

// NoFiles implements the file methods of acp.Client for clients that do not advertise the fs capability. Each of these
// methods returns -32601. A type that embeds both NoFiles and *Terminals needs only SessionUpdate and RequestPermission
// to implement acp.Client.
type NoFiles struct{}

// ReadTextFile always fails with -32601.
func (NoFiles) ReadTextFile(context.Context, acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	return acp.ReadTextFileResponse{}, acp.NewMethodNotFound(acp.ClientMethodFsReadTextFile)
}

// WriteTextFile always fails with -32601.
func (NoFiles) WriteTextFile(context.Context, acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	return acp.WriteTextFileResponse{}, acp.NewMethodNotFound(acp.ClientMethodFsWriteTextFile)
}

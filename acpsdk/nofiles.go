package acpsdk

import (
	"context"

	acp "github.com/coder/acp-go-sdk"
)

// NoFiles implements the two file methods of acp.Client for clients that do not advertise the capability fs. Both
// methods fail with -32601. A type that embeds NoFiles and *Terminals only lacks SessionUpdate and RequestPermission to
// be an acp.Client.
type NoFiles struct{}

// ReadTextFile always fails with -32601.
func (NoFiles) ReadTextFile(context.Context, acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	return acp.ReadTextFileResponse{}, acp.NewMethodNotFound(acp.ClientMethodFsReadTextFile)
}

// WriteTextFile always fails with -32601.
func (NoFiles) WriteTextFile(context.Context, acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	return acp.WriteTextFileResponse{}, acp.NewMethodNotFound(acp.ClientMethodFsWriteTextFile)
}

package acpsdk

import (
	"context"

	acp "github.com/coder/acp-go-sdk"
)

// NoFiles has the two methods of acp.Client for files, for a client that does not advertise the capability fs: they
// fail with -32601. A type that embeds it and *Terminals lacks SessionUpdate and RequestPermission to be an acp.Client.
type NoFiles struct{}

// ReadTextFile refuses the request.
func (NoFiles) ReadTextFile(context.Context, acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	return acp.ReadTextFileResponse{}, acp.NewMethodNotFound(acp.ClientMethodFsReadTextFile)
}

// WriteTextFile refuses the request.
func (NoFiles) WriteTextFile(context.Context, acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	return acp.WriteTextFileResponse{}, acp.NewMethodNotFound(acp.ClientMethodFsWriteTextFile)
}

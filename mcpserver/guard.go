package mcpserver

// Bounds for a client that sends too much, before its calls reach the tools.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxCalls is the most concurrent requests of a session.
	maxCalls = 256
	// maxArguments is the most bytes of a call's arguments.
	maxArguments = 1 << 20
	// maxValues is the most values in a call's arguments. The SDK decodes them, and a value can take a hundred times as
	// much memory as its text.
	maxValues = 10_000
	// maxAround is the most bytes of a message without the arguments of a call. The SDK keeps them decoded during the
	// call, which can take a hundred times as much memory.
	maxAround = 64 << 10
	// maxQuestions is the most unanswered questions of a session that have outlived their call.
	maxQuestions = 64
)

var errAround = fmt.Errorf("the message without the arguments is longer than %d bytes", maxAround)

// checkAround returns an error if a message is too long, apart from params.arguments.
func checkAround(message json.RawMessage) error {
	if len(message) > maxAround && len(message)-len(member(message, "params", "arguments")) > maxAround {
		return errAround
	}
	return nil
}

// guard is middleware. It refuses calls beyond the bounds, and completes the errors that the SDK finds in arguments: it
// adds the next step, and shortens the text, which quotes the arguments.
func (c *session) guard(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		params, isCall := req.GetParams().(*mcp.CallToolParamsRaw)
		select {
		case c.calls <- struct{}{}:
			defer func() { <-c.calls }()
		default:
			err := fmt.Errorf("more than %d calls are pending", maxCalls)
			if isCall {
				return refused(fmt.Errorf("%w; wait for some of them", err)), nil
			}
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
		}
		if isCall && len(params.Arguments) > maxArguments {
			return refused(fmt.Errorf("the arguments are longer than %d bytes; pass a file instead", maxArguments)), nil
		}
		if isCall && countValues(params.Arguments) > maxValues {
			return refused(fmt.Errorf("the arguments have more than %d values; pass a file instead", maxValues)), nil
		}
		if isCall {
			params.Arguments = dropNulls(params.Arguments)
		}
		result, err := next(ctx, method, req)
		if call, ok := result.(*mcp.CallToolResult); ok && call != nil && call.IsError {
			if _, ok := errors.AsType[advised](call.GetError()); !ok {
				call.Content = text(shorten(textOf(call), maxErrorText) + "\nCorrect the arguments, and try again.").Content
			}
		}
		return result, err
	}
}

// countValues returns at least the number of values that end with a comma, or contain others.
func countValues(text json.RawMessage) (n int) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == '[' || c == '{'):
			n++
		}
	}
	return n
}

// dropNulls returns arguments without those that are null: agents send that for optional ones. It returns anything but
// an object unchanged.
func dropNulls(arguments json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if !bytes.Contains(arguments, []byte("null")) || json.Unmarshal(arguments, &members) != nil || members == nil {
		return arguments
	}
	maps.DeleteFunc(members, func(_ string, value json.RawMessage) bool { return string(value) == "null" })
	rest, err := json.Marshal(members)
	if err != nil {
		return arguments
	}
	return rest
}

func refused(err error) *mcp.CallToolResult {
	r := new(mcp.CallToolResult)
	r.SetError(err)
	return r
}

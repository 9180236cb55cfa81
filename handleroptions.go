package acpterm

// The options of a Handler, and their defaults.

import (
	"cmp"

	"github.com/sourcegraph/jsonrpc2"
)

// HandlerOptions configure a Handler. The zero value is good, and nil options mean the zero value.
type HandlerOptions struct {
	// Next handles all requests and notifications that Handle does not serve: all but terminal/*, and each
	// $/cancel_request that does not name a pending terminal/* request. It is called as jsonrpc2 calls a handler, so
	// nothing else is read while it runs. If nil, requests are answered with -32601 and notifications are dropped.
	Next jsonrpc2.Handler

	// Capabilities are the capabilities that the client advertises in initialize; Handler.Capabilities returns them. If
	// they do not include terminals, every terminal/* request is answered with -32601. If nil, terminals are
	// advertised.
	Capabilities *ClientCapabilities

	// Created, if not nil, is called with each new terminal before the agent gets its id, for example to show live
	// output with Terminal.Follow in a goroutine. It is called by the goroutine that serves the request, concurrently
	// for several, and only that create waits for it. If it panics, the create fails with ErrInternal and its terminal
	// is released; the panic is logged with its stack.
	Created func(*Terminal)

	// TerminalAuth makes Capabilities advertise that a user can sign in to the agent in a terminal
	// (clientCapabilities.auth.terminal). The agent may then offer methods that package signin reads and runs. Set it
	// only if the agent's program can be started in a terminal that a user attends.
	TerminalAuth bool

	// SessionPrefix is added to the session ids of this connection: with "a/", the agent's "session-1" is the Manager's
	// "a/session-1", in OpenSession, policies and events. Agents choose the ids, and two agents may choose the same.
	// Prefixes of which none begins with another keep the sessions of connections apart. The agent sees its own ids.
	SessionPrefix SessionID

	// LineLimit is the maximum length of a line of the agent, in bytes, with Handler.Filter. A longer line is skipped
	// and never held in memory. The default is 64 MiB. If LineLimit is negative, every line is skipped.
	LineLimit int64

	// SkippedLines is called, with Handler.Filter, for each line of the agent that is not a JSON-RPC message, for
	// example to show debugging prints. The goroutine that reads calls it and waits for it. A panic is logged with its
	// stack. If nil, slog logs, at level Warn, the length of the line, the reason and, escaped, the first 120 bytes; it
	// logs no bytes of a line that begins like JSON, which may be part of a request with a secret.
	SkippedLines func(SkippedLine)

	// SupportedMethods are the methods that Next serves. They are in the error for an agent that calls terminal/*
	// although it is not advertised.
	SupportedMethods []string

	// MaxPending is the maximum number of unanswered requests, and, with a few more, of answers that wait for the agent
	// to read. A request beyond it is answered with -32800 and kind "quota", and then nothing more is read until the
	// agent has read that answer. The default is 16384. If MaxPending is negative, every request is refused.
	MaxPending int

	// MaxCreateBytes is the maximum size of the params of a create, as JSON. The default is 4 MiB. If MaxCreateBytes is
	// negative, every create is refused.
	MaxCreateBytes int

	// MaxPendingCreateBytes bounds the memory of all unanswered creates together: their params as JSON, and their lists
	// of arguments and variables. A create beyond it is answered with -32800 and kind "quota". The default is 64 MiB.
	// If MaxPendingCreateBytes is negative, every create is refused.
	MaxPendingCreateBytes int
}

func (o *HandlerOptions) lineLimit() int      { return int(max(0, cmp.Or(o.LineLimit, 64<<20))) }
func (o *HandlerOptions) maxPending() int     { return cmp.Or(o.MaxPending, 16<<10) }
func (o *HandlerOptions) maxCreateBytes() int { return cmp.Or(o.MaxCreateBytes, 4<<20) }

func (o *HandlerOptions) maxPendingCreateBytes() int { return cmp.Or(o.MaxPendingCreateBytes, 64<<20) }

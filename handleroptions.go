package acpterm

// The options of a Handler, and their defaults.

import (
	"cmp"

	"github.com/sourcegraph/jsonrpc2"
)

// HandlerOptions configure a Handler. The zero value, and nil in its place, is good.
type HandlerOptions struct {
	// Next gets every request and notification that Handle does not serve: all but terminal/*, and each
	// $/cancel_request that does not name a pending terminal/* request. It is called as jsonrpc2 calls a handler: while
	// it runs, nothing else is read. Nil: requests are answered -32601, notifications dropped.
	Next jsonrpc2.Handler

	// Capabilities are what the client advertises in initialize, and Handler.Capabilities returns. Nil:
	// terminals are advertised. If they are not, every terminal/* is answered -32601.
	Capabilities *ClientCapabilities

	// Created is called with each terminal that the agent creates, before the agent gets its id: the place from which
	// to show live output, with Terminal.Follow in a goroutine. It is called by the goroutine that serves the request,
	// concurrently for several; only that create waits for it to return. If it panics, the create fails with
	// ErrInternal and its terminal is released; the panic is logged with its stack. Nil: nothing is called.
	Created func(*Terminal)

	// TerminalAuth has Capabilities advertise that a person can sign in to the agent in a terminal
	// (clientCapabilities.auth.terminal): the agent may then offer methods that the package signin reads and runs. Set
	// it only where the agent's program can be started in a terminal with a person at it. False: it is not advertised,
	// unless Capabilities says so.
	TerminalAuth bool

	// SessionPrefix is put before the session ids of this connection: "a/" makes the agent's "session-1" the manager's
	// "a/session-1", for OpenSession, for policies, in events. It keeps connections whose prefixes are not the
	// beginning of one another out of each other's sessions: agents choose the ids, and two may choose the same. The
	// agent receives its own ids. Empty: the manager uses the agent's ids.
	SessionPrefix SessionID

	// LineLimit is how many bytes a line of the agent may have, with Handler.Filter. A longer one is skipped, without
	// being held in memory. 0: 64 MiB. Negative: every line is skipped.
	LineLimit int64

	// SkippedLines is called, with Handler.Filter, for each line of the agent that is not a JSON-RPC message, for
	// example to show what an agent prints by mistake. The goroutine that reads calls it and waits for it. A panic is
	// logged with its stack. If nil, slog logs at level Warn the line's length, what is wrong with it and, escaped, its
	// first 120 bytes; of a line that begins like JSON, which may be half a request with a secret, no bytes are logged.
	SkippedLines func(SkippedLine)

	// SupportedMethods are the methods that Next serves. They are in the error for an agent that calls terminal/*
	// without the capability.
	SupportedMethods []string

	// MaxPending is how many requests may be without an answer, and, with a few more, how many answers may wait for the
	// agent to read. A request beyond is answered -32800 with kind "quota", and then nothing more is read until the
	// agent has read that. 0: 16384. Negative: every request is.
	MaxPending int

	// MaxCreateBytes is how many bytes the params of a create may have, as JSON. 0: 4 MiB. Negative: every create is
	// refused.
	MaxCreateBytes int

	// MaxPendingCreateBytes is how many bytes all creates without an answer may hold together: their params as JSON,
	// and what a list of arguments or variables takes besides. A create beyond is answered -32800 with kind "quota". 0:
	// 64 MiB. Negative: every create is refused.
	MaxPendingCreateBytes int
}

func (o *HandlerOptions) lineLimit() int      { return int(max(0, cmp.Or(o.LineLimit, 64<<20))) }
func (o *HandlerOptions) maxPending() int     { return cmp.Or(o.MaxPending, 16<<10) }
func (o *HandlerOptions) maxCreateBytes() int { return cmp.Or(o.MaxCreateBytes, 4<<20) }

func (o *HandlerOptions) maxPendingCreateBytes() int { return cmp.Or(o.MaxPendingCreateBytes, 64<<20) }

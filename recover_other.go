//go:build unix && !linux

package acpterm

// macOS and the BSDs: what a host that died left running is not looked for. Without the start times and the
// environments of processes, a number alone would be a guess, and a wrong one would end a stranger.

import (
	"context"
	"errors"
)

// endRemains keeps no record: it would be reported for ever.
func endRemains(_ context.Context, all []*remains) {
	for _, r := range all {
		r.err = &Error{Op: "recover", Kind: ErrInternal, SessionID: SessionID(r.Session), TerminalID: TerminalID(r.Terminal),
			Reason: "what it left running cannot be looked for on this system", Err: errors.ErrUnsupported}
	}
}

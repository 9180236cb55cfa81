//go:build unix && !linux

package acpterm

// macOS and the BSDs: what a host that died left running is not looked for. Without the start times and the
// environments of processes, a number alone would be a guess, and a wrong one would end a stranger.

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"
)

// bootID is not asked for here.
func bootID() (string, error) { return "", nil }

func newRecordedProcess(pid int) (recordedProcess, error) { return recordedProcess{PID: pid}, nil }

// lives reports whether some process has the number. A host's record thus may be kept for too long, but is never
// taken from one that lives.
func (p recordedProcess) lives() bool {
	return !errors.Is(unix.Kill(p.PID, 0), unix.ESRCH)
}

// endRemains keeps no record: it would be reported for ever.
func endRemains(_ context.Context, all []*remains) {
	for _, r := range all {
		r.err = &Error{Op: "recover", Kind: ErrInternal, SessionID: r.Session, TerminalID: r.Terminal,
			Reason: "what it left running cannot be looked for on this system", Err: errors.ErrUnsupported}
	}
}

package acpterm

// Recover on Linux: processes that a host which died has left running are found and ended by internal/proc.

import (
	"context"
	"syscall"

	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/proc"
	"github.com/acpterm/acpterm/internal/procfs"
)

// endRemains ends trees concurrently: SIGTERM, the default grace or until the context ends, and SIGKILL.
func endRemains(ctx context.Context, all []*remains) {
	trees := make([]*proc.Abandoned, len(all))
	for i, r := range all {
		trees[i] = &proc.Abandoned{
			Mark:   proc.Mark{Name: lookup.TerminalVariable, Value: r.Terminal},
			Leader: procfs.ID{PID: r.Leader.PID, Started: r.Leader.Started},
			Cgroup: r.Cgroup,
		}
	}
	var steps []proc.Step
	for _, step := range append(new(Options).escalation(), EscalationStep{Signal: syscall.SIGKILL}) {
		steps = append(steps, proc.Step{Signal: step.Signal, Wait: step.wait()})
	}
	proc.EndAbandoned(ctx, trees, steps...)
	for i, r := range all {
		tree := trees[i]
		r.ended, r.survivors = tree.Ended, tree.Left
		switch {
		case tree.Err != nil:
			r.err = &Error{Op: "recover", Kind: ErrInternal, SessionID: SessionID(r.Session), TerminalID: TerminalID(r.Terminal),
				Reason: "what it left running cannot be looked for", Err: tree.Err}
		case len(tree.Left) > 0:
			r.err = &Error{Op: "recover", Kind: ErrSurvivors, SessionID: SessionID(r.Session), TerminalID: TerminalID(r.Terminal), PIDs: tree.Left}
		}
		r.keep = r.err != nil
	}
}

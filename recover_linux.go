package acpterm

// Recover on Linux: processes that a host which died has left running are found and ended by internal/proc.

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/acpterm/acpterm/internal/proc"
	"github.com/acpterm/acpterm/internal/procfs"
)

// bootID names the time since the machine's start, in which no two processes are alike in number and start.
func bootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)), err
}

// newRecordedProcess records when the process started as clock ticks after the machine's start.
func newRecordedProcess(pid int) (recordedProcess, error) {
	p, err := procfs.Read(pid)
	if err != nil {
		return recordedProcess{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return recordedProcess{p.PID, p.Started}, nil
}

// lives reports whether it runs, in this boot of the machine.
func (p recordedProcess) lives() bool {
	now, err := procfs.Read(p.PID)
	return err == nil && now.Started == p.Started && !now.Exited
}

// endRemains ends trees concurrently: SIGTERM, the default grace or until the context ends, and SIGKILL.
func endRemains(ctx context.Context, all []*remains) {
	trees := make([]*proc.Abandoned, len(all))
	for i, r := range all {
		trees[i] = &proc.Abandoned{
			Mark:   proc.Mark{Name: terminalVariable, Value: string(r.Terminal)},
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
			r.err = &Error{Op: "recover", Kind: ErrInternal, SessionID: r.Session, TerminalID: r.Terminal,
				Reason: "what it left running cannot be looked for", Err: tree.Err}
		case len(tree.Left) > 0:
			r.err = &Error{Op: "recover", Kind: ErrSurvivors, SessionID: r.Session, TerminalID: r.Terminal, PIDs: tree.Left}
		}
		r.keep = r.err != nil
	}
}

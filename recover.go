package acpterm

// What a host that died left running: found by the journal's records, ended by internal/proc, and reported. And the
// records of terminals themselves.

import (
	"context"
	"errors"
	"path/filepath"
	"syscall"
	"time"

	"github.com/acpterm/acpterm/internal/journal"
	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/proc"
	"github.com/acpterm/acpterm/internal/procfs"
)

// Recovered is a terminal whose host died, and what became of its processes.
type Recovered struct {
	TerminalID TerminalID
	SessionID  SessionID
	// Command is what it ran. Env is nil: the environment is not recorded.
	Command Command
	// PID is the number that the command's process had; 0 if the host died while it was being started. It may
	// be another process's by now.
	PID     int
	Created time.Time
	// HostPID is the number that the host had.
	HostPID int

	// Ended are the processes of its tree that still ran and were ended, in no order.
	Ended []int
	// Survivors are those that run on still. With some, the record stays, and the next Recover returns it again.
	Survivors []int
}

// Recover ends what the hosts that used a journal (Options.Journal) and died have left running, forgets it, and
// returns what it was, the oldest first. Call it when a program starts, so that it can tell its user. Records of hosts
// that live are left alone; those may be other programs, or this one. A directory that is not there has no records.
//
// On Linux, every process that is known to be of the tree is ended: all that carries the terminal's mark in its
// environment, the session of the command, their children, and the terminal's cgroup if it had one. No signal is
// sent to a process that only has the number of one that was recorded. They get SIGTERM, all at once, 5 seconds, and
// SIGKILL; when ctx ends, SIGKILL at once. A tree that the calling process is itself in is left alone and reported.
//
// On Windows nothing outlives its host, so there is nothing to end. On the other systems it cannot be found: each
// record is returned once, with an error that says so, and its processes may run on.
//
// The error joins an *Error for each record with survivors (ErrSurvivors), and for each file of the directory that is
// no record or cannot be read (ErrInternal, with the file's name); such files stay. What could be recovered is returned
// with it. A process that can write to the directory can choose what is ended: keep it to the user, on one machine, and
// among processes that see each other by the same numbers, not across containers. Recover may be called concurrently,
// in several processes too.
func Recover(ctx context.Context, dir string) ([]Recovered, error) {
	boot, err := journal.Boot()
	if err != nil {
		return nil, recoverError("which boot of the machine this is cannot be known", err)
	}
	j := journal.Dir(dir)
	records, errs := j.Abandoned(boot)
	for i, err := range errs {
		errs[i] = recoverError("skipped", err)
	}

	trees := make([]*proc.Abandoned, len(records))
	var running []*proc.Abandoned
	for i, r := range records {
		trees[i] = &proc.Abandoned{
			Mark:   proc.Mark{Name: lookup.TerminalVariable, Value: r.Terminal},
			Leader: procfs.ID{PID: r.Leader.PID, Started: r.Leader.Started},
			Cgroup: r.Cgroup,
		}
		if r.Boot == boot {
			running = append(running, trees[i])
		}
	}
	if len(running) > 0 {
		proc.EndAbandoned(ctx, running, recoverySteps()...)
	}

	var recovered []Recovered
	for i, r := range records {
		recovered = append(recovered, newRecovered(r, trees[i]))
		if err := abandonedError(r, trees[i]); err != nil {
			errs = append(errs, err)
			// Not errors.Is: ENOSYS matches that too, and a later call may succeed.
			if trees[i].Err != errors.ErrUnsupported {
				continue // the record stays: a later call can do more
			}
		}
		if err := j.Remove(r.Terminal); err != nil {
			errs = append(errs, recoverError("the journal cannot be written", err))
		}
	}
	return recovered, errors.Join(errs...)
}

// recoverySteps are SIGTERM, the default grace, and SIGKILL.
func recoverySteps() (steps []proc.Step) {
	for _, step := range append(new(Options).escalation(), EscalationStep{Signal: syscall.SIGKILL}) {
		steps = append(steps, proc.Step{Signal: step.Signal, Wait: step.wait()})
	}
	return steps
}

func recoverError(reason string, err error) error {
	return &Error{Op: "recover", Kind: ErrInternal, Reason: reason, Err: err}
}

// abandonedError says what of a tree may still run; nil if nothing does.
func abandonedError(r journal.Record, tree *proc.Abandoned) error {
	e := &Error{Op: "recover", SessionID: SessionID(r.Session), TerminalID: TerminalID(r.Terminal)}
	switch {
	case tree.Err != nil:
		e.Kind, e.Reason, e.Err = ErrInternal, "what it left running cannot be looked for", tree.Err
	case len(tree.Left) > 0:
		e.Kind, e.PIDs = ErrSurvivors, tree.Left
	default:
		return nil
	}
	return e
}

func newRecovered(r journal.Record, tree *proc.Abandoned) Recovered {
	c := r.Command
	return Recovered{
		TerminalID: TerminalID(r.Terminal),
		SessionID:  SessionID(r.Session),
		Command:    Command{Path: c.Path, Args: c.Args, Dir: c.Dir, ShellLine: c.ShellLine},
		PID:        r.Leader.PID,
		Created:    r.Created,
		HostPID:    r.Host.PID,
		Ended:      tree.Ended,
		Survivors:  tree.Left,
	}
}

// record writes down that the terminal's command is about to start.
func (t *Terminal) record() error {
	c := t.command
	r := journal.Record{
		Terminal: string(t.id),
		Session:  string(t.session),
		Command:  journal.Command{Path: c.Path, Args: c.Args, Dir: c.Dir, ShellLine: c.ShellLine},
		Created:  t.created,
	}
	if t.cgroup != "" {
		r.Cgroup = filepath.Join(t.cgroup, string(t.id))
	}
	return t.journalError("create", t.journal.Write(r))
}

// recordStart adds which process the command is.
func (t *Terminal) recordStart() error {
	return t.journalError("create", t.journal.AddLeader(string(t.id), t.tree.PID(), t.tree.Unreaped))
}

// forgetRecord removes the terminal's record, if there is one.
func (t *Terminal) forgetRecord() error {
	return t.journalError("release", t.journal.Remove(string(t.id)))
}

func (t *Terminal) journalError(op string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: op, Kind: ErrInternal, SessionID: t.session, TerminalID: t.id,
		Reason: "the journal cannot be written", Err: err}
}

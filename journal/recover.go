package journal

// What a host that died left running: found by its records, ended, and returned.

import (
	"context"
	"errors"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/procfs"
)

// Recovered is a terminal whose host died, and what became of its processes.
type Recovered struct {
	TerminalID acpterm.TerminalID
	SessionID  acpterm.SessionID
	// Command is what it ran. Env is nil: the environment is not recorded.
	Command acpterm.Command
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

// Recover ends what the hosts that used a journal (acpterm.Options.Journal) and died have left running, forgets it, and
// returns what it was, the oldest first. Call it when a program starts, so that it can tell its user. Records of hosts
// that live are left alone; those may be other programs, or this one. A directory that is not there has no records.
//
// On Linux, every process that is known to be of the tree is ended: all that carries the terminal's mark in its
// environment, the session of the command, their children, and the terminal's cgroup if it had one. They
// get SIGTERM, and SIGKILL 5 seconds later, or at once when ctx ends. No process is signalled merely because it has a
// recorded number. A tree that the calling process is itself in is left alone and reported.
//
// On Windows nothing outlives its host, so there is nothing to end. On the other systems it cannot be found: each
// record is returned once, with an error that says so, and its processes may run on.
//
// The error joins an *acpterm.Error for each record with survivors (acpterm.ErrSurvivors), and for each file of the
// directory that is no record or cannot be read (acpterm.ErrInternal, with the file's name); such files stay. What
// could be recovered is returned with it. Recover may be called concurrently, in several processes too.
func Recover(ctx context.Context, dir string) ([]Recovered, error) {
	boot, err := bootID()
	if err != nil {
		return nil, recoverError("the boot id cannot be read", err)
	}
	records, errs := Dir(dir).abandoned(boot)
	for i, err := range errs {
		errs[i] = recoverError("skipped", err)
	}

	var trees, running []*tree
	for _, r := range records {
		t := newTree(r)
		trees = append(trees, t)
		if r.Boot == boot {
			running = append(running, t)
		}
	}
	if len(running) > 0 {
		endTrees(ctx, running)
	}

	var recovered []Recovered
	for _, t := range trees {
		recovered = append(recovered, t.Recovered)
		if err := t.mayRun(); err != nil {
			errs = append(errs, err)
			// Not errors.Is: ENOSYS matches that too, and a later call may succeed.
			if t.err != errors.ErrUnsupported {
				continue // the record stays: a later call can do more
			}
		}
		if err := Dir(dir).End(t.TerminalID); err != nil {
			errs = append(errs, recoverError("the journal cannot be written", err))
		}
	}
	return recovered, errors.Join(errs...)
}

func recoverError(reason string, err error) error {
	return &acpterm.Error{Op: "recover", Kind: acpterm.ErrInternal, Reason: reason, Err: err}
}

// tree is what may still run of a terminal whose host died. The kernel killed its leader with the host, unless the
// leader is set-user-id; the leader's number may be another process's now.
type tree struct {
	Recovered           // endTrees sets Ended and Survivors
	leader    procfs.ID // zero if it is not known
	cgroupDir string    // of its own cgroup; empty: none
	err       error     // why it cannot be searched for; errors.ErrUnsupported itself where the system has no way
}

func newTree(r record) *tree {
	return &tree{leader: procfs.ID(r.Leader), cgroupDir: r.Cgroup, Recovered: Recovered{
		TerminalID: r.Terminal, SessionID: r.Session, Command: acpterm.Command(r.Command),
		PID: r.Leader.PID, Created: r.Created, HostPID: r.Host.PID,
	}}
}

// mayRun is the error about what of the tree may still run; nil if nothing does.
func (t *tree) mayRun() error {
	e := &acpterm.Error{Op: "recover", SessionID: t.SessionID, TerminalID: t.TerminalID}
	switch {
	case t.err != nil:
		e.Kind, e.Reason, e.Err = acpterm.ErrInternal, "its processes cannot be searched for", t.err
	case len(t.Survivors) > 0:
		e.Kind, e.PIDs = acpterm.ErrSurvivors, t.Survivors
	default:
		return nil
	}
	return e
}

package journal

// Recover finds the processes of dead hosts by their records, ends them, and returns them.

import (
	"context"
	"errors"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/procfs"
)

// Recovered describes a terminal of a dead host, and the result for its processes.
type Recovered struct {
	TerminalID acpterm.TerminalID
	SessionID  acpterm.SessionID
	// Command is the terminal's command. Env is nil: the environment is not recorded.
	Command acpterm.Command
	// PID is the former number of the command's process, or 0 if the host died while starting it. It may now belong to
	// another process.
	PID     int
	Created time.Time
	// HostPID is the former number of the host.
	HostPID int

	// Ended lists the processes of the tree that Recover ended, in no order.
	Ended []int
	// Survivors lists the processes that still run. If it is not empty, the record stays, and the next Recover returns
	// it again.
	Survivors []int
}

// Recover ends the remaining processes of dead hosts that used the journal in dir (acpterm.Options.Journal), removes
// their records, and returns the terminals, the oldest first. Call it when a program starts, so that it can tell its
// user. Recover ignores the records of living hosts, which may be other programs, or this one. A missing directory has
// no records.
//
// On Linux, Recover ends every process that is known to belong to the tree: all with the terminal's mark in their
// environment, the session of the command, their children, and the terminal's cgroup if it had one. They get SIGTERM,
// and SIGKILL 5 seconds later, or immediately when ctx is done. A recorded number alone is never a reason to signal a
// process. If a tree contains the calling process, Recover does not end it, but reports it.
//
// On Windows no process outlives its host. On other systems the processes cannot be found: Recover returns each record
// once, with an error that says so, and the processes may continue to run.
//
// The error joins an *acpterm.Error for each record with survivors (acpterm.ErrSurvivors), and for each file of the
// directory that is invalid or cannot be read (acpterm.ErrInternal, with the file's name); such files stay. All
// recovered terminals are returned with the error. Recover may be called concurrently, also in several processes.
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

// tree is a dead host's terminal whose processes may still run. The kernel killed its leader with the host, unless the
// leader is set-user-id. The leader's number may now belong to another process.
type tree struct {
	Recovered           // endTrees sets Ended and Survivors
	leader    procfs.ID // zero if unknown
	cgroupDir string    // of the tree's cgroup, or empty
	err       error     // why the search failed; exactly errors.ErrUnsupported if the system cannot search
}

func newTree(r record) *tree {
	return &tree{leader: procfs.ID(r.Leader), cgroupDir: r.Cgroup, Recovered: Recovered{
		TerminalID: r.Terminal, SessionID: r.Session, Command: acpterm.Command(r.Command),
		PID: r.Leader.PID, Created: r.Created, HostPID: r.Host.PID,
	}}
}

// mayRun returns an error about the processes of the tree that may still run, or nil if none does.
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

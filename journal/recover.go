package journal

// Recover finds the processes of dead hosts by their records, ends them, and returns them.

import (
	"context"
	"errors"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/procfs"
)

// Recovered describes a terminal left behind by a dead host.
type Recovered struct {
	TerminalID acpterm.TerminalID
	SessionID  acpterm.SessionID
	// Command is the command of the terminal. Its Env is always nil, since the environment is not recorded.
	Command acpterm.Command
	// PID is the process ID of the command, or 0 if the host crashed while starting it. Note that the command may have
	// exited long before, and that the ID may have since been reused for another process.
	PID     int
	Created time.Time
	// HostPID is the process ID of the dead host.
	HostPID int

	// Ended lists the processes that Recover terminated, in no particular order. It is empty if the host crashed after
	// the tree was gone.
	Ended []int
	// Survivors lists the running processes. If there are any, or may be, the record is not removed, and the next call
	// to Recover will return it again.
	Survivors []int
}

// Recover terminates any processes left behind by hosts that used the journal in dir (see acpterm.Options.Journal) and
// have since died. It removes the records of these hosts and returns their terminals, oldest first, to the millisecond.
// A program should call Recover when it starts, so that it can inform the user. Records that belong to a running host,
// including this program, are ignored. If the directory does not exist, it is treated as empty.
//
// On Linux, Recover terminates the processes that it can tell to belong to the process tree of a returned terminal:
// those with the terminal's mark in their environment, the sessions and the children of these processes and, if the
// terminal had a cgroup, all members of the cgroup. Without a cgroup, it misses a process with none of this left: for
// example, one without the mark whose marked parent the host had already terminated when it died. Each process is sent
// SIGTERM, followed by SIGKILL after 5 seconds or when ctx is done, whichever comes first. Recover never signals a
// process based on its recorded number alone. If a tree contains the calling process, Recover reports the tree but does
// not terminate it.
//
// On Windows, processes never outlive their host. On all other systems, there is no way to find processes left behind
// by a host, so they may continue to run. In this case, Recover returns each record once, along with an error to that
// effect.
//
// The returned error joins an *acpterm.Error for each record with processes that run or may run (of kind
// acpterm.ErrSurvivors) and for each invalid or unreadable file (of kind acpterm.ErrInternal, with the name of the
// file). The invalid and unreadable files are not removed. The recovered terminals are returned even if the error is
// non-nil. If /proc is not that of this PID namespace, Recover only fails. Recover may be called concurrently, even by
// multiple processes.
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
	doubt     error     // names other processes that may run
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
	case len(t.Survivors) > 0, t.doubt != nil:
		e.Kind, e.PIDs, e.Err = acpterm.ErrSurvivors, t.Survivors, t.doubt
	default:
		return nil
	}
	return e
}

package remote

// The running processes of a remote command.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/remote/internal/frame"
)

// listTimeout limits the time for the remote side to list the processes of a tree.
const listTimeout = 10 * time.Second

// Processes lists the running processes of the tree. If a process waits for input, all output before that has arrived.
func (p *process) Processes(ctx context.Context) ([]acpterm.ProcessInfo, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, listTimeout, errNotListed)
	defer cancel()
	defer p.gone.OnSet(cancel)()
	reply, err := p.connection.ask(ctx, &frame.Request{List: &frame.Process{Process: p.id}}, checkList)
	switch {
	case p.gone.IsSet():
		return nil, p.Err()
	case err != nil:
		return nil, err
	}
	var list []acpterm.ProcessInfo
	for _, m := range reply.List.Processes {
		list = append(list, acpterm.ProcessInfo{
			PID: m.PID, Parent: m.Parent, Command: strings.ToValidUTF8(string(m.Command), ""), CPUTime: m.CPUTime,
			Memory: m.Memory, Runnable: m.Runnable, ReadsInput: m.ReadsInput, PollsInput: m.PollsInput,
			Listening: m.Listening,
		})
	}
	if reply.List.Unsupported {
		err = errors.ErrUnsupported
	}
	if reply.List.Missing != "" {
		err = &listError{visible(reply.List.Missing), err}
	}
	return list, err
}

var errNotListed = fmt.Errorf("the remote system has not listed the processes within %v", listTimeout)

// listError says what a list lacks. kind is errors.ErrUnsupported or nil.
type listError struct {
	text string
	kind error
}

func (e *listError) Error() string { return e.text }
func (e *listError) Unwrap() error { return e.kind }

// checkList checks a list of the remote side.
func checkList(r *frame.Reply) error {
	if r.List == nil {
		return errors.New("no list of processes")
	}
	before := 0
	for _, m := range r.List.Processes {
		switch {
		case m.PID <= before || m.PID > math.MaxInt32 || m.Parent < 0 || m.Parent > math.MaxInt32:
			return fmt.Errorf("process %d with the parent %d after process %d", m.PID, m.Parent, before)
		case min(int64(m.CPUTime), m.Memory) < 0:
			return fmt.Errorf("process %d with %v of CPU time and %d bytes", m.PID, m.CPUTime, m.Memory)
		case len(m.Command) > frame.MaxCommand:
			return fmt.Errorf("a command line of %d bytes", len(m.Command))
		}
		for _, address := range m.Listening {
			if !address.IsValid() || address.Addr().Zone() != "" {
				return fmt.Errorf("the address %.100q", cmp.Or(address.String(), "empty"))
			}
		}
		before = m.PID
	}
	return nil
}

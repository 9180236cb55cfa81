package server

// Describing the processes of a tree.

import (
	"errors"
	"fmt"
	"strings"

	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/internal/proc"
	"github.com/acpterm/acpterm/remote/internal/frame"
)

// list describes the running processes of a tree. If one of them waits for input, all output so far is sent before.
func (s *server) list(r *frame.Process) (frame.Reply, error) {
	p, err := s.running(r.Process)
	if err != nil {
		return frame.Reply{}, err
	}
	members, err := p.tree.Members()
	for _, m := range members {
		if (m.ReadsInput || m.PollsInput) && p.await(&p.captured) {
			var drained latch.Latch
			p.output.Drain(func() { drained.Set() })
			p.await(&drained)
			break
		}
	}
	return frame.Reply{List: listOf(members, err)}, nil
}

// The maximum number of bytes in an answer that the processes take, and estimates of what JSON makes of one of them,
// without its command, and of an address. The rest is for the error.
const (
	listRoom    = 96 << 10
	memberSize  = 200
	addressSize = 60
)

// listOf returns the processes in the form to send. If there are many, their commands are cut. Processes without room
// are left out, which is an error.
func listOf(members []proc.Member, err error) *frame.List {
	l := &frame.List{Unsupported: errors.Is(err, errors.ErrUnsupported)}
	most := min(max(64, listRoom/3/max(len(members), 1)), frame.MaxCommand)
	room, omitted := listRoom, 0
	for _, m := range members {
		command := strings.ToValidUTF8(m.Command[:min(len(m.Command), most)], "")
		size := memberSize + len(command)*4/3 + len(m.Listening)*addressSize
		if size > room {
			omitted++
			continue
		}
		room -= size
		l.Processes = append(l.Processes, frame.Member{
			PID: m.PID, Parent: m.Parent, Command: frame.Bytes(command), CPUTime: m.CPUTime, Memory: m.Memory,
			Runnable: m.Runnable, ReadsInput: m.ReadsInput, PollsInput: m.PollsInput, Listening: m.Listening,
		})
	}
	if omitted > 0 {
		err = errors.Join(fmt.Errorf("%d of %d processes are too many for an answer", omitted, len(members)), err)
	}
	if err != nil {
		l.Missing = cut(err.Error())
	}
	return l
}

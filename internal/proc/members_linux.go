package proc

// This file describes the members of a tree on Linux. It only reads: a kill does not wait for it.

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"

	"github.com/acpterm/acpterm/internal/procfs"
)

// maxCommand bounds Member.Command, in bytes.
const maxCommand = 4 << 10

// ListsMembers reports whether Members works on this system.
const ListsMembers = true

// Members returns the running processes of the tree, in the order of their IDs. If something about a process cannot be
// read, Members returns the rest with an error. After Close, it returns none. It may be called concurrently.
func (t *Tree) Members() (members []Member, err error) {
	t.mu.Lock()
	closed := t.closed
	t.mu.Unlock()
	if closed {
		return nil, nil
	}
	f := newFinder(t)
	defer f.forgetEscaped()
	found := f.scan(make(seen), false, false)
	defer found.close()
	listeners, err := procfs.Listeners()
	err = errors.Join(found.err, err)
	for _, m := range found.members {
		about, memberErr := t.describe(m.handle, listeners)
		if memberErr != nil && !procfs.IsGone(memberErr) {
			err = errors.Join(err, fmt.Errorf("process %d: %w", m.PID, memberErr))
		}
		if about.PID != 0 {
			members = append(members, about)
		}
	}
	slices.SortFunc(members, func(a, b Member) int { return cmp.Compare(a.PID, b.PID) })
	return members, err
}

// describe returns what an observer may know about a process. It returns the zero Member for one that has exited.
func (t *Tree) describe(h procfs.Handle, listeners map[uint64]netip.AddrPort) (m Member, err error) {
	usage, err := h.Usage()
	if err != nil || usage.Exited {
		return m, err
	}
	m = Member{PID: usage.PID, Parent: usage.Parent, CPUTime: usage.CPU, Memory: usage.Memory, Runnable: usage.Runnable}
	if m.Command, err = h.Command(maxCommand); err != nil {
		return m, err
	}
	if t.input != nil {
		awaited, awaitsErr := h.Awaits(*t.input, usage)
		m.ReadsInput, m.PollsInput = awaited == procfs.Read, awaited == procfs.Polled
		if awaitsErr != nil {
			err = fmt.Errorf("whether it waits for input: %w", awaitsErr)
		}
	}
	sockets, socketsErr := h.Sockets()
	for _, inode := range sockets {
		if address, listens := listeners[inode]; listens && !slices.Contains(m.Listening, address) {
			m.Listening = append(m.Listening, address)
		}
	}
	slices.SortFunc(m.Listening, netip.AddrPort.Compare)
	if errors.Is(socketsErr, fs.ErrPermission) { // it is not dumpable
		socketsErr = nil
	}
	return m, cmp.Or(err, socketsErr)
}

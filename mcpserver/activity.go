package mcpserver

// News about a running command for a model: the command waits for input, or it listens on a port.

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/acpterm/acpterm"
)

// news is the part of a command's activity that models are told.
type news struct {
	waits     bool     // for input
	listening []string // URLs
}

// newsOf returns the news in the activity of a command.
func newsOf(a acpterm.Activity) news {
	n := news{waits: a.State == "input"}
	for _, address := range a.Listening {
		if url := urlOf(address); !slices.Contains(n.listening, url) {
			n.listening = append(n.listening, url)
		}
	}
	return n
}

// urlOf returns the address as a browser on the same machine reaches it.
func urlOf(address netip.AddrPort) string {
	host := address.Addr().String()
	if ip := address.Addr(); ip.IsUnspecified() || ip.IsLoopback() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(int(address.Port())))
}

// isNew reports whether a model told of before should hear of n at once.
func (n news) isNew(before news) bool {
	return n.waits && !before.waits || slices.ContainsFunc(n.listening, func(url string) bool {
		return !slices.Contains(before.listening, url)
	})
}

// lookLimit bounds a look at the processes of a command. On a busy machine, a look may take more than a second.
const lookLimit = 5 * time.Second

// look adds the news about a running command to its result, and remembers them as told.
func (c *session) look(t *acpterm.Terminal, r *commandResult) {
	if r.State != acpterm.StateRunning.String() {
		c.tell(t, news{})
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, lookLimit)
	defer cancel()
	for a := range t.Watch(ctx) {
		n := newsOf(a)
		r.WaitsForInput, r.Listening = n.waits, n.listening
		c.tell(t, n)
		return
	}
}

// tell remembers the told news about a command.
func (c *session) tell(t *acpterm.Terminal, n news) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known(t).told = n
}

// A wait begins to watch a command after a while. Most commands end before, and a look reads the whole process table.
const (
	watchDelay      = time.Second
	watchInputDelay = 200 * time.Millisecond // of commands that take input
)

// awaitNews closes found when a command does something that the model has not been told. stop ends the wait.
func (c *session) awaitNews(ctx context.Context, t *acpterm.Terminal) (found <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	known := c.command(t)
	delay := watchDelay
	if known.writing != nil {
		delay = watchInputDelay
	}
	heard := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return
		}
		for a := range t.Watch(ctx) {
			if newsOf(a).isNew(known.told) {
				close(heard)
				return
			}
		}
	})
	return heard, func() { cancel(); watcher.Wait() }
}

// workPause is the time between the two looks of works. The system counts CPU time in units of 10 ms.
const workPause = 100 * time.Millisecond

// works reports whether a command uses a processor, or wants to, and whether it waits for input. Both are false if its
// processes cannot be listed. If the command ends or ctx is done meanwhile, it still works.
func works(ctx context.Context, t *acpterm.Terminal) (busy, waits bool) {
	before, _ := t.Processes(ctx) // with an error, some facts may be missing
	select {
	case <-time.After(workPause):
	case <-t.Done():
		return true, false
	case <-ctx.Done():
		return true, false
	}
	now, _ := t.Processes(ctx)
	cpu := func(list []acpterm.ProcessInfo) (sum time.Duration) {
		for _, p := range list {
			sum += p.CPUTime
		}
		return sum
	}
	is := func(what func(acpterm.ProcessInfo) bool) (once, twice bool) {
		b, n := slices.ContainsFunc(before, what), slices.ContainsFunc(now, what)
		return b || n, b && n
	}
	runs, _ := is(func(p acpterm.ProcessInfo) bool { return p.Runnable })
	_, reads := is(func(p acpterm.ProcessInfo) bool { return p.ReadsInput }) // once could be before it gets the input
	_, polls := is(func(p acpterm.ProcessInfo) bool { return p.PollsInput })
	busy = runs || cpu(before) != cpu(now) // less than before if a process has exited
	return busy, reads || polls && !busy
}

package proc

// This file judges from several looks at a tree's members whether the tree works, waits for input, or is idle.

import (
	"context"
	"net/netip"
	"slices"
	"time"
)

// States of a tree.
const (
	AwaitsInput = "input" // a member reads its input, or polls it while the tree is not busy
	IsBusy      = "busy"  // the tree uses more than 1 % of a processor
	IsIdle      = "idle"
)

// An Activity is what a tree does.
type Activity struct {
	// State is "input", "busy" or "idle", or empty if it is not known.
	//
	// The state is "input" if a process is blocked in a read of the command's PTY or of the pipe that is its standard
	// input, or if it waits for several files, including that one, while the tree is not busy. All output written
	// before can be read then. It is "busy" if the tree uses more than 1 % of a processor.
	State string
	// Listening lists the TCP addresses on which the processes accept connections.
	Listening []netip.AddrPort
}

// Watch calls yield with each change of a tree's activity, until the tree is gone, released is closed, ctx is done,
// members cannot be listed, or yield returns false. drain calls its parameter once all output so far can be read.
func Watch(
	ctx context.Context, list func(context.Context) ([]Member, error), drain func(func()), released <-chan struct{},
	yield func(Activity, error) bool,
) {
	const firstPause, mostPause = 100 * time.Millisecond, 500 * time.Millisecond
	var looks Looks
	var before Activity
	failed := false
	for pause := firstPause; ; pause = min(2*pause, mostPause) {
		members, err := list(ctx)
		if members == nil {
			if err != nil && ctx.Err() == nil {
				yield(Activity{}, err)
			}
			return
		}
		now := Activity{looks.Add(members, err == nil), Listening(members)}
		if now.State == AwaitsInput {
			drained := make(chan struct{})
			drain(func() { close(drained) })
			select {
			case <-drained:
			case <-ctx.Done():
				return
			}
		}
		if now.State != "" || len(looks) == 1 {
			err = nil
		}
		same := now.State == before.State && failed == (err != nil) && slices.Equal(now.Listening, before.Listening)
		if before, failed = now, err != nil; !same && !yield(now, err) {
			return
		}
		select {
		case <-time.After(pause):
		case <-released:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Looks are the latest looks at the members of a tree, the oldest first. The zero value has none.
type Looks []look

type look struct {
	at    time.Time
	cpu   time.Duration
	reads bool // ReadsInput of a member
	polls bool
}

// Add adds a look, and returns the state since the earlier ones, or "" if it is not known: at the first look, or if
// whole is false because a fact about a member is missing.
func (l *Looks) Add(members []Member, whole bool) (state string) {
	const lookBack = time.Second // over which the CPU time is compared
	now := look{at: time.Now(), cpu: cpuTime(members)}
	for _, m := range members {
		now.reads, now.polls = now.reads || m.ReadsInput, now.polls || m.PollsInput
	}
	for len(*l) > 1 && now.at.Sub((*l)[1].at) >= lookBack {
		*l = (*l)[1:]
	}
	defer func() { *l = append(*l, now) }()
	if len(*l) == 0 {
		return ""
	}
	first, last := (*l)[0], (*l)[len(*l)-1]
	switch {
	case now.reads && last.reads: // once could be right before input on its way arrives
		return AwaitsInput
	case worked(now.cpu-first.cpu, now.at.Sub(first.at)):
		return IsBusy
	case now.polls && last.polls:
		return AwaitsInput
	case whole:
		return IsIdle
	}
	return ""
}

// Listening returns the addresses that the members listen on.
func Listening(members []Member) (all []netip.AddrPort) {
	for _, m := range members {
		all = append(all, m.Listening...)
	}
	slices.SortFunc(all, netip.AddrPort.Compare)
	return slices.Compact(all)
}

// worked reports whether a tree that used this CPU time was busy. The time shrinks when a process exits. Programs that
// only wait wake up from time to time.
func worked(cpu, during time.Duration) bool { return cpu < 0 || cpu > during/100 }

func cpuTime(members []Member) (sum time.Duration) {
	for _, m := range members {
		sum += m.CPUTime
	}
	return sum
}

// AwaitIdle returns true once a tree has been idle for limit: its members did not work, and written did not change. It
// returns false when ctx is done. A tree whose members cannot be listed is not idle. A time during which this
// process was stopped counts as two of the eight looks at most.
func AwaitIdle(
	ctx context.Context, limit time.Duration, list func(context.Context) ([]Member, error), written func() int64,
) bool {
	runnable := func(m Member) bool { return m.Runnable } // perhaps other programs have the processors
	pause := limit/8 + 1
	output, cpu, idle := int64(-1), time.Duration(0), time.Duration(0)
	for {
		at := time.Now()
		members, err := list(ctx)
		now, total := cpuTime(members), written()
		works := members == nil && err != nil || worked(now-cpu, idle) || slices.ContainsFunc(members, runnable)
		switch {
		case works, total != output:
			output, cpu, idle = total, now, 0
		case idle >= limit:
			return true
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false
		}
		idle += min(time.Since(at), 2*pause)
	}
}

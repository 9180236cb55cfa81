package acpterm

// Something that happens once.

import "context"

// moment is something that happens once: a channel that is closed then (Done), and, since it is a context, functions to
// call then without a goroutine that waits for it (context.AfterFunc).
type moment struct {
	context.Context
	happen context.CancelFunc
}

func newMoment() moment {
	ctx, happen := context.WithCancel(context.Background())
	return moment{ctx, happen}
}

// alreadyHappened is one that has.
func alreadyHappened() moment {
	m := newMoment()
	m.happen()
	return m
}

// happened reports whether it has.
func (m moment) happened() bool { return m.Err() != nil }

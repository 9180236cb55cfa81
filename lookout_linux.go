package acpterm

// What the trees of one manager know of each other, so that many of them can be ended side by side: looks at the process
// table are shared by those who want one at the same time, else each would read the lines of all the others and the work
// would grow with the square; and whose a session is need not be found out again.

import "sync"

// trees are those of one manager, by their leaders' numbers. A process in another tree's session is not of this one, and
// it need not be looked at closely: a session is left for a new one only. The zero value is ready. Its methods may be
// called concurrently.
type trees struct {
	lookout lookout

	mu      sync.Mutex
	leaders map[int]bool
}

func (t *trees) enter(leader int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.leaders == nil {
		t.leaders = make(map[int]bool)
	}
	t.leaders[leader] = true
}

func (t *trees) leave(leader int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.leaders, leader)
}

// has reports whether the number is now a leader's.
func (t *trees) has(number int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.leaders[number]
}

// lookout reads the process table for several at once. The zero value is ready. processes may be called concurrently.
type lookout struct {
	turn chan struct{} // holds a token while a look is under way; made with the first

	mu   sync.Mutex
	next *sharedLook // has not begun, so that one who comes may still join it; nil if nobody wants one
}

// sharedLook is one reading of the table.
type sharedLook struct {
	in    []pidRange // what those who share it want
	done  chan struct{}
	table []process // once done is closed
}

// processes reads the lines of the table whose numbers are in the range, and others too perhaps. The reading begins
// after the call does.
func (l *lookout) processes(in pidRange) []process {
	l.mu.Lock()
	if l.turn == nil {
		l.turn = make(chan struct{}, 1)
	}
	joined := l.next != nil
	if !joined {
		l.next = &sharedLook{done: make(chan struct{})}
	}
	mine := l.next
	mine.in = append(mine.in, in)
	l.mu.Unlock()

	if !joined {
		l.turn <- struct{}{} // until the one before has ended; meanwhile others join
		l.mu.Lock()
		l.next = nil
		l.mu.Unlock()
		mine.table, _ = processes(union(mine.in))
		<-l.turn
		close(mine.done)
	}
	<-mine.done
	return mine.table
}

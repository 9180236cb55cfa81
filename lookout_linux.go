package acpterm

// Looks at the process table, shared by those who want one at the same time. When many trees are ended side by side,
// each would read the lines of all the others, and the work would grow with the square.

import "sync"

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

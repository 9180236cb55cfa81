package acpterm

// What the trees of one manager know of each other, so that many of them can be ended side by side and one after the
// other: looks at the process table are shared by those who want one at the same time, and the numbers of the manager's own
// leaders need no look, else each would read the lines of all the others and the work would grow with the square.

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// trees are those of one manager, by their leaders' numbers. A process in another tree's session is not of this one, and
// it need not be looked at closely: a session is left for a new one only. Its methods may be
// called concurrently.
type trees struct {
	loop    *loop // the manager's
	lookout lookout
	load    loadFile

	attending atomic.Bool // somebody waits for a leader's exit with a thread (procgroup_linux.go)

	mu      sync.Mutex
	entries uint64         // how many leaders there ever were
	last    int            // the number of the last one
	gaps    uint64         // how many numbers there were between each leader's and the next one's
	lost    uint64         // so many of the first of them are not remembered
	between []loose        // the others, but those that nobody can have any more
	leaders map[int]uint64 // their numbers while these are their own, and which entry each is
	known   map[int]uint64 // the same of the last leaders, those that are gone too
	recent  []int          // the numbers in known, in a ring by entry
	numbers numbering      // that was read last
	counted numbering      // the same, but for the limit, and perhaps later
}

// recentLeaders are so many that are remembered when they are gone.
const recentLeaders = 1 << 12

// loose is a number between those of two leaders that came one after the other.
type loose struct {
	number int
	before uint64 // how many such numbers there had been
}

// recentLoose are so many that are remembered, and up to twice as many.
const recentLoose = 1 << 10

// entry is which of the leaders one is.
type entry struct {
	number uint64 // of those that ever were
	gaps   uint64 // there had been
}

// enter says that a process is a leader from now on, and which entry it is.
func (t *trees) enter(leader int) entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.leaders == nil {
		t.leaders, t.known = make(map[int]uint64), make(map[int]uint64)
	}
	if len(t.recent) < recentLeaders {
		t.recent = append(t.recent, leader)
	} else {
		oldest := &t.recent[t.entries%recentLeaders]
		if t.known[*oldest]+recentLeaders <= t.entries+1 { // and the number has not been another leader's since
			delete(t.known, *oldest)
		}
		*oldest = leader
	}
	if t.entries > 0 && leader > t.last {
		t.skipLocked(t.last+1, leader)
	}
	t.last = leader
	t.entries++
	t.leaders[leader], t.known[leader] = t.entries, t.entries
	return entry{t.entries, t.gaps}
}

// skipLocked says that the numbers from one to before another were between leaders'.
func (t *trees) skipLocked(first, end int) {
	if keep := end - recentLoose; first < keep {
		t.gaps += uint64(keep - first)
		t.lost, t.between, first = t.gaps, nil, keep
	}
	for number := first; number < end; number++ {
		if len(t.between) == 2*recentLoose {
			t.between = slices.Delete(t.between, 0, recentLoose)
			t.lost = t.between[0].before
		}
		t.between = append(t.between, loose{number, t.gaps})
		t.gaps++
	}
}

// settle says that nobody can have these numbers any more, the lowest first, until they come round.
func (t *trees) settle(numbers []int) {
	if len(numbers) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.between = slices.DeleteFunc(t.between, func(l loose) bool {
		_, found := slices.BinarySearch(numbers, l.number)
		return found
	})
}

// open says which loop the trees are seen by. It comes before all else.
func (t *trees) open(l *loop) { t.loop = l }

// close gives back what it holds. There are no trees any more.
func (t *trees) close() {
	t.load.close()
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
	return t.leaders[number] != 0
}

// skip returns what reports the numbers that are of no process of a leader's tree but the leader itself. round says that
// numbers may have come round since.
func (t *trees) skip(e entry, round bool) func(number int) bool {
	return func(number int) bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.leaders[number] != 0 || !round && t.known[number] > e.number
	}
}

// others reports whether a range that begins with a leader may have numbers that were not given to later leaders. If it has
// none, the leader has never started anybody. Of a range that comes round it is not known.
func (t *trees) others(in pidRange, leader entry) bool {
	if in.first == 0 || in.last < in.first {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.gaps != leader.gaps || in.last > t.last
}

// unknown are the numbers that others reports, if they are few, the lowest first.
func (t *trees) unknown(in pidRange, leader entry) (numbers []int, few bool) {
	if in.first == 0 || in.last < in.first {
		return nil, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	from, _ := slices.BinarySearchFunc(t.between, leader.gaps, func(l loose, gaps uint64) int { return cmp.Compare(l.before, gaps) })
	since := t.between[from:]
	if leader.gaps < t.lost || len(since) > fewNumbers || in.last-t.last > fewNumbers {
		return nil, false
	}
	add := func(number int) {
		if number != in.first && t.known[number] <= leader.number { // else a leader's whose start was overtaken by another's
			numbers = append(numbers, number)
		}
	}
	for _, l := range since {
		add(l.number)
	}
	for number := t.last + 1; number <= in.last; number++ {
		add(number)
	}
	slices.Sort(numbers) // they are, unless starts have overtaken each other
	return numbers, true
}

// numbering is how process numbers were given out at one moment. They are given out in order, from 1 to limit, and come
// round.
type numbering struct {
	at    time.Time
	forks uint64 // that the machine had ever made; 0 if that is not known
	limit uint64 // 0 likewise
}

// numberingAge is how old a numbering may be where an older one will do, at the least: to read it takes longer than anything
// else about a start but the fork.
const numberingAge = 10 * time.Millisecond

// fresh reports whether it will do for a start. For as long as less than half of the numbers can have been given out since, it
// leaves as long until they may have come round.
func (n numbering) fresh() bool {
	age := time.Since(n.at)
	return age < numberingAge || age.Seconds()*forksPerSecond < float64(n.limit)/2
}

// numberingBefore is a numbering of now or of a moment ago.
func (t *trees) numberingBefore() numbering {
	t.mu.Lock()
	n := t.numbers
	t.mu.Unlock()
	if n.fresh() {
		return n
	}
	n = t.countForks()
	if most, err := readProc("/proc/sys/kernel/pid_max"); err == nil {
		n.limit, _ = strconv.ParseUint(strings.TrimSpace(string(most)), 10, 64)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.numbers = n
	return n
}

// countForks is a numbering of now, but for the limit.
func (t *trees) countForks() numbering {
	n := numbering{at: time.Now(), forks: forks()}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counted = n
	return n
}

// lastCount is what countForks returned last; the zero value if nobody called it.
func (t *trees) lastCount() numbering {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counted
}

// comeRound reports whether so many processes may have begun since a numbering was read that the number of one from then
// was passed again. Most often that is known without another count.
func (t *trees) comeRound(n numbering) bool {
	return n.comeRoundBy(n) && n.comeRoundBy(t.lastCount()) && n.comeRoundBy(t.countForks())
}

// forksPerSecond is more than any machine makes.
const forksPerSecond = 1e6

// comeRoundBy reports the same by a later count, and by the time since.
func (n numbering) comeRoundBy(later numbering) bool {
	const reserved = 1000 // more than the numbers that are never given out, and the forks under way
	if n.forks == 0 || n.limit == 0 || later.forks < n.forks {
		return true
	}
	begun := float64(later.forks-n.forks) + time.Since(later.at).Seconds()*forksPerSecond
	return begun+reserved >= float64(n.limit)
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

// processes reads the lines of the table whose numbers are in the range, and others too perhaps, but none that skip
// reports: the first to want a look says for all. The reading begins after the call does.
func (l *lookout) processes(in pidRange, skip func(number int) bool) []process {
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
		mine.table, _ = processes(union(mine.in), skip)
		<-l.turn
		close(mine.done)
	}
	<-mine.done
	return mine.table
}

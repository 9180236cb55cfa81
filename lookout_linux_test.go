package acpterm

// What is known of process numbers without a look at who has them, and of pidfds that nobody watches.

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestNumbersOfOtherLeaders(t *testing.T) {
	var all trees
	first := all.enter(10)
	all.enter(11)
	require.False(t, all.others(pidRange{10, 10}, first))
	require.False(t, all.others(pidRange{10, 11}, first), "11 is a leader that came later")
	require.True(t, all.others(pidRange{10, 12}, first), "12 is anybody")
	all.leave(11)
	require.False(t, all.others(pidRange{10, 11}, first), "11 was a leader, whoever is gone now")
	third := all.enter(9) // the numbers have come round
	require.True(t, all.others(pidRange{9, 10}, third), "10 was given out before, and may be again")
	require.True(t, all.others(pidRange{9, 11}, third))

	for n := range recentLeaders {
		all.enter(1000 + n)
	}
	require.True(t, all.others(pidRange{10, 11}, first), "the numbers have come round, and not everybody's is known")
	require.Len(t, all.known, recentLeaders, "what is long ago is forgotten")
	last := all.enter(1000 + recentLeaders)
	require.False(t, all.others(pidRange{1000 + recentLeaders, 1000 + recentLeaders}, last))
	later := all.enter(1000 + recentLeaders + 3)
	require.True(t, all.others(pidRange{1000 + recentLeaders, 1000 + recentLeaders + 3}, last), "two are anybody's")
	require.False(t, all.others(pidRange{1000 + recentLeaders + 3, 1000 + recentLeaders + 3}, later))
}

func TestNumbersOfNoLeader(t *testing.T) {
	var all trees
	unknown := func(first, last int, e entry) []int {
		numbers, few := all.unknown(pidRange{first, last}, e)
		require.True(t, few)
		return numbers
	}
	first := all.enter(10)
	require.Empty(t, unknown(10, 10, first))
	require.Equal(t, []int{11, 12}, unknown(10, 12, first))
	second := all.enter(13)
	require.Equal(t, []int{11, 12}, unknown(10, 13, first))
	require.Equal(t, []int{14}, unknown(13, 14, second))
	all.enter(14)
	all.enter(17)
	require.Equal(t, []int{11, 12, 15, 16, 18}, unknown(10, 18, first))
	require.Equal(t, []int{15, 16, 18}, unknown(13, 18, second))

	overtaking := all.enter(19)
	overtaken := all.enter(18)
	require.Equal(t, []int{11, 12, 15, 16}, unknown(10, 19, first))
	require.Equal(t, []int{19}, unknown(18, 19, overtaken), "it is a leader's that came before")
	require.Empty(t, unknown(19, 19, overtaking))
	all.enter(20)
	require.Empty(t, unknown(19, 20, overtaking))

	_, few := all.unknown(pidRange{}, first)
	require.False(t, few)
	_, few = all.unknown(pidRange{10, 9}, first)
	require.False(t, few, "they come round")
	_, few = all.unknown(pidRange{10, 20 + fewNumbers + 1}, first)
	require.False(t, few)
	number := 20
	for range 3 * recentLoose {
		number += 2
		all.enter(number)
	}
	require.LessOrEqual(t, len(all.between), 2*recentLoose)
	_, few = all.unknown(pidRange{10, number}, first)
	require.False(t, few, "what is long ago is forgotten")
	last := all.enter(number + 2)
	require.Empty(t, unknown(number+2, number+2, last))
	all.enter(number + 4)
	require.Equal(t, []int{number + 3}, unknown(number+2, number+4, last))
	all.enter(number + 6)
	all.settle([]int{number + 3})
	require.Equal(t, []int{number + 5}, unknown(number+2, number+6, last))
	far := all.enter(number + 6 + 10*recentLoose)
	require.Len(t, all.between, recentLoose)
	_, few = all.unknown(pidRange{number + 2, number + 6 + 10*recentLoose}, last)
	require.False(t, few)
	require.Empty(t, unknown(number+6+10*recentLoose, number+6+10*recentLoose, far))
}

func TestNumbersComeRound(t *testing.T) {
	var all trees
	now := numbering{at: time.Now(), forks: forks(), limit: 1 << 22}
	require.NotZero(t, now.forks)
	require.False(t, all.comeRound(now))
	require.Zero(t, all.lastCount(), "it takes longer than a few milliseconds to begin so many processes")
	few := now
	few.limit = 300
	require.True(t, all.comeRound(few), "there may be fewer numbers than forks under way")
	old := now
	old.at = old.at.Add(-time.Hour)
	require.False(t, all.comeRound(old), "the forks themselves are counted then")
	old.forks -= 1 << 22
	require.True(t, all.comeRound(old))
	require.True(t, all.comeRound(numbering{}), "nothing is known")
}

// A count of the machine's forks does for all who want one soon after it, and for nobody long after.
func TestForksAreCountedForAll(t *testing.T) {
	var all trees
	start := all.numberingBefore()
	require.NotZero(t, start.limit)
	require.Equal(t, start.forks, all.lastCount().forks)
	old := numbering{at: time.Now().Add(-time.Hour), forks: forks(), limit: 1 << 30}
	require.False(t, all.comeRound(old))
	counted := all.lastCount()
	require.NotZero(t, counted.forks)
	require.False(t, all.comeRound(old))
	require.Equal(t, counted, all.lastCount())

	all.counted = old // with what may have been forked in an hour, it says nothing
	require.False(t, all.comeRound(old))
	require.Less(t, time.Since(all.lastCount().at), time.Hour)
}

// When the numbers may have come round, whoever a tree has started may have any.
func TestNumbersSinceAStart(t *testing.T) {
	all, closeAll := someTrees()
	defer closeAll()
	since := all.pidsSince(1, all.numberingBefore())
	require.Equal(t, 1, since.first)
	require.Positive(t, since.last)
	require.Zero(t, all.pidsSince(1, numbering{}))
}

// someTrees are of no manager.
func someTrees() (all *trees, closeAll func()) {
	all, l := new(trees), new(loop)
	all.open(l)
	return all, func() {
		l.close()
		all.close()
	}
}

// A descriptor that is forgotten is not asked about again, and its number may be another's.
func TestForgottenDescriptor(t *testing.T) {
	var w loop
	called := make(chan struct{}, 10)
	pipe := func() (ends [2]int) {
		require.NoError(t, unix.Pipe2(ends[:], unix.O_CLOEXEC))
		require.NoError(t, w.watch(ends[0], func() { called <- struct{}{} }))
		return ends
	}
	shut := func(ends [2]int) {
		unix.Close(ends[0])
		unix.Close(ends[1])
	}
	ends := pipe()
	w.forget(ends[0])
	require.NotContains(t, w.watcher.watched, int32(ends[0]))
	shut(ends)

	left := pipe()
	w.leave(left[0])
	unix.Write(left[1], []byte("x"))
	ends = pipe()
	for range 2 { // each time that there is something new
		unix.Write(ends[1], []byte("x"))
		<-called
	}
	w.forget(ends[0])
	shut(ends)
	shut(left)
	w.close()
	require.Empty(t, called)
	require.Len(t, w.watcher.watched, 1, "what it is woken by")
}

// Where a pidfd cannot be watched, a thread waits for the exit.
func TestPidfdThatCannotBeWatched(t *testing.T) {
	child, err := os.StartProcess("/bin/sh", []string{"sh", "-c", "exit 3"}, &os.ProcAttr{Env: []string{}})
	require.NoError(t, err)
	all, closeAll := someTrees()
	defer closeAll()
	fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0) // which epoll refuses
	require.NoError(t, err)
	w := exitWatch{trees: all, fd: fd}
	require.NoError(t, w.open(child.Pid))
	require.Equal(t, -1, w.fd)
	var busy sync.WaitGroup
	codes := make(chan uint32, 1)
	w.onExit(child.Pid, &busy, func(e exit, err error) {
		require.NoError(t, err)
		codes <- e.code
	})
	require.EqualValues(t, 3, <-codes)
	busy.Wait()
	w.close()
	_, err = child.Wait()
	require.NoError(t, err, "the zombie was left for others")
}

package acpterm

// What a start that hangs means for the others.

import (
	"context"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// While a command is being started there is a number that may be of any tree's, and a release waits for the start to tell;
// but not for one that hangs.
func TestAStartThatHangsHoldsUpNoRelease(t *testing.T) {
	m := NewManager(nil)
	defer m.Close()
	ended, err := m.Create(context.Background(), CreateTerminalRequest{SessionID: "s", Command: "true"})
	require.NoError(t, err)
	<-ended.Done()

	goOn := hang(m, func() {
		someone := exec.Command("true")
		require.NoError(t, someone.Start())
		someone.Wait()
	})
	require.NoError(t, m.Release(context.Background(), "s", ended.ID()))
	goOn()
}

// A second one that hangs neither.
func TestAStartThatHangsHoldsUpNoOther(t *testing.T) {
	m := NewManager(nil)
	defer m.Close()
	first := hang(m, func() {})
	second := hang(m, func() {})
	for range 20 {
		_, err := m.Create(context.Background(), CreateTerminalRequest{SessionID: "s", Command: "true"})
		require.NoError(t, err)
	}
	threads := func() int {
		m.loop.mu.Lock()
		defer m.loop.mu.Unlock()
		return len(m.loop.threads)
	}
	n := threads() // one for each that hangs, one for the others; on a busy machine one of those may have taken long, too
	first()
	second()
	third := hang(m, func() {})
	fourth := hang(m, func() {})
	last := threads()
	third()
	fourth()
	require.GreaterOrEqual(t, n, 3)
	require.Equal(t, n, last, "one that hung before helps")
}

// Nor one that hangs after it has paused.
func TestAStartThatHangsInTheEndHoldsUpNoOther(t *testing.T) {
	m := NewManager(nil)
	defer m.Close()
	begun, end := make(chan struct{}), make(chan struct{})
	var job sync.WaitGroup
	job.Go(func() {
		m.loop.run(func(pause pauseFunc) {
			pause(new(loan)) // which is over
			time.Sleep(2 * longStart)
			close(begun)
			<-end
		})
	})
	<-begun
	_, err := m.Create(context.Background(), CreateTerminalRequest{SessionID: "s", Command: "true"})
	require.NoError(t, err)
	close(end)
	job.Wait()
}

// Jobs need no descriptors: there may be none left.
func TestJobsAreRunWithNothingToWatch(t *testing.T) {
	var l loop
	for range 3 {
		ran := false
		l.run(func(pauseFunc) { ran = true })
		require.True(t, ran)
	}
	require.False(t, l.watcher.open())
	l.close()
	require.False(t, l.post(func(pauseFunc) {}))
}

// Whoever waits for descriptors has them between one job and the next, however many there are.
func TestJobsLeaveRoomForDescriptors(t *testing.T) {
	var l loop
	defer l.close()
	var ends [2]int
	require.NoError(t, unix.Pipe2(ends[:], unix.O_CLOEXEC))
	defer unix.Close(ends[0])
	defer unix.Close(ends[1])
	called := make(chan struct{}, 10)
	require.NoError(t, l.watch(ends[0], func() { called <- struct{}{} }))
	var job func(pauseFunc)
	job = func(pauseFunc) { l.post(job) } // there is always another one
	l.post(job)
	unix.Write(ends[1], []byte("x"))
	<-called
	l.forget(ends[0])
}

// What is to be done soon, such as writing answers, is not left undone because of a start that hangs.
func TestAStartThatHangsHoldsUpNothingThatIsToBeDoneSoon(t *testing.T) {
	var l loop
	defer l.close()
	done, goOn := make(chan struct{}), make(chan struct{})
	l.run(func(pauseFunc) {
		l.post(func(pauseFunc) { assert.True(t, l.soon(func() { close(done) })) })
		l.post(func(pauseFunc) { <-goOn })
	})
	<-done
	close(goOn)
}

// And it is done when there is nothing to do but that, nothing to watch, or no loop any more.
func TestWhatIsToBeDoneSoonIsDone(t *testing.T) {
	var l loop
	done := make(chan struct{}, 1)
	do := func(pauseFunc) { assert.True(t, l.soon(func() { done <- struct{}{} })) }
	l.run(do)
	<-done

	var ends [2]int
	require.NoError(t, unix.Pipe2(ends[:], unix.O_CLOEXEC))
	defer unix.Close(ends[0])
	defer unix.Close(ends[1])
	require.NoError(t, l.watch(ends[0], func() { do(nil) }))
	unix.Write(ends[1], []byte("x"))
	<-done
	l.run(do)
	<-done

	l.forget(ends[0])
	var closing sync.WaitGroup
	l.run(func(pauseFunc) {
		l.post(do)
		closing.Go(l.close)
	})
	<-done
	closing.Wait()
}

// Elsewhere than on the thread it is not known when that would be.
func TestOnlyTheThreadDoesSomethingSoon(t *testing.T) {
	var l loop
	require.False(t, l.soon(nil))
	l.run(func(pauseFunc) {})
	require.False(t, l.soon(nil))
	l.close()
	for _, thread := range l.threads { // which may be others' now
		require.Zero(t, thread.id)
	}
}

// The timer that looks whether a job hangs is there while there are jobs.
func TestNoTimerWithoutJobs(t *testing.T) {
	var l loop
	timer := func() *time.Timer {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.relief
	}
	for range 2 {
		l.run(func(pauseFunc) { require.NotNil(t, timer()) })
		require.Eventually(t, func() bool { return timer() == nil }, 10*time.Second, time.Millisecond)
	}
	require.Len(t, l.threads, 1)
	l.run(func(pauseFunc) {})
	l.close()
	if left := timer(); left != nil {
		require.False(t, left.Stop())
	}
}

// Nobody else gets the thread, who might end it.
func TestTheThreadIsNobodyElses(t *testing.T) {
	var l loop
	defer l.close()
	thread := 0
	l.run(func(pauseFunc) { thread = unix.Gettid() })
	const others = 20
	threads, end := make(chan int), make(chan struct{})
	defer close(end)
	for range others {
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			threads <- unix.Gettid()
			<-end
		}()
	}
	for range others {
		require.NotEqual(t, thread, <-threads)
	}
}

// hang has something hang where commands are started, once it has begun with something else, until goOn is called.
func hang(m *Manager, begin func()) (goOn func()) {
	begun, end := make(chan struct{}), make(chan struct{})
	var job sync.WaitGroup
	job.Go(func() {
		m.loop.run(func(pauseFunc) {
			begin()
			close(begun)
			<-end
		})
	})
	<-begun
	return func() {
		close(end)
		job.Wait()
	}
}

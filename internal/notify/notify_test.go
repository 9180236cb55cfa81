package notify_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/notify"
	"github.com/acpterm/acpterm/internal/racetest"
)

func TestMain(m *testing.M) { racetest.Main(m) }

func TestObserversGetEventsInOrder(t *testing.T) {
	var q notify.Queue[int]
	require.False(t, q.Observed())
	q.Add(0, notify.Size{Bytes: 1}) // without an observer
	n, size := q.Waiting()
	require.Zero(t, n)
	require.Zero(t, size)

	var got []string
	q.Observe(func(e int) { got = append(got, "first") })
	stop := q.Observe(func(e int) { got = append(got, "second") })
	require.True(t, q.Observed())
	q.Add(1, notify.Size{})
	q.Wait()
	stop()
	q.Add(2, notify.Size{})
	q.Wait()
	require.Equal(t, []string{"first", "second", "first"}, got)
}

// While an observer runs, events wait and are counted. They delay only Wait and stop.
func TestASlowObserver(t *testing.T) {
	var q notify.Queue[int]
	running, release := make(chan struct{}), make(chan struct{})
	var got []int
	stop := q.Observe(func(e int) {
		if got = append(got, e); e == 1 {
			close(running)
			<-release
		}
	})
	q.Add(1, notify.Size{Bytes: 10, Output: 100})
	<-running
	q.Add(2, notify.Size{Bytes: 20, Output: 200})
	q.Add(3, notify.Size{Bytes: 30, Output: 300})
	n, size := q.Waiting()
	require.Equal(t, 2, n)
	require.Equal(t, notify.Size{Bytes: 50, Output: 500}, size)

	stopped := make(chan struct{})
	go func() {
		stop()
		close(stopped)
	}()
	for q.Observed() { // until stop has removed it
		runtime.Gosched()
	}
	select {
	case <-stopped:
		t.Error("stop returned while the observer runs")
	default:
	}
	close(release)
	<-stopped
	q.Wait()
	require.Equal(t, []int{1}, got, "what came after the stop is for nobody")
	n, size = q.Waiting()
	require.Zero(t, n)
	require.Zero(t, size)
}

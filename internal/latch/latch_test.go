package latch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/racetest"
)

func TestMain(m *testing.M) { racetest.Main(m) }

func TestLatch(t *testing.T) {
	var l Latch
	var called []int
	call := func(n int) func() { return func() { called = append(called, n) } }
	l.OnSet(call(1))
	stop := l.OnSet(call(2))
	stopLate := l.OnSet(call(3))
	l.OnSet(func() { require.True(t, l.IsSet(), "nothing is locked") })
	require.True(t, stop())
	require.False(t, stop(), "it was stopped before")
	require.False(t, l.IsSet())
	done := l.Done()

	l.Set()
	require.Equal(t, []int{1, 3}, called, "in their order")
	require.True(t, l.IsSet())
	require.Zero(t, l.functions.Len(), "a set latch keeps no function")
	<-done
	<-l.Done()
	require.False(t, stopLate(), "it was called")
	require.False(t, l.OnSet(call(4))())
	l.Set()
	require.Equal(t, []int{1, 3, 4}, called, "each once")
}

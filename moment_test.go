package acpterm

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMoment(t *testing.T) {
	var m moment
	var called []int
	call := func(n int) func() { return func() { called = append(called, n) } }
	m.then(call(1))
	stop := m.then(call(2))
	stopLate := m.then(call(3))
	m.then(func() { require.True(t, m.happened(), "nothing is locked") })
	require.True(t, stop())
	require.False(t, stop(), "it was stopped before")
	require.False(t, m.happened())
	done := m.Done()

	m.happen()
	require.Equal(t, []int{1, 3}, called, "in their order")
	require.True(t, m.happened())
	require.Zero(t, m.reactions.Len(), "a terminal that is kept keeps no connection that it was of")
	<-done
	<-m.Done()
	require.False(t, stopLate(), "it was called")
	require.False(t, m.then(call(4))())
	m.happen()
	require.Equal(t, []int{1, 3, 4}, called, "each once")
}

package acpterm

// What a start that hangs means for the others.

import (
	"context"
	"os/exec"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
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
	require.Len(t, m.loop.threads, 3)
	first()
	second()
	third := hang(m, func() {})
	fourth := hang(m, func() {})
	require.Len(t, m.loop.threads, 3, "one that hung before helps")
	third()
	fourth()
}

// hang has something hang where commands are started, once it has begun with something else, until goOn is called.
func hang(m *Manager, begin func()) (goOn func()) {
	begun, end := make(chan struct{}), make(chan struct{})
	var job sync.WaitGroup
	job.Go(func() {
		m.loop.run(func() {
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

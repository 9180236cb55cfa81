package acpterm

// What a start that is under way means for the others.

import (
	"context"
	"os/exec"
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

	took, goOn, through := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(through)
		m.starter.run(func() {
			defer close(took)
			someone := exec.Command("true")
			if someone.Start() == nil {
				defer someone.Wait()
			}
			took <- struct{}{}
			<-goOn
		})
	}()
	<-took // a number
	require.NoError(t, m.Release(context.Background(), "s", ended.ID()))
	close(goOn)
	<-through
}

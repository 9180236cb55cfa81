//go:build unix

package main

import (
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// begin runs a command that stays, and returns its PID.
func begin(t *testing.T) (*user, int) {
	u := start(t, agent)
	u.enter(os.Args[0] + " stay")
	u.await(`^\? Type a number`)
	u.enter("1")
	pid, err := strconv.Atoi(u.await(`^\[1\] here (\d+)$`))
	require.NoError(t, err)
	return u, pid
}

func TestAnInterruptStopsTheTurn(t *testing.T) {
	u, _ := begin(t)
	require.NoError(t, u.client.Process.Signal(os.Interrupt))
	u.await(`^\* The turn has ended: cancelled$`)
	u.enter("go version") // the conversation goes on
	u.await(`^\? Type a number`)
	require.NoError(t, u.client.Process.Signal(os.Interrupt))
	u.await(`^\* The turn has ended: cancelled$`)
	u.leave()
}

func TestNothingIsLeft(t *testing.T) {
	for _, signal := range []os.Signal{nil, syscall.SIGTERM} {
		u, pid := begin(t)
		if signal == nil {
			require.NoError(t, u.client.Process.Signal(os.Interrupt))
			u.await(`^\* Cancelling`)
			signal = os.Interrupt
		}
		require.NoError(t, u.client.Process.Signal(signal))
		u.await(`^\* The agent:`)
		err := u.client.Wait()
		require.True(t, err != nil || signal == os.Interrupt) // between turns, an interrupt is not an error
		require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
	}
}

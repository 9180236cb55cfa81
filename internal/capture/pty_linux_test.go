package capture

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// startPTY starts a Reader of a PTY and stops it at the end of the test. w is the slave, which changes no byte.
func startPTY(t *testing.T) (c *captured) {
	t.Helper()
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	require.NoError(t, err)
	c = &captured{sink: new(collector)}
	c.w, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	file := os.NewFile(uintptr(master), "master")
	c.reader = StartPTY(file, c.sink, &c.busy)
	t.Cleanup(func() {
		c.reader.Stop()
		c.busy.Wait()
		c.w.Close()
		require.Empty(t, c.sink.misused)
		require.True(t, c.sink.closed)
		require.ErrorIs(t, file.Close(), os.ErrClosed)
	})
	return c
}

// A finished Drain has passed on every byte written before it, whatever the size. The terminal stays open.
func TestPTYDrainIsExact(t *testing.T) {
	c := startPTY(t)
	total := 0
	for i := range 240 {
		size := []int{0, 1, 100, 4095, 4096, 4097, 12_000, 60_000}[i%8]
		c.write(t, strings.Repeat("x", size))
		total += size
		c.drain(t)
		require.Equal(t, total, len(c.sink.String()))
	}
	require.False(t, c.reader.Over())
}

// A writer that never stops does not delay a drain.
func TestPTYDrainIsBounded(t *testing.T) {
	c := startPTY(t)
	var stop sync.WaitGroup
	stopped := make(chan struct{})
	stop.Go(func() {
		for {
			select {
			case <-stopped:
				return
			default:
				c.w.WriteString(strings.Repeat("x", 1000))
			}
		}
	})
	for range 100 {
		c.drain(t)
	}
	close(stopped)
	stop.Wait()
}

// The output ends when the last process has closed the terminal. Stop does not wait for that.
func TestPTYEnd(t *testing.T) {
	c := startPTY(t)
	c.write(t, "text")
	require.NoError(t, c.w.Close())
	c.busy.Wait()
	require.Equal(t, "text", c.sink.String())
	require.True(t, c.reader.Over())
	c = startPTY(t)
	c.write(t, "text")
	c.reader.Stop()
	require.Equal(t, "text", c.sink.String())
}

package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/remote/internal/frame"
)

// isListHeld reports whether a list that has been asked for waits for output to be sent.
func isListHeld() bool {
	var stacks strings.Builder
	pprof.Lookup("goroutine").WriteTo(&stacks, 1)
	for stack := range strings.SplitSeq(stacks.String(), "\n\n") {
		if strings.Contains(stack, "server.(*server).list+") && strings.Contains(stack, "server.(*process).await+") {
			return true
		}
	}
	return false
}

// A list that says that a process waits for input follows all output before that, on a slow connection, too.
func TestListsFollowTheOutput(t *testing.T) {
	c := serve(t)
	file := filepath.Join(t.TempDir(), "written")
	const size = 110_000 // more than a pipe and two frames hold, and less than two pipes
	start := c.shell(fmt.Sprintf("read x; head -c %d /dev/zero; : >%s; read x", size, file))
	start.Stdin = true
	number, p := c.start(start)
	enter := func() { c.send(frame.Request{Input: &frame.Input{Process: number, Bytes: frame.Bytes("\n")}}) }
	c.gate.Lock()
	enter()
	state := fmt.Sprintf("/proc/%d/stat", p.started.PID)
	waits := assert.Eventually(t, func() bool {
		_, err := os.Stat(file)
		stat, _ := os.ReadFile(state)
		return err == nil && strings.Contains(string(stat), ") S ")
	}, time.Minute, time.Millisecond)
	id := c.send(frame.Request{List: &frame.Process{Process: number}})
	held := assert.Eventually(t, isListHeld, time.Minute, time.Millisecond, "the list does not wait for the output")
	c.gate.Unlock()
	require.True(t, waits && held)
	list := c.answered(id).List
	require.Len(t, list.Processes, 1)
	require.True(t, list.Processes[0].ReadsInput)
	require.Equal(t, size, c.now(p).listedAt)
	c.tell(frame.Request{EndInput: &frame.Process{Process: number}})
	require.EqualValues(t, 1, c.awaitExit(p).Code, "read has failed")
	c.end(number, p)
}

// The reply to input that makes a command exit comes before the exit, also if the exit has interrupted the write.
func TestRepliesToInputPrecedeTheExit(t *testing.T) {
	c := serve(t)
	for _, size := range []int{1, frame.MaxInput} { // the latter is more than the buffer of a PTY
		for i := range 100 {
			start := c.shell("stty raw -echo 2>/dev/null; echo ready; head -c 1; exit 3")
			if start.Stdin = i%2 == 0; !start.Stdin {
				start.PTY = &frame.Size{Columns: 80, Rows: 24}
			}
			number, p := c.start(start)
			c.awaitOutput(p, "ready")
			id := c.send(frame.Request{Input: &frame.Input{Process: number, Bytes: make(frame.Bytes, size)}})
			require.EqualValues(t, 3, c.awaitExit(p).Code)
			require.Positive(t, c.answered(id).Taken)
			require.EqualValues(t, id, c.now(p).repliesAtExit, "the reply came after the exit")
			c.end(number, p)
		}
	}
}

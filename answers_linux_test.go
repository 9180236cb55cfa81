package acpterm

// Answers that come of one turn of the manager's thread.

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// They are written at once, so that the agent is woken once; and when it does not read, somebody waits for it who is not
// the thread. Either way none of them counts as unwritten in the end.
func TestAnswersOfOneTurnAreWrittenTogether(t *testing.T) {
	const answers = 3
	for name, full := range map[string]bool{"an agent that reads": false, "one that does not": true} {
		t.Run(name, func(t *testing.T) {
			m := NewManager(nil)
			defer m.Close()
			theirs, ours, err := os.Pipe()
			require.NoError(t, err)
			defer theirs.Close()
			defer ours.Close()
			before := 0
			if full {
				before, err = unix.FcntlInt(ours.Fd(), unix.F_GETPIPE_SZ, 0)
				require.NoError(t, err)
				require.NoError(t, unix.SetNonblock(int(ours.Fd()), true))
				n, err := ours.Write(slices.Repeat([]byte("x"), before))
				require.NoError(t, err)
				require.Equal(t, before, n)
			}
			h := NewHandler(m, nil)
			h.stream = NewStream(JoinStdio(theirs, ours))
			m.loop.run(func(pauseFunc) {
				for range answers {
					c := &call{wireID: []byte("1")}
					assert.NoError(t, h.enter(c))
					h.answerNow(c, func() (any, error) { return KillTerminalResponse{}, nil })
				}
			})
			m.loop.run(func(pauseFunc) {}) // the thread does not wait
			read := make([]byte, before+1<<10)
			n := 0
			for n <= before {
				more, err := theirs.Read(read[n:])
				require.NoError(t, err)
				n += more
			}
			require.Equal(t, answers, strings.Count(string(read[:n]), "\n"))
			require.Eventually(t, func() bool {
				h.mu.Lock()
				defer h.mu.Unlock()
				return h.unwritten == 0 && h.unanswered == 0
			}, 10*time.Second, time.Millisecond)
		})
	}
}

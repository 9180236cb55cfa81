package server

import (
	"bytes"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/proc"
	"github.com/acpterm/acpterm/remote/internal/frame"
)

// A list of any size fits into an answer, and says what it leaves out.
func TestListsFit(t *testing.T) {
	port := netip.MustParseAddrPort("[1111:2222:3333:4444:5555:6666:7777:8888]:65535")
	list := func(count, command, ports int) (sent []frame.Member, missing string) {
		members := make([]proc.Member, count)
		for i := range members {
			members[i] = proc.Member{
				PID: 1<<22 - count + i, Parent: 1 << 22, Command: strings.Repeat("é", command/2), CPUTime: 1<<63 - 1,
				Memory: 1<<63 - 1, Runnable: true, ReadsInput: true, PollsInput: true,
			}
			for range ports {
				members[i].Listening = append(members[i].Listening, port)
			}
		}
		l := listOf(members, errors.New(strings.Repeat("\x00", 1<<20)))
		require.NoError(t, frame.NewWriter(new(bytes.Buffer)).Message(frame.Answer{Reply: &frame.Reply{List: l}}))
		return l.Processes, strings.TrimRight(l.Missing, "\x00.\n")
	}
	sent, missing := list(8, 4096, 10)
	require.Equal(t, 8, len(sent))
	require.Equal(t, frame.MaxCommand, len(sent[0].Command))
	require.Empty(t, missing)
	sent, missing = list(200, 4096, 1)
	require.Equal(t, 200, len(sent))
	require.Empty(t, missing)
	require.Greater(t, len(sent[0].Command), 64)
	sent, missing = list(5000, 4096, 1)
	require.Greater(t, len(sent), 250)
	require.Regexp(t, `^4\d\d\d of 5000 processes are too many for an answer$`, missing)
	sent, missing = list(1, 0, 5000)
	require.Zero(t, len(sent))
	require.Equal(t, "1 of 1 processes are too many for an answer", missing)
}

package acpterm

// What of a connection is served by turns, on whatever system.

import (
	"encoding/json"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The manager's thread is everybody's: it leaves to who reads a connection what is no request for it, and what takes long; and
// nothing is lost in between.
func TestWhatIsServedThere(t *testing.T) {
	const request, other = `{"jsonrpc":"2.0","id":1,"method":"terminal/kill"}`, `{"jsonrpc":"2.0","id":1,"method":"other"}`
	const poll = `{"jsonrpc":"2.0","id":1,"method":"terminal/output"}`
	const slow = `{"jsonrpc":"2.0","id":"slow","method":"terminal/kill"}`
	long := `{"jsonrpc":"2.0","id":1,"method":"terminal/kill","params":"` + strings.Repeat("x", readerSize) + `"}`
	lines := func(lines ...string) string { return strings.Join(append(lines, ""), "\n") }
	many := slices.Repeat([]string{request}, 3*manyRequests)
	for name, c := range map[string]struct {
		pieces []string // each for a turn; an empty one is the end
		there  int      // requests that are served then
		all    bool     // after the last turn
		later  string   // for who reads
		served int      // requests in all
		others int      // other messages
	}{
		"requests":          {pieces: []string{lines(request, request), lines(request)}, there: 3, all: true, served: 3},
		"in pieces":         {pieces: []string{request[:10], request[10:20], request[20:] + "\n" + other[:5]}, there: 1, all: true, later: other[5:], served: 1, others: 1},
		"something else":    {pieces: []string{lines(request, other, request)}, there: 1, served: 2, others: 1},
		"no message":        {pieces: []string{lines("noise", other)}, later: lines(request), served: 1, others: 1},
		"the end":           {pieces: []string{lines(request), ""}, there: 1, served: 1},
		"half a line at it": {pieces: []string{request, ""}, served: 1},
		"a long one":        {pieces: []string{long[:readerSize], long[readerSize:] + "\n"}, later: lines(request), served: 2},
		"many at once":      {pieces: []string{lines(many...)}, there: manyRequests, served: 3 * manyRequests},
		"a poll":            {pieces: []string{lines(request, poll, request)}, there: 1, served: 3},
		"one that waits":    {pieces: []string{lines(request, slow, request)}, there: 1, served: 3},
	} {
		t.Run(name, func(t *testing.T) {
			theirs, ours := net.Pipe()
			defer ours.Close()
			served, begun, skipped := 0, 0, 0
			s := NewStream(ours, WithSkippedLines(func(SkippedLine) { skipped++ }))
			s.there = func(m message) bool { return m.method != MethodOutput }
			s.serve = func(m message) (taken bool, rest func()) {
				switch {
				case m.method == "other":
					return false, nil
				case string(m.id) == `"slow"`:
					begun++
					return true, func() { served++ }
				}
				served++
				return true, nil
			}
			for i, piece := range c.pieces {
				done := false
				all := s.serveThere(func(p []byte) (n int, err error) {
					switch {
					case done:
						return 0, errNotYet
					case piece == "":
						return 0, io.EOF
					}
					done = true
					require.LessOrEqual(t, len(piece), len(p))
					return copy(p, piece), nil
				})
				require.Equal(t, c.all || i < len(c.pieces)-1, all)
			}
			require.Equal(t, c.there, served)
			require.Zero(t, skipped, "the hook may wait")
			go func() {
				io.WriteString(theirs, c.later)
				theirs.Close()
			}()
			others := 0
			for err := error(nil); err == nil; {
				var m json.RawMessage
				if err = s.ReadObject(&m); err == nil {
					require.Contains(t, string(m), "other")
					others++
				}
			}
			require.Equal(t, c.served, served)
			require.Equal(t, c.others, others)
			require.Equal(t, strings.Count(strings.Join(c.pieces, ""), slow), begun)
		})
	}
}

// A refusal waits for an agent that does not read, and that is left to who reads from it.
func TestARefusalIsNotWrittenThere(t *testing.T) {
	theirs, ours := net.Pipe()
	defer ours.Close()
	m := NewManager(nil)
	defer m.Close()
	h := NewHandler(m, &HandlerOptions{MaxPending: 1})
	h.stream = NewStream(ours)
	require.NoError(t, h.enter(&call{}))
	taken, rest := h.serveMessage(t.Context(), message{method: MethodKill, id: []byte("1")})
	require.True(t, taken)
	require.NotNil(t, rest)
	go rest()
	answer := make([]byte, 1)
	_, err := theirs.Read(answer)
	require.NoError(t, err)
	theirs.Close()
}

// One poll among other requests is one of them; polls that follow one another are not, for their answers may take a while.
func TestWhoPollsIsNotServedThere(t *testing.T) {
	theirs, ours := net.Pipe()
	m := NewManager(nil)
	defer m.Close()
	s := NewStream(ours)
	conn := NewHandler(m, nil).Connect(t.Context(), s)
	for _, c := range []struct {
		method string
		there  bool
	}{
		{MethodCreate, true}, {MethodOutput, true}, {MethodRelease, true}, {MethodOutput, true}, {MethodOutput, false},
		{MethodOutput, false}, {MethodKill, true}, {MethodOutput, true}, {MethodCancelRequest, true},
	} {
		require.Equal(t, c.there, s.there(message{method: c.method}))
	}
	theirs.Close()
	<-conn.DisconnectNotify()
}

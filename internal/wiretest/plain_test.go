package wiretest

// Output without escape sequences, as agents read it.

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agent"
	"github.com/acpterm/acpterm/display"
	"github.com/acpterm/acpterm/internal/hosttest"
)

// Polls between all pieces of a coloured output show a suffix of the text without colours, within the limit. Followers
// get the bytes as written. Pieces end in the middle of sequences and of characters.
func TestWirePlainOutput(t *testing.T) {
	const line = "\x1b[1;31mé\x1b[0m \x1b]8;;https://example.org\x1b\\✓\x1b]8;;\a©\u009b4m!\n"
	whole := strings.Repeat(line, 2000)
	for _, limit := range []uint64{0, 1, 7, 5000, 1 << 20} {
		next := make(chan string)
		written := make(chan bool)
		commands := acptermtest.Commands{"colours": func(p *acptermtest.Process) int {
			for piece := range next {
				p.Write([]byte(piece))
				written <- true
			}
			return 0
		}}
		m := acptermtest.NewManager(t, &acpterm.Options{
			Runner:   commands,
			Commands: acpterm.CommandOptions{PlainOutput: true, FollowBytes: int64(len(whole))},
		})
		a := hosttest.Connect(t, m, nil)
		req := acpterm.CreateTerminalRequest{SessionID: "s", Command: "colours", OutputByteLimit: &limit}
		agent.AskForHead(&req, 100)
		id := a.CreateRequest(req)
		term, err := m.Terminal("s", id)
		require.NoError(t, err)
		check := func(raw string) {
			t.Helper()
			plain := display.StripANSI(strings.ToValidUTF8(raw, ""))
			got := a.Output(id)
			require.Equal(t, term.Output(), got)
			require.True(t, strings.HasSuffix(plain, got.Output))
			require.LessOrEqual(t, uint64(len(got.Output)), limit)
			require.Equal(t, len(got.Output) < len(plain), got.Truncated)
			if got.Truncated {
				require.Less(t, limit, uint64(len(got.Output)+utf8.UTFMax), "as long as characters allow")
			}
			head := agent.ReadHead(got)
			require.True(t, strings.HasPrefix(plain, head.Text))
			require.Greater(t, len(head.Text), min(len(plain), 100)-utf8.UTFMax)
			require.EqualValues(t, len(head.Text), head.End)
			require.EqualValues(t, len(plain)-len(got.Output), head.OutputStart)
		}
		for at, size := 0, 1; at < len(whole); size += 7 {
			piece := whole[at:min(at+size, len(whole))]
			at += len(piece)
			next <- piece
			<-written
			check(whole[:at])
		}
		close(next)
		a.MustDo(acpterm.MethodWaitForExit, hosttest.Of(id))
		check(whole)
		var followed strings.Builder
		for chunk := range term.Follow(t.Context(), 0) {
			followed.WriteString(chunk.Raw)
		}
		require.Equal(t, whole, followed.String())
		require.EqualValues(t, len(whole), term.OutputTotal())
	}
}

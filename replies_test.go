package acpterm

// Replies, against encoding/json: the same text back, whatever was written and polled in between.

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/acpterm/acpterm/internal/wire"
	"github.com/stretchr/testify/require"
)

// outputOf is a terminal with nothing but output.
func outputOf(limit int64) *Terminal {
	return &Terminal{ring: newRingBuffer(limit), limit: limit}
}

// replyLine is a whole reply.
func replyLine(t testing.TB, c *wire.Cache, term *Terminal) (line []byte) {
	require.NoError(t, c.Reply(terminalOutput{term}, []byte("7"), func(piece []byte) error {
		line = append(line, piece...)
		return nil
	}))
	return line
}

// decodeReply takes a reply apart.
func decodeReply(t testing.TB, line []byte) TerminalOutputResponse {
	require.True(t, utf8.Valid(line))
	require.Equal(t, len(line)-1, bytes.IndexByte(line, '\n'), "one line")
	require.NotContains(t, string(line), "\u2028")
	require.NotContains(t, string(line), "\u2029")
	var reply struct {
		ID     json.RawMessage        `json:"id"`
		Result TerminalOutputResponse `json:"result"`
	}
	require.NoError(t, json.Unmarshal(line, &reply), "%.200s", line)
	require.Equal(t, `7`, string(reply.ID))
	return reply.Result
}

// requireSame compares without showing all of what may be long.
func requireSame(t testing.TB, want, got TerminalOutputResponse, about ...any) {
	t.Helper()
	at := 0
	for at < min(len(want.Output), len(got.Output)) && want.Output[at] == got.Output[at] {
		at++
	}
	require.Equal(t, len(want.Output), len(got.Output), about...)
	require.Equal(t, len(want.Output), at, about...)
	require.Equal(t, want.Truncated, got.Truncated, about...)
	require.Equal(t, want.ExitStatus, got.ExitStatus, about...)
}

func TestRepliesSayWhatOutputSays(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{
		"plain text ", "é", "✓", "\x1b[31mred\x1b[0m\r\n", "\"\\/",
		"\x00\x01\x7f", "\u2028\u2029", "<&>", "😀", "\xff", "\xe2\x80", "\t\b\f",
	}
	for _, limit := range []int64{0, 1, 3, 100, 5000, 20_000, 100_000} {
		for _, kinds := range []int{9, len(pieces)} { // valid UTF-8, and with what is not
			term := outputOf(limit)
			var cache wire.Cache
			const rounds = 60
			for round := range rounds {
				var news bytes.Buffer
				for range random.IntN(400) {
					news.WriteString(pieces[random.IntN(kinds)])
				}
				data := news.Bytes()
				if cut := random.IntN(3); cut < len(data) {
					data = data[:len(data)-cut] // in the middle of a character, perhaps
				}
				term.ring.write(data, 1<<16)
				if round == rounds-1 {
					term.ring.Close()
				}
				if round%3 == 1 {
					continue
				}
				for range 2 {
					got := decodeReply(t, replyLine(t, &cache, term))
					requireSame(t, term.Output(), got, "limit %d, round %d", limit, round)
				}
			}
		}
	}
}

// FuzzReply: any bytes in any two pieces, polled after each.
func FuzzReply(f *testing.F) {
	f.Add([]byte("text"), []byte("\xe2\x80\xa8\"\\"), uint16(5))
	f.Add([]byte(strings.Repeat("é\x1b[0m\n", 2000)), []byte("\xff\x00"), uint16(6000))
	f.Add([]byte(strings.Repeat("x", 5000)+"\xe2"), []byte("\x9c\x93"), uint16(4999))
	f.Fuzz(func(t *testing.T, first, second []byte, limit uint16) {
		term := outputOf(int64(limit))
		var cache wire.Cache
		for _, data := range [][]byte{bytes.Repeat(first, 1+5000/(1+len(first))), second, first, nil} {
			if data == nil {
				term.ring.Close()
			}
			term.ring.write(data, 1<<16)
			got := decodeReply(t, replyLine(t, &cache, term))
			want, err := json.Marshal(term.Output())
			require.NoError(t, err)
			var expected TerminalOutputResponse
			require.NoError(t, json.Unmarshal(want, &expected))
			requireSame(t, expected, got)
		}
	})
}

func TestAnswersAreAsEncodingJSONMakesThem(t *testing.T) {
	code, signal := uint32(4294967295), "SIGTERM"
	of := EndedBy.meta
	for _, value := range []any{
		KillTerminalResponse{}, KillTerminalResponse{Meta: of("x")},
		ReleaseTerminalResponse{}, ReleaseTerminalResponse{Meta: of("x")},
		CreateTerminalResponse{TerminalID: newIDGenerator().next("s")},
		CreateTerminalResponse{TerminalID: "term_1", Meta: of("x")},
		WaitForTerminalExitResponse{ExitCode: &code}, WaitForTerminalExitResponse{Signal: &signal},
		WaitForTerminalExitResponse{ExitCode: new(uint32), Meta: of(EndedByItself)},
		WaitForTerminalExitResponse{Meta: Meta{}},
		WaitForTerminalExitResponse{Signal: &signal, Meta: Meta{"other": json.RawMessage(`[1, 2]`)}},
		TerminalExitStatus{ExitCode: &code, Meta: Meta{"acpterm": json.RawMessage(`1`), "other": json.RawMessage(`2`)}},
	} {
		want, err := json.Marshal(value)
		require.NoError(t, err)
		require.Equal(t, string(want), string(appendJSON(nil, value)), "%#v", value)
	}
	for _, shape := range []TerminalOutputResponse{
		{}, {Truncated: true},
		{Output: "text", ExitStatus: &TerminalExitStatus{ExitCode: &code, Meta: of(EndedByKill)}},
		{Truncated: true, ExitStatus: &TerminalExitStatus{Signal: &signal}},
	} {
		want, err := json.Marshal(shape)
		require.NoError(t, err)
		line := wire.ShortReply(shapedOutput{shape: shape}, []byte("7"))
		require.Equal(t, `{"jsonrpc":"2.0","id":7,"result":`+string(want)+"}\n", string(line))
	}
}

// shapedOutput is an output of which polls show this.
type shapedOutput struct {
	wire.Output
	shape TerminalOutputResponse
}

func (o shapedOutput) Total() int64         { return int64(len(o.shape.Output)) }
func (o shapedOutput) Text() (string, bool) { return o.shape.Output, o.shape.Truncated }

func (o shapedOutput) ExitStatus() []byte {
	if o.shape.ExitStatus == nil {
		return nil
	}
	return appendStatus(nil, *o.shape.ExitStatus)
}

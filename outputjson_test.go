package acpterm

// Replies to polls, against encoding/json: the same text back, whatever was written and polled in between.

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// outputOf is a terminal with nothing but output.
func outputOf(limit int64) *Terminal {
	return &Terminal{ring: newRingBuffer(limit), limit: limit}
}

// line is a whole reply.
func (c *outputCache) line(t testing.TB, term *Terminal) (line []byte) {
	require.NoError(t, c.reply(terminalOutput{term}, []byte("7"), func(piece []byte) error {
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
	pieces := []string{"plain text ", "é", "✓", "\x1b[31mred\x1b[0m\r\n", "\"\\/", "\x00\x01\x7f", "\u2028\u2029", "<&>", "😀", "\xff", "\xe2\x80", "\t\b\f"}
	for _, limit := range []int64{0, 1, 3, 100, 5000, 20_000, 100_000} {
		for _, kinds := range []int{9, len(pieces)} { // valid UTF-8, and with what is not
			term := outputOf(limit)
			var cache outputCache
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
					got := decodeReply(t, cache.line(t, term))
					requireSame(t, term.Output(), got, "limit %d, round %d", limit, round)
				}
			}
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	var cache outputCache
	for range maxCachedOutputs + 2 {
		term := outputOf(5 << 20)
		term.ring.write(bytes.Repeat([]byte("0123456789abcdef"), 320<<10), 1<<16)
		cache.line(t, term)
		size := 0
		for _, o := range cache.outputs {
			size += cap(o.json)
		}
		require.LessOrEqual(t, len(cache.outputs), maxCachedOutputs)
		require.LessOrEqual(t, size, maxCachedBytes)
		require.NotEmpty(t, cache.outputs)
	}
	last := cache.outputs[len(cache.outputs)-1]
	cache.forget(last.output)
	require.False(t, slices.Contains(cache.outputs, last))
}

// An output that moves on for long keeps no more than it shows, but for a part.
func TestEscapedOutputDoesNotGrow(t *testing.T) {
	term := outputOf(100_000)
	var cache outputCache
	for range 2000 {
		term.ring.write([]byte(strings.Repeat("0123456789\n", 1000)), 1<<16)
		cache.line(t, term)
	}
	require.Less(t, cap(cache.outputs[0].json), 600_000)
	require.Less(t, len(cache.outputs[0].marks), 100)
}

// FuzzReply: any bytes in any two pieces, polled after each.
func FuzzReply(f *testing.F) {
	f.Add([]byte("text"), []byte("\xe2\x80\xa8\"\\"), uint16(5))
	f.Add([]byte(strings.Repeat("é\x1b[0m\n", 2000)), []byte("\xff\x00"), uint16(6000))
	f.Add([]byte(strings.Repeat("x", 5000)+"\xe2"), []byte("\x9c\x93"), uint16(4999))
	f.Fuzz(func(t *testing.T, first, second []byte, limit uint16) {
		term := outputOf(int64(limit))
		var cache outputCache
		for _, data := range [][]byte{bytes.Repeat(first, 1+5000/(1+len(first))), second, first, nil} {
			if data == nil {
				term.ring.Close()
			}
			term.ring.write(data, 1<<16)
			got := decodeReply(t, cache.line(t, term))
			want, err := json.Marshal(term.Output())
			require.NoError(t, err)
			var expected TerminalOutputResponse
			require.NoError(t, json.Unmarshal(want, &expected))
			requireSame(t, expected, got)
		}
	})
}

package wire

// Responses to polls of a real buffer give the same text back, regardless of the writes and polls in between. And what a
// Cache contains.

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/internal/output"
	"github.com/acpterm/acpterm/internal/racetest"
)

func TestMain(m *testing.M) { racetest.Main(m) }

// buffered is the output in a buffer. Polls show its last bytes.
type buffered struct {
	*output.Buffer
	limit int64
	head  int64 // polls do not show it if 0
}

func newBuffered(limit, head int64) buffered { return buffered{output.New(limit, head), limit, head} }

func (o buffered) Text() (string, int64) { return o.Last(o.limit) }

// testResponse is a response with fields that a poll may have.
type testResponse struct {
	Output     string               `json:"output"`
	Truncated  bool                 `json:"truncated"`
	ExitStatus json.RawMessage      `json:"exitStatus"`
	Meta       map[string]*testHead `json:"_meta,omitempty"`
}

type testHead struct {
	Head        string `json:"head"`
	HeadEnd     int64  `json:"headEnd"`
	OutputStart int64  `json:"outputStart"`
}

func (o buffered) response(start int64) testResponse {
	r := testResponse{Truncated: start > 0, ExitStatus: json.RawMessage(`{"exitCode":0}`)}
	if o.head > 0 {
		text, end := o.Buffer.Head(o.head)
		r.Meta = map[string]*testHead{"acpterm": {text, end, start}}
	}
	return r
}

func (o buffered) Response() func(int64) []byte {
	return func(start int64) []byte {
		encoded, _ := json.Marshal(o.response(start))
		return encoded
	}
}

func (o buffered) Window(raw []byte, known int64, size int) Window {
	return Window(o.Buffer.Window(raw, o.limit, known, size))
}

func (o buffered) write(p []byte) {
	for len(p) > 0 {
		n := copy(o.Reserve(output.MaxReserve), p)
		o.Commit(n)
		p = p[n:]
	}
}

// reply returns a whole response.
func (c *Cache) reply(t testing.TB, o Output) (line []byte) {
	require.NoError(t, c.Reply(o, []byte("7"), func(piece []byte) error {
		line = append(line, piece...)
		return nil
	}))
	return line
}

// requireReply polls an output, and fails if the response is not one line with the output's text.
func requireReply(t testing.TB, c *Cache, o buffered) {
	t.Helper()
	line := c.reply(t, o)
	require.True(t, utf8.Valid(line))
	require.Equal(t, len(line)-1, bytes.IndexByte(line, '\n'), "one line")
	require.NotContains(t, string(line), "\u2028")
	require.NotContains(t, string(line), "\u2029")
	type response struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  testResponse    `json:"result"`
	}
	var got response
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&got), "%.200s", line)
	text, start := o.Text()
	want := o.response(start)
	require.True(t, text == got.Result.Output, "%d bytes in place of %d", len(got.Result.Output), len(text))
	got.Result.Output = ""
	require.Equal(t, response{"2.0", []byte("7"), want}, got)
}

func TestRepliesSayWhatOutputSays(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{
		"plain text ", "é", "✓", "\x1b[31mred\x1b[0m\r\n", "\"\\/",
		"\x00\x01\x7f", "\u2028\u2029", "<&>", "😀", "\xff", "\xe2\x80", "\t\b\f",
	}
	for _, limit := range []int64{0, 1, 3, 100, 5000, 20_000, 100_000} {
		for _, kinds := range []int{9, len(pieces)} { // valid UTF-8, and with invalid bytes
			o := newBuffered(limit, limit*int64(random.IntN(3))) // twice the limit, once, or not requested
			var cache Cache
			rounds := longtest.Times(20, 60)
			for round := range rounds {
				var news bytes.Buffer
				for range random.IntN(400) {
					news.WriteString(pieces[random.IntN(kinds)])
				}
				data := news.Bytes()
				if cut := random.IntN(3); cut < len(data) {
					data = data[:len(data)-cut] // possibly in the middle of a character
				}
				o.write(data)
				if round == rounds-1 {
					o.Close()
				}
				if round%3 == 1 {
					continue
				}
				for range 2 {
					requireReply(t, &cache, o)
				}
			}
		}
	}
}

// FuzzReply writes any bytes in any two pieces, and polls after each.
func FuzzReply(f *testing.F) {
	f.Add([]byte("text"), []byte("\xe2\x80\xa8\"\\"), uint16(5), uint16(0))
	f.Add([]byte(strings.Repeat("é\x1b[0m\n", 2000)), []byte("\xff\x00"), uint16(6000), uint16(150))
	f.Add([]byte(strings.Repeat("x", 5000)+"\xe2"), []byte("\x9c\x93"), uint16(4999), uint16(7))
	f.Fuzz(func(t *testing.T, first, second []byte, limit, head uint16) {
		o := newBuffered(int64(limit), int64(head%200))
		var cache Cache
		for _, data := range [][]byte{bytes.Repeat(first, 1+5000/(1+len(first))), second, first, nil} {
			if data == nil {
				o.Close()
			}
			o.write(data)
			requireReply(t, &cache, o)
		}
	})
}

func TestCacheIsBounded(t *testing.T) {
	var cache Cache
	for i := range 7 + maxCachedOutputs {
		o := newBuffered(5<<20, 0)
		text := []byte("0123456789abcdef")
		if i < 7 { // exceeds the limit of bytes, and then the limit of outputs
			o.write(bytes.Repeat(text, 320<<10))
		} else {
			o.write(bytes.Repeat(text, shortOutput))
		}
		cache.reply(t, o)
		size := 0
		for _, e := range cache.outputs {
			size += e.size()
		}
		require.LessOrEqual(t, len(cache.outputs), maxCachedOutputs)
		require.LessOrEqual(t, size, maxCachedBytes)
		require.NotEmpty(t, cache.outputs)
	}
	last := cache.outputs[len(cache.outputs)-1]
	cache.Forget(last.output)
	require.False(t, slices.Contains(cache.outputs, last))
}

// An output that moves on for a long time keeps little more than it shows.
func TestEscapedOutputDoesNotGrow(t *testing.T) {
	o := newBuffered(100_000, 0)
	var cache Cache
	for range 500 {
		o.write(bytes.Repeat([]byte("0123456789\n"), 1000))
		cache.reply(t, o)
	}
	requireReply(t, &cache, o)
	require.Less(t, cache.outputs[0].size(), 300_000)
	require.Less(t, len(cache.outputs[0].blocks), 10)
}

// counted counts how often the text of an output is read.
type counted struct {
	buffered
	read *int
}

func (o counted) Text() (string, int64) {
	*o.read++
	return o.buffered.Text()
}

// A poll without new output does not decode anything again.
func TestInvalidOutputIsReadOnce(t *testing.T) {
	o := counted{newBuffered(1<<20, 0), new(int)}
	o.write(append(bytes.Repeat([]byte("x"), shortOutput), 0xff))
	var cache Cache
	first := cache.reply(t, o)
	require.Contains(t, string(first), "x\uFFFD")
	require.Equal(t, first, cache.reply(t, o))
	require.Equal(t, 1, *o.read)
	o.write([]byte("more"))
	require.Contains(t, string(cache.reply(t, o)), "\uFFFDmore")
}

package wire

// What a Cache keeps. That its replies are right is tested in the root package, with ring buffers.

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// asciiOutput is an output of ASCII characters.
type asciiOutput struct {
	data  []byte
	limit int
}

func (o *asciiOutput) write(text string)    { o.data = append(o.data, text...) }
func (o *asciiOutput) start() int           { return max(0, len(o.data)-o.limit) }
func (o *asciiOutput) Total() int64         { return int64(len(o.data)) }
func (o *asciiOutput) Text() (string, bool) { return string(o.data[o.start():]), o.start() > 0 }
func (o *asciiOutput) ExitStatus() []byte   { return nil }

func (o *asciiOutput) Window(_ []byte, known int64, size int) Window {
	start, end := o.start(), len(o.data)
	return Window{
		Start: int64(start), End: int64(end),
		Head: o.data[start:min(start+size, end)], News: o.data[max(start, int(known)):],
	}
}

// reply is a whole reply.
func (c *Cache) reply(t testing.TB, o Output) string {
	var line bytes.Buffer
	require.NoError(t, c.Reply(o, []byte("7"), func(piece []byte) error {
		line.Write(piece)
		return nil
	}))
	return line.String()
}

func TestCacheIsBounded(t *testing.T) {
	var cache Cache
	for range maxCachedOutputs + 2 {
		o := &asciiOutput{limit: 5 << 20}
		o.write(strings.Repeat("0123456789abcdef", 320<<10))
		cache.reply(t, o)
		size := 0
		for _, e := range cache.outputs {
			size += cap(e.json)
		}
		require.LessOrEqual(t, len(cache.outputs), maxCachedOutputs)
		require.LessOrEqual(t, size, maxCachedBytes)
		require.NotEmpty(t, cache.outputs)
	}
	last := cache.outputs[len(cache.outputs)-1]
	cache.Forget(last.output)
	require.False(t, slices.Contains(cache.outputs, last))
}

// An output that moves on for long keeps no more than it shows, but for a part.
func TestEscapedOutputDoesNotGrow(t *testing.T) {
	o := &asciiOutput{limit: 100_000}
	var cache Cache
	line := ""
	for range 500 {
		o.write(strings.Repeat("0123456789\n", 1000))
		line = cache.reply(t, o)
	}
	shown, _ := o.Text()
	require.True(t, strings.Contains(line, strings.ReplaceAll(shown, "\n", `\n`)))
	require.Contains(t, line[len(line)-100:], `"truncated":true`)
	require.Less(t, cap(cache.outputs[0].json), 600_000)
	require.Less(t, len(cache.outputs[0].marks), 100)
}

package wire

// The contents of a Cache. replies_test.go tests its responses.

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

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

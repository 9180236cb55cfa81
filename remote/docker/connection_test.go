package docker

import (
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// demultiplex separates the outputs however the stream is cut into pieces, and fails for a malformed stream.
func TestDemultiplex(t *testing.T) {
	for _, test := range []struct{ stream, stdout, stderr, err string }{
		{"", "", "", ""},
		{"\x01\x00\x00\x00\x00\x00\x00\x02ab\x02\x00\x00\x00\x00\x00\x00\x01x\x01\x09\x09\x09\x00\x00\x00\x01c", "abc", "x", ""},
		{"\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a", "a", "", ""},
		{"\x01\x00\x00\x00\x00\x00\x00\x02a", "a", "", "unexpected EOF"},
		{"\x01\x00\x00\x00\x00\x00\x00\x02", "", "", "unexpected EOF"},
		{"\x01\x00\x00", "", "", "unexpected EOF"},
		{"\x04\x00\x00\x00\x00\x00\x00\x01a", "", "", "output number 4"},
	} {
		var stdout, stderr strings.Builder
		err := demultiplex(iotest.OneByteReader(strings.NewReader(test.stream)), &stdout, &stderr)
		require.Equal(t, test.stdout, stdout.String())
		require.Equal(t, test.stderr, stderr.String())
		if test.err == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, test.err)
		}
	}
}

// A piece of the maximum length needs little memory, and its bytes arrive before its end.
func TestDemultiplexLength(t *testing.T) {
	from, stream := io.Pipe()
	stdout, to := io.Pipe()
	ended := make(chan error)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	go func() { ended <- demultiplex(from, to, io.Discard) }()
	_, err := io.WriteString(stream, "\x01\x00\x00\x00\xff\xff\xff\xff")
	require.NoError(t, err)
	go func() { _, _ = io.WriteString(stream, "text") }()
	text := make([]byte, 4)
	_, err = io.ReadFull(stdout, text)
	require.NoError(t, err)
	require.Equal(t, "text", string(text))
	require.NoError(t, stream.Close())
	require.ErrorIs(t, <-ended, io.ErrUnexpectedEOF)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}

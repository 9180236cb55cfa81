package acpterm

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"
)

// The clock stands still, and the key is the same every time: ids differ all the same.
func TestIDsAreUniqueWhateverClockAndEntropyDo(t *testing.T) {
	mint := newIDGenerator()
	mint.key = make([]byte, len(mint.key))
	mint.now = func() time.Time { return time.UnixMilli(1_000_000) }
	var mu sync.Mutex
	seen := make(map[TerminalID]bool)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5000 {
				id := mint.next("s")
				mu.Lock()
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.Len(t, seen, 8*5000)
}

func TestIDsSortByTheirTime(t *testing.T) {
	mint := newIDGenerator()
	last := mint.next("s")
	for range 1000 {
		id := mint.next("s")
		require.Less(t, last, id)
		last = id
	}
}

func TestIDIsPrefixAndULID(t *testing.T) {
	mint := newIDGenerator()
	at := time.UnixMilli(1_700_000_000_123)
	mint.now = func() time.Time { return at }
	text, found := strings.CutPrefix(string(mint.next("s")), "term_")
	require.True(t, found)
	parsed, err := ulid.ParseStrict(text)
	require.NoError(t, err)
	require.Equal(t, at, ulid.Time(parsed.Time()))
}

func TestIssuedKnowsItsOwnIDsOnly(t *testing.T) {
	mint, other := newIDGenerator(), newIDGenerator()
	id := mint.next("s")
	require.True(t, mint.issued("s", id))
	require.False(t, mint.issued("t", id), "another session's")
	require.False(t, other.issued("s", id), "another manager's")
	require.False(t, mint.issued("s", TerminalID(strings.ToLower(string(id)))), "written otherwise")
	for i := len(idPrefix); i < len(id); i++ {
		changed := []byte(id)
		changed[i] = map[bool]byte{true: '1', false: '0'}[changed[i] == '0']
		require.False(t, mint.issued("s", TerminalID(changed)), "%s", changed)
	}
	for _, id := range []TerminalID{"", "term_", "x", "term_é", "term_01ARZ3NDEKTSV4RRFFQ69G5FAV"} {
		require.False(t, mint.issued("s", id))
	}
}

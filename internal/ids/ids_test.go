package ids

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/racetest"
)

func TestMain(m *testing.M) { racetest.Main(m) }

// Ids differ even if the clock stands still and the key is always the same.
func TestIDsAreUniqueWhateverClockAndEntropyDo(t *testing.T) {
	g := New()
	g.key = make([]byte, len(g.key))
	g.now = func() time.Time { return time.UnixMilli(1_000_000) }
	var mu sync.Mutex
	seen := make(map[string]bool)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5000 {
				id := g.Next("s")
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
	g := New()
	last := g.Next("s")
	for range 1000 {
		id := g.Next("s")
		require.Less(t, last, id)
		last = id
	}
}

func TestIDIsPrefixAndULID(t *testing.T) {
	g := New()
	at := time.UnixMilli(1_700_000_000_123)
	g.now = func() time.Time { return at }
	text, found := strings.CutPrefix(g.Next("s"), "term_")
	require.True(t, found)
	parsed, err := ulid.ParseStrict(text)
	require.NoError(t, err)
	require.Equal(t, at, ulid.Time(parsed.Time()))
}

func TestIssuedKnowsItsOwnIDsOnly(t *testing.T) {
	g, other := New(), New()
	id := g.Next("s")
	require.True(t, g.Issued("s", id))
	require.False(t, g.Issued("t", id), "another session's")
	require.False(t, other.Issued("s", id), "another manager's")
	require.False(t, g.Issued("s", string(strings.ToLower(string(id)))), "written otherwise")
	for i := len(idPrefix); i < len(id); i++ {
		changed := []byte(id)
		changed[i] = map[bool]byte{true: '1', false: '0'}[changed[i] == '0']
		require.False(t, g.Issued("s", string(changed)), "%s", changed)
	}
	for _, id := range []string{"", "term_", "x", "term_é", "term_01ARZ3NDEKTSV4RRFFQ69G5FAV"} {
		require.False(t, g.Issued("s", id))
		require.False(t, g.Made(id))
	}
	require.True(t, g.Made(id), "in any session")
	require.False(t, other.Made(id), "another manager's")
	require.False(t, g.Made(strings.ToLower(id)), "written otherwise")
}

package acpterm

// That parked output is, for all who look, as if it had been copied.

import (
	"bytes"
	"math/rand"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// somePipe is a pipe whose ends do not wait, as wide as hot ones.
func somePipe(t *testing.T) (from, to int) {
	var ends [2]int
	require.NoError(t, unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK))
	resize(uintptr(ends[0]), hotSize)
	t.Cleanup(func() {
		unix.Close(ends[0])
		unix.Close(ends[1])
	})
	return ends[0], ends[1]
}

// someParking is parking for a ring buffer.
func someParking(t *testing.T, ring *ringBuffer) *parking {
	p, err := newParking(ring.keep)
	require.NoError(t, err)
	t.Cleanup(p.close)
	return p
}

const period = 61 // of numbered output

// numbered returns n bytes of output from an offset on: each byte tells the one after it.
func numbered(from, n int) []byte {
	const block = "ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|}~"
	return bytes.Repeat([]byte(block), n/len(block)+2)[from%len(block):][:n]
}

// requireNumbered fails unless text is a piece of such output.
func requireNumbered(t *testing.T, text string) {
	if text == "" {
		return
	}
	from := bytes.IndexByte(numbered(0, period), text[0])
	require.True(t, text == string(numbered(from, len(text))), "a piece is missing, or doubled")
}

// put writes all of b to a pipe, and takes it out again where it does not fit.
func put(t *testing.T, to int, b []byte, take func()) {
	for len(b) > 0 {
		n, err := unix.Write(to, b)
		if err == unix.EAGAIN {
			take()
			continue
		}
		require.NoError(t, err)
		b = b[n:]
	}
}

// Whatever is parked, copied and looked at in whatever order: all see the last bytes of the output.
func TestParkedOutputIsAsIfCopied(t *testing.T) {
	for _, limit := range []int{0, 10, 5000, 300_000, 1 << 20, 2 << 20} {
		random := rand.New(rand.NewSource(int64(limit)))
		ring := newRingBuffer(int64(limit))
		parking := someParking(t, ring)
		from, to := somePipe(t)
		var all []byte
		parked := 0
		move := func() {
			for {
				var err error
				if ring.full() && random.Intn(20) > 0 {
					_, _, err = parkOutput(from, parking, ring)
					parked++
				} else {
					_, _, err = copyOutput(from, ring, maxReserve)
				}
				if err == unix.EAGAIN {
					return
				}
				require.NoError(t, err)
			}
		}
		look := func() {
			want := string(all[len(all)-min(len(all), limit):])
			text, truncated := ring.last(int64(limit))
			require.True(t, want == text, "limit %d, %d bytes", limit, len(all))
			require.Equal(t, len(all) > limit, truncated)
		}
		sizes := []int{1, 3, 100, 4096, 5000, 64 << 10, 256 << 10, 700_000}
		for range 400 {
			more := numbered(len(all), sizes[random.Intn(len(sizes))])
			put(t, to, more, move)
			all = append(all, more...)
			move()
			require.Equal(t, int64(len(all)), ring.total())
			switch random.Intn(12) {
			case 0:
				look()
			case 1:
				known := int64(random.Intn(len(all)))
				e := ring.edges(nil, int64(limit), 100, known)
				require.True(t, bytes.HasSuffix(all, e.tail))
				require.True(t, bytes.Equal(all[e.headAt:e.headAt+int64(len(e.head))], e.head))
			case 2:
				g := ring.look(int64(random.Intn(len(all))), 50_000)
				require.True(t, string(all[g.begin:g.end]) == g.text)
			}
		}
		require.Positive(t, parked)
		ring.close()
		look()
		require.Nil(t, ring.parked)
	}
}

// A page holds what one write left in it. Of such as hold a byte each there is soon no room for more.
func TestParkingOfSmallPieces(t *testing.T) {
	ring := newRingBuffer(1000)
	parking := someParking(t, ring)
	from, to := somePipe(t)
	const total = 5000
	for i := range total {
		put(t, to, numbered(i, 1), nil)
		if !ring.full() {
			copyOutput(from, ring, maxReserve)
			continue
		}
		n, _, err := parkOutput(from, parking, ring)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		if i%1000 == 0 {
			text, _ := ring.last(1000)
			require.Equal(t, string(numbered(i+1-1000, 1000)), text)
		}
	}
	text, _ := ring.last(1000)
	require.Equal(t, string(numbered(total-1000, 1000)), text)
}

// No more is parked than the limit and a space, however much there was.
func TestParkingDropsWhatIsTooOld(t *testing.T) {
	const limit = 1 << 20
	ring := newRingBuffer(limit)
	parking := someParking(t, ring)
	from, to := somePipe(t)
	for at := 0; at < 20<<20; at += 64 << 10 {
		put(t, to, numbered(at, 64<<10), nil)
		if !ring.full() {
			copyOutput(from, ring, maxReserve)
			continue
		}
		_, _, err := parkOutput(from, parking, ring)
		require.NoError(t, err)
		require.LessOrEqual(t, parking.size(), ring.keep+spaceSize)
	}
	require.GreaterOrEqual(t, parking.size(), ring.keep)
}

// Who looks while output comes sees whole pieces of it, and the writer waits for nobody.
func TestParkedOutputIsLookedAtWhileMoreComes(t *testing.T) {
	const limit = 300_000
	ring := newRingBuffer(limit)
	parking := someParking(t, ring)
	from, to := somePipe(t)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for at := int64(0); ; {
				text, _ := ring.last(limit)
				requireNumbered(t, text)
				g := ring.look(at, 10_000)
				requireNumbered(t, g.text)
				at = g.end
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for at := 0; at < 30<<20; at += 64 << 10 {
		put(t, to, numbered(at, 64<<10), nil)
		if ring.full() {
			parkOutput(from, parking, ring)
		} else {
			copyOutput(from, ring, maxReserve)
		}
	}
	close(done)
	readers.Wait()
	text, _ := ring.last(limit)
	require.True(t, text == string(numbered(30<<20-limit, limit)))
}

func TestParkingHasItsBounds(t *testing.T) {
	_, err := newParking(mostSpaces * spaceSize)
	require.ErrorIs(t, err, errNoParking)
	p, err := newParking((mostSpaces - 1) * spaceSize)
	require.NoError(t, err)
	p.close()
}

// If what was parked is not there any more, the output has the length that it should have.
func TestParkedOutputThatIsLost(t *testing.T) {
	ring := newRingBuffer(1000)
	p, err := newParking(ring.keep)
	require.NoError(t, err)
	defer p.close()
	from, to := somePipe(t)
	const before = 200_000 // so that there is older output in the buffer where the new one goes
	put(t, to, numbered(0, before), nil)
	for ring.total() < before {
		copyOutput(from, ring, maxReserve)
	}
	put(t, to, numbered(before, 500), nil)
	_, _, err = parkOutput(from, p, ring)
	require.NoError(t, err)
	unread := make([]byte, 500)
	_, err = unix.Read(p.used[0].from, unread)
	require.NoError(t, err)
	text, _ := ring.last(1000)
	require.Equal(t, string(numbered(before-500, 500))+string(make([]byte, 500)), text)
}

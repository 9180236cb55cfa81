package main

// Whether a hundred that follow a command's output slow it. What a person would call slower is a command that takes longer
// than it would by itself, so the target is for one that writes at a pace of its own, 20 MB/s. One that only writes is as
// fast as its reader lets it be, and a hundred followers want the same processors: that is reported.

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// following measures one command with so many followers.
func following(name string, role role, followers, rate int, total amounts) subject {
	return subject{name, role, func(s *stage) (turn, error) {
		m, ctx, bytes := s.manager(nil), context.Background(), s.scale.of(total)
		return func(f findings) error {
			began := time.Now()
			t, err := m.Create(ctx, self("write", bytes, 20<<10, rate).request(captureLimit))
			if err != nil {
				return err
			}
			var all sync.WaitGroup
			var mu sync.Mutex
			saw, missed := int64(0), int64(0)
			for range followers {
				all.Go(func() {
					mine, not := int64(0), int64(0)
					for chunk := range t.Follow(ctx, 0) {
						mine += chunk.End - chunk.Offset
						not += chunk.Missed
					}
					mu.Lock()
					defer mu.Unlock()
					saw, missed = saw+mine, missed+not
				})
			}
			if _, err := t.Wait(ctx); err != nil {
				return err
			}
			f.add("time", time.Since(began).Seconds())
			all.Wait()
			if saw+missed != int64(bytes)*int64(followers) {
				return fmt.Errorf("followers saw %d and missed %d bytes", saw, missed)
			}
			if followers > 0 {
				f.add("missed by followers", float64(missed)/float64(saw+missed))
			}
			return m.Release(ctx, "s", t.ID())
		}, nil
	}}
}

func followRows() []row {
	subjects := func(rate int, total amounts) []subject {
		return []subject{
			following("100 followers", ours, 100, rate, total),
			following("one follower", floor, 1, rate, total),
			following("none", floor, 0, rate, total),
		}
	}
	return []row{
		{
			name: "follow a writer of 20 MB/s", rounds: amounts{5, 2, 1},
			subjects: subjects(20_000_000, amounts{20_000_000, 10_000_000, 1_000_000}),
			metrics: []metric{
				{"time", seconds, median, target{1.05, "one follower", ratioAtMost}},
				{"missed by followers", fraction, median, target{}},
			},
		},
		{
			name: "follow a writer at full speed", rounds: amounts{5, 2, 1},
			subjects: subjects(0, amounts{64 << 20, 32 << 20, 1 << 20}),
			metrics: []metric{
				{"time", seconds, median, target{}},
				{"missed by followers", fraction, median, target{}},
			},
		},
	}
}

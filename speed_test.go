package acpterm

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSpeedOfReads(t *testing.T) {
	for name, test := range map[string]struct {
		reads []int // bytes, again and again
		each  time.Duration
		want  speed
	}{
		"little, without end":        {[]int{64}, 10 * time.Microsecond, often},
		"little, now and then":       {[]int{64}, 100 * time.Microsecond, moderate},
		"a line, without end":        {[]int{80, 120, 1500, 0, 60}, time.Microsecond, often},
		"some kilobytes":             {[]int{8 << 10}, time.Microsecond, moderate},
		"much, without end":          {[]int{64 << 10}, 20 * time.Microsecond, amply},
		"much, now and then":         {[]int{64 << 10}, time.Millisecond, moderate},
		"much, but a little of it":   {[]int{64 << 10, 64 << 10, 8 << 10}, time.Microsecond, moderate},
		"little, and once very much": {[]int{64, 64, 64, 64 << 10}, time.Microsecond, moderate},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var pace pace
				for window := range 3 {
					for i := range speedReads - 1 {
						require.Equal(t, moderate, pace.read(test.reads[i%len(test.reads)]), "too few to tell")
						time.Sleep(test.each)
					}
					require.Equal(t, test.want, pace.read(test.reads[0]), "window %d", window)
					time.Sleep(time.Hour)
				}
			})
		})
	}
}

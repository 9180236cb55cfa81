package main

// The second table: a command that does nothing, by terminal/* and by MCP, one by one and many in flight.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acpterm/acpterm/internal/checks/benchmarks/bench"
)

const (
	speedName = "calls per second"
	inFlight  = 16
)

// door is a way to run a command.
type door struct {
	name string
	// open returns a function that runs a command that does nothing, from its start to its end. It may be called
	// concurrently.
	open func(ctx context.Context) (call func(context.Context) error, closeDoor func() error, err error)
}

// speed is the result of a number of calls, by rounds.
type speed struct {
	perSecond            []float64
	medians, percentiles []time.Duration // the time within which 50 and 99 % of the calls of a round returned
}

// speeds lets all doors take turns, in another order in each round, and prints the table. Each number is the median of
// the rounds: a stall of the machine delays all calls in flight, which are more than 1 % of those of a round.
func speeds(ctx context.Context, quick bench.Quick, doors []door) error {
	alone, together := make([]speed, len(doors)), make([]speed, len(doors))
	failed := make([]error, len(doors))
	for range quick.Of(5, 1) {
		for _, n := range rand.Perm(len(doors)) {
			if failed[n] == nil {
				failed[n] = doors[n].turn(ctx, quick, &alone[n], &together[n])
			}
		}
	}
	fmt.Printf("\n| `true`, %s | one by one | median | 99 %% | %d in flight | median | 99 %% |\n", speedName, inFlight)
	fmt.Println("|---|---|---|---|---|---|---|")
	for n, d := range doors {
		if failed[n] != nil {
			fmt.Printf("| %s | FAILED: %s | | | | | |\n", d.name, bench.Cell(failed[n].Error()))
			continue
		}
		fmt.Printf("| %s | %s | %s |\n", d.name, alone[n], together[n])
	}
	return errors.Join(failed...)
}

func (s speed) String() string {
	return fmt.Sprintf("%.0f /s | %s | %s",
		part(s.perSecond, 0.5), round(part(s.medians, 0.5)), round(part(s.percentiles, 0.5)))
}

// part returns the least value that is not exceeded by a part of the values.
func part[V cmp.Ordered](values []V, share float64) V {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

// turn opens a door for some calls. A session's terminals are limited, so the calls of a turn are, too.
func (d door) turn(ctx context.Context, quick bench.Quick, alone, together *speed) (err error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	call, closeDoor, err := d.open(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	defer func() { err = errors.Join(err, closeDoor()) }()
	if err := new(speed).add(ctx, call, quick.Of(20, 2), 1); err != nil {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	if err := alone.add(ctx, call, quick.Of(200, 10), 1); err != nil {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	if err := together.add(ctx, call, quick.Of(400, 32), inFlight); err != nil {
		return fmt.Errorf("%s, %d in flight: %w", d.name, inFlight, err)
	}
	return nil
}

// turnLimit ends a part of a turn before all calls have been made.
const turnLimit = 10 * time.Second

// add makes calls, atOnce of them at the same time.
func (s *speed) add(ctx context.Context, call func(context.Context) error, calls, atOnce int) error {
	var next atomic.Int64
	var all sync.WaitGroup
	var mu sync.Mutex
	var times []time.Duration
	var errs []error
	began := time.Now()
	for range atOnce {
		all.Go(func() {
			for int(next.Add(1)) <= calls && time.Since(began) < turnLimit {
				start := time.Now()
				err := call(ctx)
				took := time.Since(start)
				mu.Lock()
				times, errs = append(times, took), append(errs, err)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	s.perSecond = append(s.perSecond, float64(len(times))/time.Since(began).Seconds())
	s.medians, s.percentiles = append(s.medians, part(times, 0.5)), append(s.percentiles, part(times, 0.99))
	return errors.Join(errs...)
}

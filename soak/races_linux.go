package main

// Trees created, killed and released at any moment, and trees whose processes are hard to find.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/acpterm/acpterm"
)

// roles are the roles of trees.sh for trees of three processes. One of the three left the session.
var roles = []string{"session", "silent", "stubborns", "orphans", "relay"}

// races counts trees with remaining processes after everything that ends them has returned.
func races(r *run) { racesWith(r, acpterm.Options{}) }

// ptyRaces is races with a PTY for each tree.
func ptyRaces(r *run) {
	racesWith(r, acpterm.Options{Commands: acpterm.CommandOptions{PTY: new(acpterm.PTYOptions)}})
}

func racesWith(r *run, options acpterm.Options) {
	r.zero("trees with some left", "other errors")
	s, closeAll := r.serve(options)
	defer closeAll()
	r.each(func(i int, rnd *rand.Rand) { race(r, s, i, rnd) })
}

func race(r *run, s *served, i int, rnd *rand.Rand) {
	t := r.tree(i)
	role := roles[rnd.IntN(len(roles))]
	named := new(survivors)
	ctx, cancel := bounded()
	defer cancel()
	creating, cancelCreate := context.WithCancel(ctx)
	defer cancelCreate()
	how := role
	if rnd.IntN(3) == 0 { // the create's context ends while it is in progress, or just after
		how += ", context ended"
		timer := time.AfterFunc(time.Duration(rnd.Int64N(int64(8*time.Millisecond))), cancelCreate)
		defer timer.Stop()
	}
	var ending sync.WaitGroup
	if rnd.IntN(3) == 0 { // a release of the session while the create is in progress
		how += ", session released"
		wait := rand.New(rand.NewPCG(r.seed, rnd.Uint64()))
		ending.Go(func() {
			pause(wait, 8*time.Millisecond)
			r.result("ReleaseSession", named, s.m.ReleaseSession(ctx, t.session))
		})
	}
	grace := time.Duration(1+rnd.IntN(60)) * time.Millisecond
	term, err := s.m.Create(creating, t.script(r, role), quick(grace))
	if err != nil {
		named.from(err)
		if creating.Err() == nil || ctx.Err() != nil {
			r.fail("other errors", 1, "Create: %v", err)
		}
		ending.Wait()
		r.check(t, named, how+": create failed")
		return
	}
	for range 1 + rnd.IntN(3) {
		wait := rand.New(rand.NewPCG(r.seed, rnd.Uint64()))
		ending.Go(func() {
			pause(wait, 12*time.Millisecond)
			switch wait.IntN(3) {
			case 0:
				r.result("Kill", named, term.Kill(ctx))
			case 1:
				r.result("Release", named, s.m.Release(ctx, t.session, term.ID()))
			case 2:
				short, done := context.WithTimeout(ctx, time.Duration(wait.IntN(10))*time.Millisecond)
				defer done()
				if _, err := term.Wait(short); err != nil && !errors.Is(err, acpterm.ErrCancelled) {
					r.fail("other errors", 1, "Wait: %v", err)
				}
			}
		})
	}
	pause(rnd, 10*time.Millisecond)
	r.result("Release", named, s.m.Release(ctx, t.session, term.ID()))
	ending.Wait()
	r.check(t, named, how)
}

// killed creates a tree, ends it after a pause, and counts the remaining processes.
func killed(r *run, s *served, t *tree, before, grace time.Duration, role ...string) {
	ctx, cancel := bounded()
	defer cancel()
	named := new(survivors)
	how := fmt.Sprint(role)
	term, err := s.m.Create(ctx, t.script(r, role...), quick(grace))
	if err != nil {
		r.fail("other errors", 1, "Create: %v", err)
		return
	}
	time.Sleep(before)
	begun := time.Now()
	r.result("Kill", named, term.Kill(ctx))
	r.most("ms for the slowest kill", time.Since(begun).Milliseconds())
	r.check(t, named, how+": killed")
	r.result("Release", named, s.m.Release(ctx, t.session, term.ID()))
	r.check(t, named, how+": released")
}

// reexecs kills daemons that execute themselves in a loop.
func reexecs(r *run) {
	r.zero("trees with some left", "other errors")
	s, closeAll := r.serve(acpterm.Options{})
	defer closeAll()
	r.each(func(i int, rnd *rand.Rand) {
		t := r.tree(i)
		killed(r, s, t, time.Duration(rnd.IntN(60))*time.Millisecond, 50*time.Millisecond, "reexecs", "2000")
	})
}

// chains kills chains of daemons, and fork bombs.
func chains(r *run) {
	r.zero("trees with some left", "other errors")
	s, closeAll := r.serve(acpterm.Options{})
	defer closeAll()
	kinds := [][]string{{"chain", "50"}, {"bomb", "6"}, {"linked", "50"}, {"bomb", "7"}}
	r.each(func(i int, rnd *rand.Rand) {
		t := r.tree(i)
		before := time.Duration(rnd.IntN(200)) * time.Millisecond
		killed(r, s, t, before, 200*time.Millisecond, kinds[i%len(kinds)]...)
	})
}

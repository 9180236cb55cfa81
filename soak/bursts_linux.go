package main

// Commands that write and end immediately, with a check for missing output.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/acpterm/acpterm"
)

// burst is one command.
type burst struct {
	manner string // of burstChild
	seed   int
	size   int
	broken bool   // its last byte is the first of a character
	words  int    // bytes written on SIGTERM
	limit  uint64 // 0 means the default
}

// manners lists how bursts end. Repeated entries are more frequent.
var manners = []string{"exit", "exit", "exit", "exit", "signal", "held", "widened", "words", "ended"}

func newBurst(i int, rnd *rand.Rand) burst {
	b := burst{manner: manners[rnd.IntN(len(manners))], seed: i + 1, size: rnd.IntN(300<<10 + 1)}
	if rnd.IntN(4) == 0 {
		b.size = 64 << 10 // the size of a pipe
	}
	switch b.manner {
	case "words", "ended":
		b.size, b.words = max(1, b.size), 1+rnd.IntN(100<<10) // the first byte shows that it listens to signals
	default:
		b.broken = rnd.IntN(4) == 0
	}
	if rnd.IntN(3) == 0 { // around the size
		b.limit = uint64(max(1, b.size+b.words-8+rnd.IntN(16)))
	}
	return b
}

// written returns all bytes that the command writes.
func (b burst) written() []byte {
	all := text(b.seed, b.size, b.broken)
	if b.words > 0 {
		all = append(all, text(b.seed+1, b.words, false)...)
	}
	return all
}

// shown returns the required output.
func (b burst) shown() (output string, truncated bool) {
	return b.shownOf(b.written())
}

func (b burst) shownOf(written []byte) (output string, truncated bool) {
	all := strings.ToValidUTF8(string(written), "\uFFFD")
	if limit := int(b.limit); limit > 0 && len(all) > limit {
		all, truncated = all[len(all)-limit:], true
		for len(all) > 0 && all[0]&0xc0 == 0x80 { // the rest of a character
			all = all[1:]
		}
	}
	return all, truncated
}

func (b burst) String() string {
	type plain burst
	return fmt.Sprintf("%+v", plain(b))
}

// bursts compares the written bytes with Output after Wait or a release, with terminal/output with an exitStatus, with
// Follow, and with EndEvent.Bytes. One half runs with one processor for Go, and both halves with other processors busy.
func bursts(r *run) {
	r.zero("bytes missing", "runs with bytes missing", "runs with other bytes", "broken characters not shown",
		"truncated wrong", "EndEvents wrong", "finished without a status", "results not first", "trees with some left",
		"other errors")
	s, closeAll := r.serve(acpterm.Options{})
	defer closeAll()
	if !r.shared {
		defer load(runtime.NumCPU())()
		before := runtime.GOMAXPROCS(1)
		defer runtime.GOMAXPROCS(before)
		defer func(count int) { r.count = count }(r.count)
		r.count = (r.count + 1) / 2
		begun := time.Now()
		r.each(func(i int, rnd *rand.Rand) { oneBurst(r, s, i, rnd) })
		runtime.GOMAXPROCS(before)
		if !r.deadline.IsZero() { // as long again
			r.deadline = time.Now().Add(time.Since(begun))
		}
		r.seed++
		defer func() { r.seed-- }()
	}
	r.each(func(i int, rnd *rand.Rand) { oneBurst(r, s, i+1_000_000, rnd) })
}

func oneBurst(r *run, s *served, i int, rnd *rand.Rand) {
	b := newBurst(i, rnd)
	t := r.tree(i)
	named := new(survivors)
	ctx, cancel := bounded()
	defer cancel()
	request := t.child("burst", b.manner, fmt.Sprint(b.seed), fmt.Sprint(b.size), fmt.Sprint(b.broken),
		fmt.Sprint(b.words))
	if b.limit > 0 {
		request.OutputByteLimit = &b.limit
	}
	term, err := s.m.Create(ctx, request, quick(30*time.Second))
	if err != nil {
		r.fail("other errors", 1, "Create: %v", err)
		return
	}
	var following sync.WaitGroup
	var followed bytes.Buffer
	var missed int64
	follow := rnd.IntN(4) == 0 && !b.broken
	if follow {
		following.Go(func() {
			for chunk := range term.Follow(ctx, 0) {
				followed.WriteString(chunk.Text)
				missed += chunk.Missed
			}
		})
	}
	release := func() { r.result("Release", named, s.m.Release(ctx, t.session, term.ID())) }
	switch {
	case b.words > 0:
		for term.OutputTotal() < int64(b.size) && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		if b.manner == "ended" && rnd.IntN(2) == 0 {
			r.result("Kill", named, term.Kill(ctx))
			b.compare(r, "Output after Kill", term.Output())
			release()
		} else {
			release()
			b.compare(r, "Output after Release", term.Output())
		}
	case rnd.IntN(2) == 0:
		b.poll(ctx, r, s, term)
		release()
	default:
		b.wait(ctx, r, term, rnd)
		release()
	}
	following.Wait()
	if follow && int64(followed.Len())+missed < int64(len(b.written())) {
		r.fail("runs with bytes missing", 1, "Follow: %d bytes and %d missed of %d: %v", followed.Len(), missed,
			len(b.written()), b)
	}
	b.checkEnd(ctx, r, s, term)
	r.check(t, named, b.manner)
}

// wait reads the output right after Wait, or as soon as State says that the command has finished.
func (b burst) wait(ctx context.Context, r *run, term *acpterm.Terminal, rnd *rand.Rand) {
	if rnd.IntN(4) == 0 {
		for term.State() != acpterm.StateEnded && ctx.Err() == nil {
			time.Sleep(20 * time.Microsecond)
		}
		out := term.Output()
		if out.ExitStatus == nil {
			r.fail("finished without a status", 1, "%v", b)
		} else {
			b.compare(r, "Output when State is finished", out)
		}
	}
	if _, err := term.Wait(ctx); err != nil {
		r.fail("other errors", 1, "Wait: %v", err)
	}
	b.compare(r, "Output after Wait", term.Output())
	over, end := context.WithCancel(ctx)
	end()
	if _, err := term.Wait(over); err != nil {
		r.fail("results not first", 1, "Wait with a context that has ended: %v", err)
	}
}

// poll reads terminal/output until it has an exitStatus.
func (b burst) poll(ctx context.Context, r *run, s *served, term *acpterm.Terminal) {
	request := must(json.Marshal(acpterm.TerminalRequest{SessionID: term.SessionID(), TerminalID: term.ID()}))
	for {
		answer, err := s.h.Dispatch(ctx, acpterm.MethodOutput, request)
		if err != nil {
			r.fail("other errors", 1, "%v", err)
			return
		}
		if out := answer.(acpterm.TerminalOutputResponse); out.ExitStatus != nil {
			b.compare(r, "terminal/output", out)
			return
		}
		time.Sleep(500 * time.Microsecond)
	}
}

// compare counts errors in the output of an ended command.
func (b burst) compare(r *run, where string, out acpterm.TerminalOutputResponse) {
	if out.ExitStatus == nil {
		r.fail("finished without a status", 1, "%s: %v", where, b)
	}
	want, truncated := b.shown()
	unfinished := ""
	if b.broken && b.size > 0 {
		unfinished, _ = b.shownOf(text(b.seed, b.size-1, false))
	}
	r.note("bytes written", int64(b.size+b.words))
	switch got := out.Output; {
	case got == want:
		if out.Truncated != truncated {
			r.fail("truncated wrong", 1, "%s: %v: %v", where, out.Truncated, b)
		}
	case b.broken && b.size > 0 && got == unfinished:
		r.fail("broken characters not shown", 1, "%s: %v", where, b)
	case len(got) < len(want):
		r.fail("bytes missing", int64(len(want)-len(got)), "%s: %d of %d: %v", where, len(got), len(want), b)
		r.fail("runs with bytes missing", 1, "%s: %d of %d", where, len(got), len(want))
	default:
		r.fail("runs with other bytes", 1, "%s: %d bytes for %d: %v", where, len(got), len(want), b)
	}
}

// checkEnd compares the command's EndEvent with the bytes written before the end.
func (b burst) checkEnd(ctx context.Context, r *run, s *served, term *acpterm.Terminal) {
	ends := s.endEvents(ctx, term.SessionID())
	switch {
	case len(ends) != 1:
		r.fail("EndEvents wrong", 1, "%d of them: %v", len(ends), b)
	case b.manner == "words": // they come after it
	case ends[0].Bytes != int64(b.size+b.words):
		r.fail("EndEvents wrong", 1, "%d bytes of %d: %v", ends[0].Bytes, b.size+b.words, b)
	}
}

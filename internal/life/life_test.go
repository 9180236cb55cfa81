package life_test

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/internal/life"
	"github.com/acpterm/acpterm/internal/racetest"
)

func TestMain(m *testing.M) { racetest.Main(m) }

// tree is a tree of one process that ends with a signal. It waits for the end of each step it survives.
type tree struct {
	endsWith syscall.Signal
	sent     []syscall.Signal
	atStep   func(syscall.Signal) // is called in each step
	left     []int                // at the end of a step
	doubt    error
}

func (t *tree) Gone() bool { return slices.Contains(t.sent, t.endsWith) }

func (t *tree) End(ctx context.Context, sig syscall.Signal) (left []int, doubt error) {
	t.sent = append(t.sent, sig)
	if t.atStep != nil {
		t.atStep(sig)
	}
	if t.Gone() {
		return nil, nil
	}
	<-ctx.Done()
	return t.left, t.doubt
}

var errDoubt = errors.New("it may run")

func requireEnds(t *testing.T, tree life.Tree, forced *latch.Latch, steps ...life.Step) {
	t.Helper()
	left, doubt := life.End(tree, forced, steps...)
	require.NoError(t, doubt)
	require.Nil(t, left)
}

func TestEnd(t *testing.T) {
	const hup, term, kill = syscall.SIGHUP, syscall.SIGTERM, syscall.SIGKILL
	short := func(sig syscall.Signal) life.Step { return life.Step{Signal: sig, Wait: time.Millisecond} }
	for name, c := range map[string]struct {
		endsWith syscall.Signal
		steps    []life.Step
		sent     []syscall.Signal
		left     []int
		doubt    error
	}{
		"the first step is enough": {hup, []life.Step{{Signal: hup}, {Signal: term}}, []syscall.Signal{hup}, nil, nil},
		"the second is":            {term, []life.Step{short(hup), {Signal: term}}, []syscall.Signal{hup, term}, nil, nil},
		"SIGKILL follows":          {kill, []life.Step{short(hup), short(term)}, []syscall.Signal{hup, term, kill}, nil, nil},
		"SIGKILL is not doubled":   {kill, []life.Step{short(hup), {Signal: kill}}, []syscall.Signal{hup, kill}, nil, nil},
		"no steps":                 {kill, nil, []syscall.Signal{kill}, nil, nil},
		"no time":                  {kill, []life.Step{{Signal: term, Wait: -1}}, []syscall.Signal{term, kill}, nil, nil},
		"a survivor":               {0, []life.Step{short(term), short(kill)}, []syscall.Signal{term, kill}, []int{7}, nil},
		"a doubt":                  {0, []life.Step{short(term), short(kill)}, []syscall.Signal{term, kill}, nil, errDoubt},
	} {
		t.Run(name, func(t *testing.T) {
			tree := &tree{endsWith: c.endsWith, left: c.left, doubt: c.doubt}
			left, doubt := life.End(tree, nil, c.steps...)
			require.Equal(t, c.left, left)
			require.Equal(t, c.doubt, doubt)
			require.Equal(t, c.sent, tree.sent)
			if c.endsWith != 0 {
				requireEnds(t, tree, nil, c.steps...)
				require.Equal(t, c.sent, tree.sent, "the tree is gone")
			}
		})
	}
}

// Forcing ends the step that is under way and skips the others, also when it came before the first one.
func TestForced(t *testing.T) {
	var forced latch.Latch
	forceful := &tree{endsWith: syscall.SIGKILL, atStep: func(syscall.Signal) { forced.Set() }}
	steps := []life.Step{{Signal: syscall.SIGHUP, Wait: time.Hour}, {Signal: syscall.SIGTERM, Wait: time.Hour}}
	requireEnds(t, forceful, &forced, steps...)
	require.Equal(t, []syscall.Signal{syscall.SIGHUP, syscall.SIGKILL}, forceful.sent)

	before := &tree{endsWith: syscall.SIGKILL}
	requireEnds(t, before, &forced, steps...)
	require.Equal(t, []syscall.Signal{syscall.SIGKILL}, before.sent)
}

// hasty is a tree whose scan is cut short by the end of the step, and finds nothing though a process runs.
type hasty struct{ *tree }

func (h hasty) End(ctx context.Context, sig syscall.Signal) ([]int, error) {
	h.tree.End(ctx, sig)
	return nil, nil
}

func TestAnEmptyScanAtTheEndOfAStepIsNoEnd(t *testing.T) {
	tree := &tree{endsWith: syscall.SIGKILL}
	requireEnds(t, hasty{tree}, nil, life.Step{Signal: syscall.SIGTERM, Wait: time.Millisecond})
	require.Equal(t, []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}, tree.sent)
}

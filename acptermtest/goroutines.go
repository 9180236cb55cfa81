package acptermtest

// The goroutines of a test, found by a profiler label, which a goroutine inherits from the one that starts it.

import (
	"bytes"
	"context"
	"crypto/rand"
	"regexp"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// label is the label's key.
const label = "acptermtest"

// labelled are the goroutines with this value of the label.
type labelled string

// labelGoroutines labels the calling goroutine, and so those that it starts, until the test ends. first is false if the
// goroutine has a label already, of an earlier manager of the test, whose check finds the same goroutines.
func labelGoroutines(t testing.TB) (l labelled, first bool) {
	for _, stack := range stacks() {
		if strings.Contains(stack, `"`+label+`":`) && strings.Contains(stack, "acptermtest.labelGoroutines+") {
			return "", false
		}
	}
	l = labelled(rand.Text())
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(label, string(l))))
	t.Cleanup(func() { pprof.SetGoroutineLabels(context.Background()) })
	return l, true
}

// stacks returns the stacks of all goroutines, with their labels.
func stacks() []string {
	var profile bytes.Buffer
	pprof.Lookup("goroutine").WriteTo(&profile, 1)
	return strings.Split(profile.String(), "\n\n")
}

// libraryCode matches a line of a stack in a package of acpterm, tests excluded.
var libraryCode = regexp.MustCompile(`(?m)^#\t\S+\tgithub\.com/acpterm/acpterm` +
	`(/(agent|acpsdk|acptermtest|audit|bubblewrap|internal/\w+|policy|policy/shell|signin|view))?\.`)

// left returns the stacks of those that run code of the library, without the caller's.
func (l labelled) left() (left []string) {
	for _, stack := range stacks() {
		if strings.Contains(stack, `"`+label+`":"`+string(l)+`"`) && libraryCode.MatchString(stack) &&
			!strings.Contains(stack, "acptermtest.labelled.left+") {
			left = append(left, stack)
		}
	}
	return left
}

// retryUntilNone calls find until it finds nothing, in pauses that become as long as wait: a goroutine that has
// reported its end takes some more time to return. It sleeps before the first call, so that a goroutine which was just
// started blocks.
func retryUntilNone(find func() []string, wait time.Duration) (found []string) {
	for pause := time.Millisecond; pause < wait; pause *= 2 {
		time.Sleep(pause)
		if found = find(); len(found) == 0 {
			return nil
		}
	}
	return found
}

package acptermtest

// The goroutines that a test has started, by the labels that goroutines inherit from whoever starts them.

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

// label is the name of the label that goroutines of a test have.
const label = "acptermtest"

// marked are the goroutines with a label's value.
type marked string

// mark labels the calling goroutine, and so those that it starts, until the test ends. It reports false if the goroutine
// has such a label already, of an earlier manager of the test: that one's check sees the same goroutines.
func mark(t testing.TB) (m marked, first bool) {
	for _, stack := range stacks() {
		if strings.Contains(stack, `"`+label+`":`) && strings.Contains(stack, "acptermtest.mark+") {
			return "", false
		}
	}
	m = marked(rand.Text())
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(label, string(m))))
	t.Cleanup(func() { pprof.SetGoroutineLabels(context.Background()) })
	return m, true
}

// stacks are those of all goroutines, with their labels.
func stacks() []string {
	var profile bytes.Buffer
	pprof.Lookup("goroutine").WriteTo(&profile, 1)
	return strings.Split(profile.String(), "\n\n")
}

// libraryCode is a line of a stack in acpterm, or in a package or a module of it that is not a test's.
var libraryCode = regexp.MustCompile(`(?m)^#\t\S+\tgithub\.com/acpterm/acpterm(/agent|/acpsdk|/view|/acptermtest|/policy(/shell)?)?\.`)

// left are the stacks of those that run code of the library, the caller's own not among them.
func (m marked) left() (left []string) {
	for _, stack := range stacks() {
		if strings.Contains(stack, `"`+label+`":"`+string(m)+`"`) && libraryCode.MatchString(stack) &&
			!strings.Contains(stack, "acptermtest.marked.left+") {
			left = append(left, stack)
		}
	}
	return left
}

// eventuallyNone looks for what should not be there, until nothing is found or for some four seconds: what has said that
// it is done may take a moment to be gone. Before the first look it lets what was just started come to where it stays.
func eventuallyNone(look func() []string) (found []string) {
	for pause := time.Millisecond; pause < 4*time.Second; pause *= 2 {
		time.Sleep(pause)
		if found = look(); len(found) == 0 {
			return nil
		}
	}
	return found
}

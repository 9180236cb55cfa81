package acptermtest

// A profiler label identifies the goroutines of a test. A goroutine inherits the label from the goroutine that starts
// it.

import (
	"bytes"
	"context"
	"crypto/rand"
	"path"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// label is the key of the label.
const label = "acptermtest"

// labelled is a value of the label and stands for the goroutines with that value.
type labelled string

// labelGoroutines labels the calling goroutine, and so all goroutines that it starts, until the test ends. first is
// false if the goroutine already has a label from an earlier manager of the test. That manager's check finds the same
// goroutines.
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

// frame matches a line of a stack: a function and its file.
var frame = regexp.MustCompile(`(?m)^#\t\S+\t(\S+)\+0x[0-9a-f]+\t+(\S.*):\d+$`)

// libraryName matches a function of a package of acpterm, except tests.
var libraryName = regexp.MustCompile(`^github\.com/acpterm/acpterm(/[a-z0-9/]+)?\.`)

// inLibrary reports whether a stack has code of the library. A function literal in a function that the compiler has
// inlined, such as the iterator of Follow, has the caller's package in its name, so its file counts as well.
func inLibrary(stack string) bool {
	_, this, _, _ := runtime.Caller(0)
	root := path.Dir(path.Dir(this)) + "/"
	for _, f := range frame.FindAllStringSubmatch(stack, -1) {
		file, below := strings.CutPrefix(f[2], root)
		if libraryName.MatchString(f[1]) || below && !strings.HasSuffix(file, "_test.go") &&
			!strings.HasPrefix(file, "examples/") {
			return true
		}
	}
	return false
}

// left returns the stacks of the labelled goroutines that run code of the library, except the caller's.
func (l labelled) left() (left []string) {
	for _, stack := range stacks() {
		if strings.Contains(stack, `"`+label+`":"`+string(l)+`"`) && inLibrary(stack) &&
			!strings.Contains(stack, "acptermtest.labelled.left+") {
			left = append(left, stack)
		}
	}
	return left
}

// retryUntilNone calls find until it finds nothing. Pauses between calls grow up to wait: a goroutine that has reported
// its end needs some time to return. It also pauses before the first call, so that a newly started goroutine has time
// to block.
func retryUntilNone(find func() []string, wait time.Duration) (found []string) {
	for pause := time.Millisecond; pause < wait; pause *= 2 {
		time.Sleep(pause)
		if found = find(); len(found) == 0 {
			return nil
		}
	}
	return found
}

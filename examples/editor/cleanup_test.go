package main

// A test that fails leaves no editor to the next one.

import (
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// failing is a test that may fail. The test that runs it goes on.
type failing struct {
	testing.TB
	failed   bool
	cleanups []func()
}

func (f *failing) Errorf(string, ...any)  { f.failed = true }
func (f *failing) Cleanup(cleanup func()) { f.cleanups = append(f.cleanups, cleanup) }

func (f *failing) FailNow() {
	f.failed = true
	runtime.Goexit()
}

func (f *failing) run(test func(t testing.TB)) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		test(f)
	}()
	<-ended
	for _, cleanup := range slices.Backward(f.cleanups) {
		cleanup()
	}
}

func TestAFailedTestLeavesNoEditor(t *testing.T) {
	f := &failing{TB: t}
	shown := false
	f.run(func(t testing.TB) {
		term := runEditor(t)
		term.press("self: " + executable(t) + " linger" + enter)
		term.await(`asks for permission`)
		term.press(up + enter)
		term.await(`● 1 .*running · (.|\n)*\nready`)
		shown = true
		term.awaitThat("a failure", func(string) bool {
			require.Fail(t, "on purpose")
			return false
		})
	})
	require.True(t, shown)
	require.True(t, f.failed)
	require.Empty(t, markedProcesses(markVariable+"="+os.Getenv(markVariable)))
	require.Empty(t, goroutines())
}

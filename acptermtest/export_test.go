package acptermtest

import (
	"testing"
	"time"

	"github.com/acpterm/acpterm"
)

// NewManagerWithin is NewManager with a time limit for each check.
var NewManagerWithin = newManager

// RunnerLaws returns the names of the subtests of TestRunner.
func RunnerLaws() (names []string) {
	for _, law := range runnerLaws() {
		names = append(names, law.name)
	}
	return names
}

// CheckRunnerLaw runs one subtest of TestRunner, with a limit for each of its steps.
func CheckRunnerLaw(
	t testing.TB, name string, newRunner func(testing.TB) acpterm.Runner, gaps *RunnerGaps, patience time.Duration,
) {
	for _, law := range runnerLaws() {
		if law.name == name {
			law.check(newRunnerTest(t, newRunner, gaps, patience))
		}
	}
}

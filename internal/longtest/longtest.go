// Package longtest decides how often a test repeats something. .ci/long sets ACPTERM_TEST_LONG to repeat often enough
// for rare races; without it, a test takes seconds.
package longtest

import "os"

// variable is set in .ci/long.
const variable = "ACPTERM_TEST_LONG"

// Is reports whether tests may take long.
func Is() bool { return os.Getenv(variable) != "" }

// Times returns long if tests may take long, and short otherwise.
func Times(short, long int) int {
	if Is() {
		return long
	}
	return short
}

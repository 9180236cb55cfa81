//go:build unix

package hosttest

// Variables in an environment.

import "strings"

// Value returns the value of a variable, and whether it exists.
func Value(env []string, name string) (string, bool) {
	for _, variable := range env {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

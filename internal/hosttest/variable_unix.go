//go:build unix

package hosttest

// Variables in an environment.

import "strings"

// Value is a variable's, if it is there.
func Value(env []string, name string) (string, bool) {
	for _, variable := range env {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

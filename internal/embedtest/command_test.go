//go:build linux || darwin || freebsd

package embedtest

// From a request to the program, arguments and environment shown to a policy.

import (
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

func TestCommandForPeople(t *testing.T) {
	c := acpterm.Command{Args: []string{"go", "test", "-run", "a b", "./..."}}
	require.Equal(t, `go test -run "a b" ./...`, c.String())
	require.Equal(t, `x ""`, acpterm.Command{Args: []string{"x", ""}}.String())
}

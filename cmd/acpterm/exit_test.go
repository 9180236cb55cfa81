package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
)

func TestExitCodes(t *testing.T) {
	for _, test := range []struct {
		err  error
		code int
	}{
		{nil, 0},
		{errors.New("the disk is full"), 1},
		{fmt.Errorf("%w: exit code 3", errAgentGone), 3},
		{fmt.Errorf("%w with %q", errTurnStopped, "refusal"), 4},
		{fmt.Errorf("%w: interrupt", errLeft), 130},
		{fmt.Errorf("%w: %w", errCancelled, errors.Join(errTurnStopped, errAgentGone)), 130},
		{errors.Join(errAgentGone, errors.New("survivors")), 3},
		{fmt.Errorf("%w: -cwd: it is no directory", errUsage), 2},
		{fmt.Errorf("-runner: %w", &acpterm.Error{Kind: acpterm.ErrConnectionLost}), 6},
		{errors.Join(errTurnStopped, &acpterm.Error{Kind: acpterm.ErrConnectionLost}), 4},
	} {
		require.Equal(t, test.code, exitCode(test.err), "%v", test.err)
	}
}

// The package comment has the same list as -h.
func TestExitCodesInThePackageComment(t *testing.T) {
	source, err := os.ReadFile("main.go")
	require.NoError(t, err)
	for line := range strings.Lines(exitHelp()) {
		if entry, ok := strings.CutPrefix(line, "  "); ok {
			require.Contains(t, string(source), "//\t"+entry)
		}
	}
}

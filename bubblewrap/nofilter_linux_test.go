//go:build !amd64 && !arm64

package bubblewrap_test

import (
	"errors"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/bubblewrap"
	"github.com/stretchr/testify/require"
)

// On an architecture without a filter, New fails unless NoSyscallFilter is set.
func TestBubblewrapKnowsNoFilter(t *testing.T) {
	needsBubblewrap(t)
	_, err := bubblewrap.New(nil)
	require.ErrorIs(t, err, acpterm.ErrInternal)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "NoSyscallFilter")
	_, err = bubblewrap.New(&bubblewrap.Options{NoSyscallFilter: true})
	require.NoError(t, err)
}

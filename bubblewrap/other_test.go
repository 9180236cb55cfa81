//go:build !linux

package bubblewrap_test

import (
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/bubblewrap"
	"github.com/stretchr/testify/require"
)

func TestBubblewrapIsForLinux(t *testing.T) {
	_, err := bubblewrap.New(nil)
	require.ErrorIs(t, err, acpterm.ErrInternal)
}

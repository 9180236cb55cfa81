//go:build !linux

package acpterm_test

import (
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

func TestBubblewrapIsForLinux(t *testing.T) {
	_, err := acpterm.NewBubblewrap(nil)
	require.ErrorIs(t, err, acpterm.ErrInternal)
}

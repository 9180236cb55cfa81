package acpterm_test

// What holds of PTYs on every system.

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWithoutAPTY(t *testing.T) {
	m := newManager(t, nil)
	term := createReady(t, m, childRequest("sleep"))
	require.False(t, term.HasPTY())
	_, err := term.Write([]byte("x"))
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorIs(t, term.Resize(80, 24), errors.ErrUnsupported)
	require.Nil(t, term.Info().Size)
}

package lawtest

// PTYs on every system.

import (
	"errors"
	"testing"

	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/stretchr/testify/require"
)

func TestWithoutAPTY(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	term := hosttest.CreateReady(t, m, hosttest.ChildRequest("sleep"))
	require.False(t, term.HasPTY())
	_, err := term.Write([]byte("x"))
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorIs(t, term.Resize(80, 24), errors.ErrUnsupported)
	require.Nil(t, term.Info().Size)
}

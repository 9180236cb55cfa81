package remote

import (
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// A command that does not provide a shell fails in time, and the error has its output.
func TestNoShell(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		says []string
	}{
		"says something": {[]string{"cmd", "/c", "echo hi&echo why>&2&exit 3"}, []string{"hi", "why", "exit code 3"}},
		"says nothing":   {[]string{"cmd", "/c", "echo why>&2&set /p x=&set /p y="}, []string{"ConnectTimeout", "why"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t, Options{Transport: Command{Args: c.args}, ConnectTimeout: 2 * time.Second})
			err := r.Connect(testContext(t))
			require.ErrorIs(t, err, acpterm.ErrConnectionLost)
			for _, text := range c.says {
				require.ErrorContains(t, err, text)
			}
		})
	}
}

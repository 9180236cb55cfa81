package display_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/display"
)

// Links lead to servers on this machine, each once. Those on another machine have none.
func TestLinks(t *testing.T) {
	var listening []netip.AddrPort
	for _, a := range []string{"0.0.0.0:80", "127.0.0.1:80", "192.0.2.1:81", "[::]:80", "[::1]:82", "[::ffff:127.0.0.1]:83", "[2001:db8::1]:84"} {
		listening = append(listening, netip.MustParseAddrPort(a))
	}
	require.Equal(t, []string{
		"http://localhost:80", "http://192.0.2.1:81", "http://localhost:82", "http://localhost:83", "http://[2001:db8::1]:84",
	}, display.Links(listening, false))
	require.Equal(t, []string{
		"0.0.0.0:80", "127.0.0.1:80", "192.0.2.1:81", "[::]:80", "[::1]:82", "[::ffff:127.0.0.1]:83", "[2001:db8::1]:84",
	}, display.Links(listening, true))
	require.Empty(t, display.Links(nil, false))
}
